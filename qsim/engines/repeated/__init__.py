"""Many runs: replications, common random numbers, sweeps over parameters."""
