"""Measuring a drive with fio: plan, run, store, read."""
