"""The command ``qsim``: one small module per command, everything heavy imported when a command runs."""
