"""Measuring memory with Intel's Memory Latency Checker: plan, run, keep, read."""
