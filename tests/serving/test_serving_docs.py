"""docs/serving.md: what it shows is true, and what it says to type works."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from groupsim.control import Served
from groupsim.protocol.wire.apis import markdown

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text("utf-8")


def test_the_table_of_versions_is_the_one_that_is_told() -> None:
    """To renew it: python -m groupsim.protocol.wire, between the two comments."""
    kept = re.search(r"<!-- versions: .*? -->\n(.*?)\n<!-- end -->", PAGE, re.DOTALL)
    assert kept is not None
    assert kept[1] == markdown()


def commands() -> list[list[str]]:
    """The page's curl commands, in order."""
    block = re.search(r"```sh\n(curl .*?)```", PAGE, re.DOTALL)
    assert block is not None
    return [shlex.split(line) for line in block[1].splitlines()]


def test_every_curl_command_is_accepted() -> None:
    """In the order of the page, on a fresh cluster: none is refused."""
    try:
        subprocess.run(["curl", "--version"], check=True, capture_output=True)
    except OSError:
        pytest.skip("curl is not installed")
    with Served() as served:
        for command in commands():
            words = [word.replace("$CONTROL", served.control.url) for word in command]
            words = _plain(words)
            done = subprocess.run(
                [*words, "--silent", "--show-error", "--fail-with-body"], capture_output=True, text=True
            )
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def _plain(words: list[str]) -> list[str]:
    """`--json` as older curls want it said."""
    if "--json" not in words:
        return words
    at = words.index("--json")
    return [*words[:at], "-H", "Content-Type: application/json", "--data", words[at + 1], *words[at + 2 :]]
