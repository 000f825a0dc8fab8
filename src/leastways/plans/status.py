"""What may come of a person's search, each with its meaning in words."""

from __future__ import annotations

from typing import Literal

Status = Literal["found", "partial", "none_exists", "none_found", "already_positive", "invalid_input"]
STATUSES: dict[str, str] = {
    "found": "at least one option was found",
    "partial": "options were found, but the search was cut short; the reason says why",
    "none_exists": "no option exists within what this person may change",
    "none_found": "no option was found",
    "already_positive": "the model accepts this person as they are",
    "invalid_input": "this row cannot be used; the reason says why",
}
OUT_OF_TIME = "the time limit ended the search early"
MODEL_FAILED = "the search stopped early because the model failed"
CUT_SHORT = (OUT_OF_TIME, MODEL_FAILED)  # how the reason of somebody begins whose search did not come to its end
NOT_SEARCHED = ("already_positive", "invalid_input")  # nobody looked for options for these people
