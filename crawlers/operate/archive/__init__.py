"""What people do with archives: count, take out, verify, prune and pack the files in them."""
