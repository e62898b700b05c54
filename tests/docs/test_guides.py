"""The guides lead to their results: what they say to save is saved, what they say to type is run, in order.

Of a page are read: a listing after "Save this as `NAME`:", `sh` listings, and the `text` listing that may follow one.
A command ends well, or with the code of a comment `# exit N`. Each line of the output that is shown stands in what the
commands print, in this order; `...` is what was left out. What follows `<!-- slow -->` runs in `make slow`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDES = [DOCS / "guides" / f"{name}.md" for name in ("sre", "migrating", "client-author", "test-author", "teacher")]
OTHERS = [DOCS / f"{name}.md" for name in ("editors", "how-a-rebalance-works", "index")]
LISTING = re.compile(
    r"(?P<before>[^\n]*)\n*(?P<slow><!-- slow -->\n)?^```(?P<kind>sh|text|yaml|python|json)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SAVED = re.compile(r"ave this as `([\w./-]+)`:$")
EXIT = re.compile(r"\s+# exit (\d)$")
TIMED = 300


def play(page: Path, folder: Path, *, slow: bool) -> int:
    """Do what the page says, in a folder; returns how many commands were run."""
    count, output = 0, ""
    for found in LISTING.finditer(page.read_text(encoding="utf-8")):
        named = SAVED.search(found["before"])
        skipped = bool(found["slow"]) and not slow
        if found["kind"] == "sh":
            output = ""
            for line in found["body"].splitlines():
                if not skipped and not line.startswith("pip install"):
                    output += typed(line, folder)
                    count += 1
        elif named:
            (folder / named[1]).write_text(found["body"], encoding="utf-8")
        elif found["kind"] == "text" and output:
            shown_in_order(found["body"].splitlines(), output)
    return count


def typed(line: str, folder: Path) -> str:
    """The output of a command, which ends with the code that its comment names, or 0."""
    wanted = EXIT.search(line)
    done = subprocess.run(
        ["bash", "-c", EXIT.sub("", line)],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:xdist",
        },
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIMED,
        check=False,
    )
    assert done.returncode == int(wanted[1] if wanted else 0), f"{line}\n{done.stdout}"
    return done.stdout


def shown_in_order(lines: list[str], output: str) -> None:
    """Each line is in the output, after the one before it."""
    at = 0
    for line in (line.strip() for line in lines):
        if line != "...":
            found = output.find(line, at)
            assert found >= 0, f"not in the output: {line}\n{output}"
            at = found + len(line)


@pytest.mark.parametrize("page", GUIDES, ids=lambda path: path.stem)
def test_a_guide_leads_to_its_result(page: Path, tmp_path: Path) -> None:
    """What the page says to save and to type works, but for what takes long."""
    assert play(page, tmp_path, slow=False) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("page", [*GUIDES, *OTHERS], ids=lambda path: path.stem)
def test_a_page_leads_to_its_result_in_full(page: Path, tmp_path: Path) -> None:
    """So does what takes long, such as a sweep and its page; and what other pages say to type."""
    assert play(page, tmp_path, slow=True) >= 2


def test_every_page_with_something_to_type_is_run() -> None:
    """A page with commands that begins to look like a guide is one of those that are run."""
    found = {page for page in DOCS.rglob("*.md") if "```sh\ngroupsim" in page.read_text(encoding="utf-8")}
    assert sorted(found - {*GUIDES, *OTHERS}) == []


def test_a_listing_that_is_wrong_fails(tmp_path: Path) -> None:
    """A command with another exit code, or output that is not there, fails the page."""
    page = tmp_path / "page.md"
    page.write_text("Save this as `a.txt`:\n\n```yaml\na: 1\n```\n\n```sh\ncat a.txt\n```\n\n```text\na: 2\n```\n")
    with pytest.raises(AssertionError, match="not in the output: a: 2"):
        play(page, tmp_path, slow=False)
    page.write_text("```sh\ntrue   # exit 1\n```\n")
    with pytest.raises(AssertionError, match="true"):
        play(page, tmp_path, slow=False)
