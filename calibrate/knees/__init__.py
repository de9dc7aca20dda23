"""Where the knee is."""
