"""Commands of the theory: queues by formula and by simulation."""
