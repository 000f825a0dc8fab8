"""Many people: read from files in parts, solved by any number of workers, and each written exactly once."""

from leastways._progress import Progress
from leastways.batch.manifest import groups_done, people_done, read_manifest
from leastways.batch.reading import read_plans
from leastways.batch.run import BatchResult, recommend_files

__all__ = [
    "BatchResult",
    "Progress",
    "groups_done",
    "people_done",
    "read_manifest",
    "read_plans",
    "recommend_files",
]
