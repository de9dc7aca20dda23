"""What keeps the pages true: blocks are run, their outputs compared or rewritten, references generated."""
