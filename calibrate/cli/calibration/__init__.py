"""Commands that calibrate, predict and compare."""
