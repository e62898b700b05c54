"""The page as one file: template, style, scripts, a library for plots and data, written completely or not at all.

The page of one run draws its plots itself (`small_plots.js`), so that it is small and needs nothing installed; the page
of a sweep has plotly.

Nothing on the page is fetched from anywhere: everything is inside, and its content security policy forbids the rest.
"""

from __future__ import annotations

import html
import re
from importlib import metadata, resources
from typing import Any

from groupsim.pipeline.page.compact import as_json
from groupsim.protocol.values import frozen

COMMON = ("base.js", "plots.js", "lanes.js", "lag.js", "sequence.js", "fleets.js", "run.js")
SWEEP = ("grid.js", "spread.js", "front.js", "sweep.js")
START = ("start.js",)
_SLOT = re.compile("@@([A-Z]+)@@")


class PageError(Exception):
    """A page that cannot be made: why, and the remedy."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message}: {remedy}")
        self.message = message
        self.remedy = remedy


@frozen
class Head:
    """The head of a page: its kind, the sentence, and a line of facts below it."""

    kind: str
    headline: str
    subtitle: str
    title: str


def assemble(head: Head, data: dict[str, Any], scripts: tuple[str, ...] = (), *, library: str | None = None) -> str:
    """Return the page. `data` is the input of the scripts, plain JSON data; `library` draws the plots, plotly without
    one. Raises PageError where plotly is missing and needed.
    """
    slots = {
        "TITLE": html.escape(head.title),
        "KIND": html.escape(head.kind),
        "HEADLINE": html.escape(head.headline),
        "SUBTITLE": html.escape(head.subtitle),
        "FOOTER": html.escape(f"Made by groupsim {_version()} from simulated runs. Times are virtual."),
        "STYLE": _file("style.css"),
        "PLOTLY": plotly() if library is None else library,
        "DATA": as_json(data),
        "SCRIPT": "\n".join(_file(name) for name in (*COMMON, *scripts, *START)),
    }
    # One pass: inserted text is not searched again.
    return _SLOT.sub(lambda match: slots[match[1]], _file("page.html"))


def plotly() -> str:
    """The library that draws, as plotly's package brings it. Raises PageError when the package is missing."""
    try:
        return (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    except (ImportError, OSError):
        raise PageError("a page needs plotly, which is not installed", "pip install 'groupsim[report]'") from None


def small_plots() -> str:
    """The plots of one run without plotly."""
    return _file("small_plots.js")


def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _version() -> str:
    try:
        return metadata.version("groupsim")
    except metadata.PackageNotFoundError:
        return "(not installed)"
