"""`python -m leastways.cli`: the same as `python -m leastways`."""

from leastways.cli import main

if __name__ == "__main__":
    main()
