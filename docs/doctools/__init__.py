"""What keeps the pages true: blocks are run, their outputs compared or written anew, references generated."""
