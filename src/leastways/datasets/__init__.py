"""The built-in data set, and loaders of public ones, from a folder of the user's or by download."""

from leastways.datasets.adult import load_adult
from leastways.datasets.base import Dataset
from leastways.datasets.credit import load_credit
from leastways.datasets.german import load_german
from leastways.datasets.paper import load_adult_binary, load_compas_binary
from leastways.datasets.recidivism import load_recidivism

__all__ = [
    "Dataset",
    "load_adult",
    "load_adult_binary",
    "load_compas_binary",
    "load_credit",
    "load_german",
    "load_recidivism",
]
