"""Queues that customers leave unserved, servers that rest: one family a file."""
