"""What all listings share, whatever the kind of catalogue."""
