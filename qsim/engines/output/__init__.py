"""From a run to numbers with intervals."""
