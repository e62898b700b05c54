"""The fates of a group's records on a terminal: a sentence, and a table of unusual partitions.

Usual records are delivered once, waiting at the end, or older than the group's first position. A partition with other
records (delivered again, skipped, expired, truncated) has a row; the worst partitions come first, empty columns are
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from groupsim.cli.render.owners import ranges
from groupsim.cli.render.screen import EVERYTHING, Limits
from groupsim.cli.terminal import shortened
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story import Account, FailedProduce, GroupAccount, Records, Story, partition_set
from groupsim.scenarios.story.words import clock, span

NOTABLE_US = 1_000_000  # a normal change of owner takes less

COLUMNS: tuple[tuple[str, Callable[[Records], int]], ...] = (
    ("records", lambda found: found.written),
    ("again", lambda found: found.again),
    ("skipped", lambda found: found.skipped),
    ("expired", lambda found: found.expired),
    ("aborted", lambda found: found.aborted),
    ("cut off", lambda found: found.truncated),
    ("lost", lambda found: found.lost),
    ("waiting", lambda found: found.waiting),
)


def parts(group: str, story: Story) -> Iterator[Callable[[Console, Limits], None]]:
    """Yield the functions that print the fates of a group's records, and the records not produced to its topics.

    The first is absent if the logs have no records, or if the trace does not list them.
    """
    total = next((one for one in story.totals if one.group == group), None)
    if total is not None and total.records is not None and total.records.written:
        yield partial(_show_fates, group, total, story)
    theirs = {one.partition.topic for one in story.accounts if one.group == group}
    if found := [one for one in story.given_up if one.topic in theirs]:
        yield partial(show_given_up, found)


def show_given_up(found: Sequence[FailedProduce], console: Console, limits: Limits) -> None:
    """Print the records that producers failed to write, a line for each producer and error."""
    most = sorted(found, key=lambda one: -one.records)
    for one in most[: limits.producers]:
        _print_given_up(f"{one.producer} gave up {_given_up(one)}", console)
    if rest := most[len(most[: limits.producers]) :]:
        _print_given_up(f"… {len(rest)} more, {sum(one.records for one in rest):,} records", console)


def _print_given_up(words: str, console: Console) -> None:
    console.print(Padding(Text.assemble(("not produced: ", "dim"), words), (0, 0, 0, 2), expand=False))


def _given_up(one: FailedProduce) -> str:
    records = f"{one.records:,} record{'' if one.records == 1 else 's'}"
    why = f" ({one.reason})" if one.reason else ""
    return f"{records} for {one.topic}: {one.error}{why}, from {clock(one.first_us)} on"


def _show_fates(group: str, total: GroupAccount, story: Story, console: Console, limits: Limits) -> None:
    console.print(Padding(Text.assemble(("records: ", "dim"), sentence(total, story)), (0, 0, 0, 2), expand=False))
    odd = [one for one in story.accounts if one.group == group and one.records and trouble(one.records)]
    if odd and total.partitions > 1:
        for line in (*_table(odd, limits), *_others(total, odd)):
            console.print(Text(" " * 4 + line), soft_wrap=True)


def trouble(found: Records) -> int:
    """Count the unusual records."""
    return found.again + found.skipped + found.expired + found.truncated


def sentence(total: GroupAccount, story: Story) -> str:
    """Describe a group's records, its lag and its longest gap in one sentence."""
    assert total.records is not None
    return "; ".join([_fates(total.records), *_behind(total), *_unserved(total, story)])


def _fates(found: Records) -> str:
    if found.once == found.written and not found.truncated and not found.unprocessed:
        return f"all {found.written:,} delivered once"
    return f"of {found.written:,}: " + ", ".join(_parts(found))


def _parts(found: Records) -> Iterator[str]:
    yield f"{found.once:,} delivered once"
    if found.again:
        yield f"{found.again:,} more than once"
    if found.older:
        yield f"{found.older:,} older than the group"
    if found.skipped:
        yield f"{found.skipped:,} skipped"
    if found.expired:
        yield f"{found.expired:,} deleted before the group came to them"
    if found.aborted:
        yield f"{found.aborted:,} of aborted transactions"
    if found.truncated:
        yield f"{found.truncated:,} cut off with their leader ({_cut(found)})"
    if found.waiting:
        yield f"{found.waiting:,} waiting at the end"
    if found.unprocessed:
        yield f"{found.unprocessed:,} delivered but not finished"


def _cut(found: Records) -> str:
    lost = f"{found.lost:,} acknowledged: lost" if found.lost else "none acknowledged"
    return f"{lost}, {found.phantoms:,} delivered before" if found.phantoms else lost


def _behind(total: GroupAccount) -> Iterator[str]:
    if total.lag is not None and total.lag.most:
        end = f"{total.lag.end:,}" if total.lag.end else "none"
        yield f"lag up to {total.lag.most:,} ({clock(total.lag.most_us)}), {end} at the end"


def _unserved(total: GroupAccount, story: Story) -> Iterator[str]:
    for one in story.accounts:
        if one.group == total.group and one.partition == total.gap and one.gap and one.gap.length_us >= NOTABLE_US:
            until = "the end" if one.gap.open else clock(one.gap.ended_us)
            when = f"{clock(one.gap.began_us)} – {until}"
            yield f"longest without a consumer: {one.partition}, {span(one.gap.length_us)} ({when})"


def _table(odd: Sequence[Account], limits: Limits) -> Iterator[str]:
    """Yield the table, the worst partitions first; partitions with equal figures share a line."""
    worst = sorted(odd, key=lambda one: (-trouble(one.records or Records()), one.partition))
    columns = [(name, of) for name, of in COLUMNS if any(of(one.records or Records()) for one in odd)]
    alike: dict[tuple[str, ...], list[TopicPartition]] = {}
    for one in worst:
        alike.setdefault(tuple(_number(of(one.records or Records())) for _, of in columns), []).append(one.partition)
    shown = list(alike.items())[: limits.records]
    rows = [
        ("partition", tuple(name for name, _ in columns)),
        *((_named(ones, limits.longest), row) for row, ones in shown),
    ]
    names = max(len(name) for name, _ in rows)
    widths = [max(9, *(len(row[at]) + 2 for _, row in rows)) for at in range(len(columns))]
    for name, row in rows:
        yield f"{name:<{names}}" + "".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
    rest = len(worst) - sum(len(ones) for _, ones in shown)
    if rest:
        yield f"… {rest} more; {EVERYTHING} lists them"


def _named(partitions: Sequence[TopicPartition], longest: int | None) -> str:
    """Format one partition by its name, several as ranges with ", each"."""
    if len(partitions) == 1:
        return str(partitions[0])
    ranged = ranges(partition_set(partitions)).plain
    return shortened(ranged, longest) + ", each"


def _others(total: GroupAccount, odd: Sequence[Account]) -> Iterator[str]:
    """Yield a line on the partitions that are not in the table."""
    number = total.partitions - len(odd)
    waiting = (total.records or Records()).waiting - sum((one.records or Records()).waiting for one in odd)
    if number:
        waits = f"; {waiting:,} waiting" if waiting else ""
        yield f"the other {number:,}: none again, skipped or lost{waits}"


def _number(found: int) -> str:
    return f"{found:,}" if found else "–"
