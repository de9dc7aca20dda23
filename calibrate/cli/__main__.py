"""Run the command line with ``python -m calibrate.cli``."""

from calibrate.cli.entry import main

if __name__ == "__main__":
    main()
