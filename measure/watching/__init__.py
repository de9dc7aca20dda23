"""Watching devices at work: the kernel's counters every second, without touching the device."""
