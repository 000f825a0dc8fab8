"""Many people: read from files piece by piece, solved by any number of workers, written exactly once."""

from leastways.batch.reading import read_plans
from leastways.batch.run import BatchResult, Progress, recommend_files

__all__ = ["BatchResult", "Progress", "read_plans", "recommend_files"]
