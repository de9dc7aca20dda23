"""Measuring a drive with fio, on this machine or on many: plan, run, keep, read."""
