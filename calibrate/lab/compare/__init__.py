"""Compare: published datasets and the lab's own sweeps side by side, and what if a device were another one."""
