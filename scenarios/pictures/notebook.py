"""A run as HTML for a notebook: its headline, its picture, and what the scenario expects of it.

The picture is an image within the HTML, so that its style and its ids touch nothing else in the notebook.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from groupsim.protocol.html_table import html_table, paragraph
from groupsim.scenarios.pictures.run_picture import run_picture
from groupsim.scenarios.story import Story


def story_html(story: Story, checks: Sequence[tuple[bool, str, str]] = ()) -> str:
    """The HTML. `checks` are expectations: whether each holds, what is expected, what was found."""
    drawn = b64encode(run_picture(story, headline=False).encode()).decode("ascii")
    image = f'<img alt="{escape(story.headline)}" style="max-width:100%" src="data:image/svg+xml;base64,{drawn}">'
    failed = [(f"failed: {expected}", found) for holds, expected, found in checks if not holds]
    verdict = "" if not checks else paragraph(f"{len(checks) - len(failed)} of {len(checks)} expectations hold")
    table = html_table(("expectation", "found"), failed, len(failed), "failed expectations") if failed else ""
    return paragraph(story.headline, bold=True) + image + verdict + table
