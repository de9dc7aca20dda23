"""Commands that measure, and that show what was measured."""
