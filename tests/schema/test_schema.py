"""A schema as HTML."""

from __future__ import annotations

import pandas as pd

from leastways.schema import AtMost, Schema
from tests.support.html_page import Page


def test_html_shows_every_feature_and_rule_as_escaped_text() -> None:
    frame = pd.DataFrame({"age": [20, 24], "<b>job</b>": ["a & b", "<i>c</i>"], "approved": [0, 1]})
    schema = Schema.infer(frame, target="approved").update(age={"direction": "up"}, rules=[AtMost(1)])
    page = Page(schema._repr_html_())
    assert not {"b", "i"} & {tag for tag, _ in page.tags}
    for words in (
        "2 features, target 'approved'",
        "only up",
        "<b>job</b>",
        "either way",
        "'<i>c</i>'",
        "at most 1 feature may change",
    ):
        assert words in page.words
    assert "Rules" not in Page(Schema.infer(frame)._repr_html_()).words
