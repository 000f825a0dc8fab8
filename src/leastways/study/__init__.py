"""The human study as a kit: blind forms that need no server, checked answers, and their analysis.

`create_study` makes the forms, `collect_answers` reads what comes back, `analyse_study` takes majority votes and tests.
"""

from leastways.study.analyse import Difference, Share, StudyResult, analyse_study
from leastways.study.collect import Collected, collect_answers
from leastways.study.create import create_study
from leastways.study.folder import Study
from leastways.study.people import Profiles, comparable_people
from leastways.study.show import (
    MAX_PROBLEMS,
    draw_result,
    problems_table,
    remarks,
    result_tables,
    save_plot,
    to_markdown,
    verdict,
)

__all__ = [
    "MAX_PROBLEMS",
    "Collected",
    "Difference",
    "Profiles",
    "Share",
    "Study",
    "StudyResult",
    "analyse_study",
    "collect_answers",
    "comparable_people",
    "create_study",
    "draw_result",
    "problems_table",
    "remarks",
    "result_tables",
    "save_plot",
    "to_markdown",
    "verdict",
]
