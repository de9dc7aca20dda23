"""Where the knee is, by every definition."""
