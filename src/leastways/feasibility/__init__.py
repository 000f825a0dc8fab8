"""Which states a person may be offered: directions, ranges and rules, compiled once for a chunk of people."""
