"""Features, directions, rules, grids; the one codec between raw frames and integer codes; YAML in and out."""

from leastways.schema.encoding import Encoded
from leastways.schema.feature import Feature
from leastways.schema.rules import AtMost, Forbidden, IfThen, Linked
from leastways.schema.schema import Schema
from leastways.schema.validation import read_people, read_training

__all__ = ["AtMost", "Encoded", "Feature", "Forbidden", "IfThen", "Linked", "Schema", "read_people", "read_training"]
