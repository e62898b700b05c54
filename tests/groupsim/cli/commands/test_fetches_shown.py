"""`groupsim run --fetches`: a line for each member."""

from __future__ import annotations

import json

from tests.helpers.front_stage import call


def test_fetches_are_shown_when_asked_for_and_are_in_the_document() -> None:
    """The screen of a run stays as it is without the option; the JSON has them in any case."""
    plain, asked = call("run", "textbook-range"), call("run", "textbook-range", "--fetches")
    assert "fetches:" not in plain.stdout
    (lanes,) = [json.loads(call("run", "textbook-range", "--json").stdout)["lanes"]]
    found = {lane["host"]: lane["fetches"] for lane in lanes if lane["group"]}
    _, table = asked.stdout.split("fetches:")
    for host, fetches in found.items():
        (line,) = [line for line in table.splitlines() if line.split()[:1] == [host]]
        assert line.split()[1:3] == [f"{fetches['sent']:,}", f"{fetches['empty']:,}"]


def test_counted_logs_say_that_none_are_counted() -> None:
    """There is nothing to count, which is no nought."""
    shown = call("run", "textbook-range", "--set", "cluster.logs=counted", "--fetches").stdout
    assert "none are counted" in shown
