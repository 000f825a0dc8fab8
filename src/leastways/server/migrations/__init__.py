"""Steps from one form of the database to the next; `leastways serve` takes them at its start."""
