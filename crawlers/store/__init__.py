"""What is on disk, and the index of it: for every command, without a network."""
