"""Watch: Little's law, second by second, on a device of this machine at work."""
