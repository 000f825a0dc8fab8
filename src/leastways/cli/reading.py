"""Tables from files, as every command reads them. The reading itself is in `datasets`: the server reads them too."""

from leastways.datasets.tables import read_people, read_table, read_training

__all__ = ["read_people", "read_table", "read_training"]
