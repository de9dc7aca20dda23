"""A sweep directory on disk: raw files untouched, a record for each."""
