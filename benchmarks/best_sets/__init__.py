"""The most that any N options can reach: every accepted state, and a proven bound for the best N of them."""
