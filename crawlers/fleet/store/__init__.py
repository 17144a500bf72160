"""Output that several machines share: a Delta table for each source, and mirrors of it, which are plain folders."""
