"""System: an application on a drive that was measured, with users, processors and reads to set."""
