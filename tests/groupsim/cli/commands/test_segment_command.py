"""`groupsim segment` and `groupsim coordinator`: what Kafka keeps, looked at without a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groupsim.cli.app import app
from groupsim.cluster.log.headers import find, headers, segment_for
from groupsim.protocol.batch.codec import read_batches
from tests.helpers.front_stage import call

KAFKAS = Path(__file__).parents[3] / "data" / "kafka-segment"
"""Written by Kafka's own log, with its indexes."""
LOG = KAFKAS / "00000000000000000000.log"


def test_headers_say_what_the_batches_are() -> None:
    """Each header of a segment of Kafka's has the place, offsets and producer that reading the whole batch has."""
    whole, at = read_batches(LOG.read_bytes()), 0
    found = list(headers(LOG))
    assert len(found) == len(whole)
    for header, batch in zip(found, whole, strict=True):
        assert (header.position, header.size) == (at, batch.size)
        assert (header.base_offset, header.last_offset) == (batch.base_offset, batch.last_offset)
        assert (header.producer_id, header.max_timestamp_ms) == (batch.producer_id, batch.max_timestamp_ms)
        at += batch.size


@pytest.mark.parametrize("offset", [0, 3, 28, 29, 30, 150, 282, 283])
def test_an_offset_is_found_by_the_last_entry_before_it_and_a_short_scan(offset: int) -> None:
    """The entry is the last one at or before the offset, the scan begins there, and its last batch holds the offset."""
    found = find(LOG, offset)
    entries = json.loads(call("segment", LOG, "--json").stdout)["segments"][0]["index"]
    before = [(entry["offset"], entry["position"]) for entry in entries if entry["offset"] <= offset]
    assert found.entry == (before[-1] if before else None)
    assert found.scanned[0].position == (found.entry[1] if found.entry else 0)
    assert found.found is not None
    assert found.found.base_offset <= offset <= found.found.last_offset
    assert len(found.scanned) < 12


def test_the_textbooks_two_steps_are_printed() -> None:
    """Step 1 names the index entry, step 2 the batch and the record in it."""
    lines_shown = " ".join(call("segment", KAFKAS, "--offset", 28).stdout.split())
    assert "step 1 bisection in 23 index entries: no entry at or before it" in lines_shown
    assert (
        "step 2 10 batches read from there: the one with offsets 25–29 at byte 1,114 holds it, its record 4"
        in lines_shown
    )
    assert "ends with offset 283" in call("segment", LOG, "--offset", 3000).stdout


def test_a_segment_is_listed_with_its_index_entries() -> None:
    """A row for each batch has its byte, its offsets and its index entry; the middle of many is left out."""
    lines_shown = call("segment", LOG).stdout
    assert "100 batches, 284 records, 29,430 bytes" in " ".join(lines_shown.split())
    assert any(line.split()[:2] == ["1,114", "25–29"] and "(29, 1,114)" in line for line in lines_shown.splitlines())
    assert "84 batches in between are left out" in lines_shown
    assert "left out" not in call("segment", LOG, "--all").stdout


def test_the_segment_of_an_offset_is_the_last_that_begins_at_or_before_it(tmp_path: Path) -> None:
    """Among several segments the base offsets decide; before the first there is none."""
    named = [tmp_path / f"{base:020d}.log" for base in (10, 200, 3000)]
    assert [segment_for(named, offset) for offset in (9, 10, 199, 200, 9999)] == [None, named[0], named[0], *named[1:]]


def test_a_torn_tail_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    """A segment that ends in the middle of a batch is listed up to there, with the byte; a missing index is named."""
    torn = tmp_path / LOG.name
    torn.write_bytes(LOG.read_bytes()[:1200])
    done = call("segment", torn)
    assert done.exit_code == 0
    assert "9 batches" in done.output
    assert "1114" in " ".join(done.output.split())
    assert ".index is missing" in done.output


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("notes.txt", b"x", "20 digits"),
        (LOG.name, b"no log at all" * 10, "name a segment of a log"),
        ("00000000000000000000.index", b"", "the log beside it is missing"),
    ],
)
def test_what_is_no_segment_is_refused_with_the_remedy(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    """Another file, bytes that are no batch, and an index alone end with 2 and what to name instead."""
    file = tmp_path / name
    file.write_bytes(content)
    done = call("segment", file)
    assert done.exit_code == 2
    assert words in done.output


def test_an_offset_before_the_log_begins_is_refused(tmp_path: Path) -> None:
    """Retention took it away: the first offset of the log is named."""
    shutil.copy(LOG, tmp_path / f"{500:020d}.log")
    done = call("segment", tmp_path, "--offset", 3)
    assert done.exit_code == 2
    assert "the log starts at offset 500" in done.output


def test_offsets_points_to_segment_for_a_topics_log(tmp_path: Path) -> None:
    """`groupsim offsets` on a log of records refuses it and names the command that lists it."""
    folder = tmp_path / "orders-0"
    folder.mkdir()
    shutil.copy(LOG, folder / LOG.name)
    done = call("offsets", folder)
    assert done.exit_code == 2
    assert "groupsim segment" in done.output


# The partitions that a real broker gives these groups (Utils.abs(hashCode) mod 50).
PLACES = {"g1": 42, "orders": 31, "billing": 9}


def test_the_partition_of_a_group_is_kafkas() -> None:
    """Each group has the partition of its hash, and the leader is the partition modulo the brokers."""
    document = json.loads(call("coordinator", *PLACES, "--brokers", 4, "--json").stdout)
    assert {one["group"]: one["partition"] for one in document["groups"]} == PLACES
    assert all(one["broker"] == one["partition"] % 4 for one in document["groups"])


def test_hundreds_of_groups_come_from_standard_input() -> None:
    """`-` reads one group a line; those that share a partition name each other, and brokers are counted."""
    names = "\n".join(f"group-{number}" for number in range(300))
    done = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["coordinator", "-", "--brokers", "5"], input=names)
    assert done.exit_code == 0
    assert "50 of 50 partitions used" in " ".join(done.stdout.split())
    row = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["group-7"])
    assert "group-" in row.split("broker")[1]


def test_no_group_is_an_error_with_the_remedy() -> None:
    """Without a name there is nothing to look up."""
    done = call("coordinator")
    assert done.exit_code == 2
    assert "GROUP…" in done.output
