"""The human study, as a kit: blind forms that need no server, answers that are checked, and what they say.

`create_study` makes the forms, `collect_answers` reads what comes back, `analyse_study` takes majority votes and tests.
"""

from leastways.study.analyse import Difference, Share, StudyResult, analyse_study
from leastways.study.collect import Collected, collect_answers
from leastways.study.create import create_study
from leastways.study.folder import Study
from leastways.study.show import draw_result, to_markdown

__all__ = [
    "Collected",
    "Difference",
    "Share",
    "Study",
    "StudyResult",
    "analyse_study",
    "collect_answers",
    "create_study",
    "draw_result",
    "to_markdown",
]
