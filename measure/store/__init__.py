"""A sweep directory on disk: raw files untouched, a record beside each."""
