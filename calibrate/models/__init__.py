"""Device models as curves: throughput and response time at a load."""
