"""Pages as text: what is in them, what must never be, and how they are written."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from groupsim.cli.streams import write_whole
from groupsim.pipeline.experiment.load import experiment_of
from groupsim.pipeline.page import PageError, assembly, lag_lines, run_page, sweep_page
from groupsim.pipeline.page.assumed import assumed
from groupsim.pipeline.page.budget import within
from groupsim.pipeline.page.compact import as_json, pack
from groupsim.pipeline.page.sweep_runs import Reader, Standing, standing
from groupsim.pipeline.page.verdict import verdict
from groupsim.pipeline.tables.schemas import TABLES
from groupsim.scenarios.language.document import parse_document, read_document
from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.loading.changes import changed, read_change
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.story import tell
from tests.helpers import needs, page_samples, small_sweep


def data_of(page: str) -> Any:
    """The data that a page carries."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def unpacked(packed: dict[str, Any], name: str) -> list[tuple[Any, ...]]:
    """One table of a page as rows without their key."""
    table, strings = packed["tables"][name], packed["strings"]
    columns = [
        [None if cell is None else strings[cell] for cell in cells] if column in table["texts"] else cells
        for column, cells in table["columns"].items()
    ]
    return list(zip(*columns, strict=True))


def test_rows_survive_packing() -> None:
    """What a page carries are the rows of every table, unchanged, each text once."""
    rows = page_samples.rows(page_samples.ran())
    packed = json.loads(as_json(pack(rows)))
    for name in TABLES:
        if name != "traces":
            assert unpacked(packed, name) == [row[2:] for row in rows[name]], name
    assert len(packed["strings"]) == len(set(packed["strings"]))


def test_data_cannot_end_its_element() -> None:
    """A name with markup stays inside the data and is escaped in the text around it."""
    evil = 'A </script><img src=x onerror="alert(1)"> @@SCRIPT@@'
    run = page_samples.ran()
    page = run_page(page_samples.rows(run), evil)
    assert page.count("<img") == 0
    assert page.count("</script>") == 3
    assert "@@SCRIPT@@" in page  # what is put in is not a place for more
    text = as_json({"name": evil})
    assert "<" not in text
    assert json.loads(text) == {"name": evil}


def test_the_page_allows_itself_no_network() -> None:
    """The content security policy forbids every fetch, and nothing of our own names an address."""
    page = page_samples.page()
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\"'\s)]+", page)) <= {"http://www.w3.org/2000/svg"}


MANY = """
    title: A hundred members
    run-for: 60s
    cluster: {logs: counted}
    topics: {orders: {partitions: 200, rate: 100/s}}
    groups: {g: {properties: {session.timeout.ms: 6000}, members: {pod: {count: 100, stagger: 50ms}}}}
    timeline:
      - {at: 20s, do: crash, member: pod-7}
      - {at: 40s, do: start, member: pod-7}
"""


@pytest.mark.parametrize("text", [page_samples.CRASH, MANY], ids=["three members", "a hundred"])
def test_the_page_of_one_run_is_small(text: str) -> None:
    """It takes less than 500 KB, of a hundred members and two hundred partitions too."""
    assert 50_000 < len(page_samples.page(text).encode()) < 500_000


def test_the_page_of_one_run_needs_no_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made where plotly is not installed."""
    monkeypatch.setitem(sys.modules, "plotly", None)
    assert "small: true" in page_samples.page()


def test_secrets_stay_out() -> None:
    """A secret among the properties of a scenario is nowhere in its page."""
    page = page_samples.page()
    assert "session.timeout.ms" in page
    assert "hunter2" not in page


def test_the_headline_stands_on_top() -> None:
    """The sentence people quote is the first heading; title, seed and command stand below it."""
    page = page_samples.page()
    heading = re.search(r"<h1>(.*?)</h1>", page)
    assert heading is not None
    assert heading[1].startswith("2 rebalances of orders-service")
    facts = "A crash · seed 0 · 40.0 s of virtual time · 3 member processes, 1 producer"
    assert f"{facts} · groupsim run sample --seed 0" in page


def test_a_page_carries_verdicts_and_assumptions() -> None:
    """Expectations come with what was found; settings and cost models are named, defaults as such."""
    data = data_of(page_samples.page())
    assert [(one["expected"], one["holds"]) for one in data["checks"]] == [
        ("rebalances: 2", True),
        ("records lost: 1", False),
    ]
    facts = {what: value for _, facts in data["assumed"] for what, value in facts}
    assert facts["session.timeout.ms"] == "6000"
    assert facts["onPartitionsRevoked"] == "120ms"
    assert facts["latency, one way"].endswith("(default)")


def test_a_page_carries_how_far_each_group_was_behind() -> None:
    """The line of a group has the largest lag of its tables in it, and its end: one page, one number."""
    run = page_samples.ran()
    story = tell(run.events)
    line = lag_lines(run.events, story)["orders-service"]
    lag = story.totals[0].lag
    assert lag is not None
    assert [t_us for t_us, _ in line] == sorted({t_us for t_us, _ in line})
    assert line[0][0] == 0
    assert line[-1] == (story.end_us, lag.end)
    assert max(behind for _, behind in line) == lag.most
    assert data_of(page_samples.page())["lag"] == {"orders-service": [list(point) for point in line]}


def test_a_page_names_what_holds_on_replicated_logs() -> None:
    """Placement, replicas, sessions and limits of brokers with logs; nothing of the light stand-in's figures."""
    demo = changed(read_document(find("demo")), [read_change("cluster.logs=counted")])
    counted = dict(dict(assumed(scenario_of(demo, "demo")))["Brokers and network"])
    assert "append to __consumer_offsets" in counted
    assert "min.insync.replicas" not in counted
    changes = [read_change(f"broker.{one}") for one in ("min.insync.replicas=2", "broker.session.timeout.ms=6000")]
    path = find("coordinator-crashes-stable")
    told = dict(assumed(scenario_of(changed(read_document(path), changes), path.stem)))
    brokers, topics = dict(told["Brokers and network"]), dict(told["Topics"])
    assert not {"append to __consumer_offsets", "election of a new coordinator"} & set(brokers)
    assert brokers["placement of replicas"] == "KRaft's stripes, from a drawn broker on (default)"
    assert brokers["__consumer_offsets"] == "50 partitions, 3 replicas"
    assert brokers["a silent broker is taken for dead after"] == "6.000 s"
    assert brokers["min.insync.replicas"] == "2"
    assert brokers["replica.lag.time.max.ms"] == "30000 (default)"
    assert topics["orders"].endswith("3 replicas")


def test_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that cannot be written leaves the one before it, and no half of its own."""
    path = tmp_path / "page.html"
    write_whole("before", path)

    def full(self: Path, *_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        write_whole("after", path)
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "before"


def test_without_plotly_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing plotly is told with the command that installs it."""

    def files(_: object) -> Path:
        raise ModuleNotFoundError("No module named 'plotly'")

    monkeypatch.setattr(assembly.resources, "files", files)
    with pytest.raises(PageError, match="pip install 'groupsim\\[report\\]'"):
        assembly.plotly()


# --- sweeps ---------------------------------------------------------------------------------------------------------


def test_what_fits_is_taken_in_order() -> None:
    """The first part in any case, then what there is room for; too many misses in a row end it."""
    parts = [("large", "x" * 50), ("small", "y" * 5), ("larger", "z" * 60), ("last", "w" * 5)]
    taken, size = within(70, parts)
    assert list(taken) == ["large", "small", "last"]
    assert size == 52 + 7 + 7
    assert list(within(1, parts)[0]) == ["large"]

    def endless() -> Any:
        yield "first", ""
        while True:
            yield "more", "x" * 100

    assert list(within(10, endless())[0]) == ["first"]


def test_runs_that_stand_for_their_cell() -> None:
    """The median of each cell first, named cells before others, then the worst, then the best; each run once."""
    values = {0: {1: 10, 2: 30, 3: 20}, 1: {7: 5}, 2: {}}
    assert standing(values, [1, 2], 1) == [
        Standing(1, 7, "median"),
        Standing(0, 3, "median"),
        Standing(0, 2, "worst"),
        Standing(0, 1, "best"),
    ]
    assert standing(values, [], -1)[2] == Standing(0, 1, "worst")


def test_the_rows_of_one_run_are_found(tmp_path: Path) -> None:
    """Of a whole sweep the reader gives exactly the rows that the run made."""
    directory, _ = page_samples.sweep(tmp_path, seeds=2)
    found = Reader(directory).rows(2, 1)
    for name, rows in found.items():
        table = directory.tables(name).to_pylist()
        assert rows == [tuple(row.values()) for row in table if (row["cell"], row["seed"]) == (2, 1)], name
    assert len(found["runs"]) == 1
    assert found["spans"]


def test_a_sweeps_page_holds_its_numbers(tmp_path: Path) -> None:
    """Every cell's mean, every seed's value and every comparison with the baseline are in the page as analysed."""
    directory, answer = page_samples.sweep(tmp_path)
    page = sweep_page(directory, answer)
    data = data_of(page)
    assert f"<h1>{verdict(answer)}</h1>" in page
    assert data["sentence"] == answer.sentence
    for index, cell in enumerate(answer.cells):
        statistic = cell.statistics["moved"]
        assert data["statistics"]["moved"][index][:3] == pytest.approx([statistic.value, statistic.low, statistic.high])
        seen = [one["moved"] for one in directory.tables("runs").to_pylist() if one["cell"] == cell.number]
        assert data["values"]["of"]["moved"][index] == seen
    one = answer.compared(1, "baseline", "moved")
    assert one is not None
    assert data["against_baseline"]["moved"]["1"][-1] == one.verdict
    assert {(one["cell"], one["why"]) for one in data["whole"][:3]} == {(cell, "median") for cell in (0, 1, 2)}
    assert f"{len(data['whole'])} of 18 runs are in this page whole" in data["room"]


def test_under_given_axes_each_cell_is_set_beside_its_own_baseline(tmp_path: Path) -> None:
    """An axis that is no choice has an answer for each value; the page marks all of them, and compares within."""
    text = dedent(small_sweep.TEXT.format(seeds=6, assignors="range, sticky", run_for="20s"))
    size = "size: {path: groups.g.members.c.count, values: [2, 3]}"
    text = text.replace("vary:\n", f"given: [size]\nvary:\n  {size}\n")
    directory, answer = page_samples.performed(experiment_of(parse_document(text), "given"), tmp_path / "out")
    told = data_of(sweep_page(directory, answer))
    assert [cell["baseline"] for cell in told["cells"]] == [0, 0, 2, 2]
    assert [one["baseline"] for one in told["circumstances"]] == [0, 2]
    assert set(told["all_recommended"]) == answer.all_recommended


def test_failed_runs_come_with_their_command(tmp_path: Path) -> None:
    """A run that failed is listed with its error; the command that repeats it lacks only the seed."""
    directory, answer = page_samples.sweep(tmp_path, failing=(1, 3))
    runs = data_of(sweep_page(directory, answer))["runs"]
    [(cell, seed, error, count)] = runs["failures"]
    assert (cell, seed, count) == (1, 3, 1)
    assert "no document" in error or "JSON" in error
    assert runs["commands"]["1"] == "groupsim run small --cell 1"


def test_what_must_run_does_not_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing browser skips a test, and fails it where the environment says that it must be there."""
    monkeypatch.setattr(needs.shutil, "which", lambda name: None)
    monkeypatch.delenv("GROUPSIM_MUST_RUN", raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        needs.chromium()
    monkeypatch.setenv("GROUPSIM_MUST_RUN", "java chromium")
    with pytest.raises(pytest.fail.Exception, match="GROUPSIM_MUST_RUN names chromium"):
        needs.chromium()
