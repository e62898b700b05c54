"""docs/serving.md: what it shows is true, and what it says to type works."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from versions_table import rewritten

from groupsim.control import Control, Served
from groupsim.scenarios.language.keys import fields_of
from groupsim.scenarios.loading import converters  # noqa: F401  (fills the registries)
from groupsim.serving.live_actions import live_actions, live_faults

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "serving.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")

pytest_plugins = ["pytester"]


def test_the_table_of_versions_is_the_one_that_is_told() -> None:
    """The page is current; `python tools/versions_table.py` makes it so."""
    assert rewritten(PAGE) == PAGE


def commands() -> list[list[str]]:
    """The curl commands of the README, in order, then those of the page."""
    block = re.search(r"```sh\n(curl .*?)```", PAGE, re.DOTALL)
    assert block is not None
    short = re.findall(r"^    (curl .*?)(?:  .*)?$", README, re.MULTILINE)
    assert len(short) == 3
    return [shlex.split(line.replace("127.0.0.1:9080", "$CONTROL")) for line in [*short, *block[1].splitlines()]]


def test_every_curl_command_is_accepted() -> None:
    """In the order of the page, on a fresh cluster: none is refused."""
    try:
        subprocess.run(["curl", "--version"], check=True, capture_output=True)
    except OSError:
        pytest.skip("curl is not installed")
    with Served("demo") as served:  # whose group is g1, too
        served.control.await_group("g1", members=1)
        for command in commands():
            words = [word.replace("$CONTROL", served.control.url) for word in command]
            words = _plain(words)
            done = subprocess.run(
                [*words, "--silent", "--show-error", "--fail-with-body"], capture_output=True, text=True
            )
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def test_the_tests_that_are_shown_pass(pytester: pytest.Pytester) -> None:
    """The README's with its imports, the page's with those of the README."""
    shown = [re.search(r"```python\n((?:(?!```).)*kafka_lab.*?)```", text, re.DOTALL) for text in (README, PAGE)]
    first, second = [found[1] for found in shown if found is not None]
    imports = "".join(line + "\n" for line in first.splitlines() if re.match(r"import|from", line))
    pytester.makepyfile(test_readme=first, test_page=imports + second)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(passed=2)


def test_the_calls_that_are_shown_exist() -> None:
    """Each call of the table of `kafka_lab.control` has a method that takes its arguments, and a step with its keys."""
    rows = re.findall(r"^\| (`\w+\(.*?) \|", PAGE, re.MULTILINE)
    calls = [ast.parse(call, mode="eval").body for row in rows for call in re.findall(r"`(.+?)`", row)]
    assert len(calls) > 12
    for call in calls:
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        said = [ast.literal_eval(one) for one in call.args]
        named = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg is not None}
        inspect.signature(getattr(Control, call.func.id)).bind(None, *said, **named)
        if call.func.id in ("do", "fault"):
            step = (live_actions() if call.func.id == "do" else live_faults())[said[0]]
            assert {name.rstrip("_") for name in named} <= set(fields_of(step))


def _plain(words: list[str]) -> list[str]:
    """`--json` as older curls want it said."""
    if "--json" not in words:
        return words
    at = words.index("--json")
    return [*words[:at], "-H", "Content-Type: application/json", "--data", words[at + 1], *words[at + 2 :]]
