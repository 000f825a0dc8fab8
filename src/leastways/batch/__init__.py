"""Many people: read from files piece by piece, solved by any number of workers, written exactly once."""

from leastways.batch.log import Progress
from leastways.batch.reading import read_plans
from leastways.batch.run import PopulationResult, recommend_files

__all__ = ["PopulationResult", "Progress", "read_plans", "recommend_files"]
