"""A probe for drives where fio is not installed: a closed loop of direct requests, in place of fio's program."""
