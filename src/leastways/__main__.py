"""`python -m leastways`, for where the script is not on the path."""

from leastways.cli import main

if __name__ == "__main__":
    main()
