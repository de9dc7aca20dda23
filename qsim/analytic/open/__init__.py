"""Open queues by formula: one family a file."""
