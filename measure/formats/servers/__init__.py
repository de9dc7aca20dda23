"""What load generators of servers print: wrk, ab, hey, oha, k6, Locust, pgbench, sysbench, Redis's, vLLM's."""
