"""What a device did second by second, as counters tell it: our own record, and the logs of iostat."""
