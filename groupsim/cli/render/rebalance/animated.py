"""One rebalance as an animated SVG: lifelines, messages in order, and a dot that moves along each of them.

The animation is CSS. The whole sequence is drawn without it; a reader who prefers reduced motion, and a viewer that
does not animate, see all of it. Time runs downwards and is not to scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import field

from groupsim.cli.render.rebalance.drawing import GAP_US, NOTICES, heading, with_reason
from groupsim.cli.render.rebalance.folded import Fold, folded
from groupsim.cli.render.rebalance.lines import Course, Line, What
from groupsim.protocol.values import define
from groupsim.scenarios.pictures.svg import BOLD, SIZE, Picture, cut
from groupsim.scenarios.pictures.svg import folded as in_lines
from groupsim.scenarios.story.words import clock, span

WIDTH, MARGIN = 640, 16
COORDINATOR_X, FIRST_X, LAST_X = 122, 250, 600
LINE, ARROW = 21, 16
MANY = 60  # lines drawn at most
LANES = 8  # members with a lifeline of their own
SLOT_MS, REST_MS = 1200, 2500  # of the animation: each step, and the pause before it begins again
AT_ONCE_US = 1_000  # messages of one kind within so much move together
MESSAGES = (What.REQUEST, What.ANSWER, What.LOST)


@define
class _Row:
    """A line of the picture: what it shows, where, and in which step of the animation it moves."""

    fold: Fold
    words: list[str]
    y: float
    gap: str
    step: int
    shown: str  # the time at the left, when it is another than that of the line above

    @property
    def arrow_y(self) -> float:
        """Where its arrow or its mark is."""
        return self.y + LINE * len(self.words) + 6

    @property
    def end(self) -> float:
        """Where the next line begins."""
        return self.arrow_y + ARROW - 4


@define
class _Sequence:
    """The picture while it is drawn. `at` is where the lifeline of each process is; "" is that of the others."""

    course: Course
    folds: Sequence[Fold]
    picture: Picture
    at: dict[str, float] = field(factory=dict)
    rows: list[_Row] = field(factory=list)


def rebalance_picture(course: Course) -> str:
    """The picture of a rebalance as the text of an SVG file; the same course gives the same bytes."""
    name, cause, facts = heading(course)
    folds = folded(course, every=False)
    picture = Picture(WIDTH, 0, f"{name}{cause}", facts)
    drawn = _Sequence(course, folds[:MANY], picture)
    y = _head(picture, name + cause, facts)
    y = _lifelines(drawn, y)
    _place(drawn, y + 8)
    end = drawn.rows[-1].end + 6 if drawn.rows else y
    picture.set_style(_style(drawn.rows[-1].step + 1 if drawn.rows else 1))
    for row in drawn.rows:
        _highlight(drawn, row)
    for x in (COORDINATOR_X, *drawn.at.values()):
        picture.line(x, y, x, end, "line")
    _parked(drawn, end)
    for row in drawn.rows:
        _draw(drawn, row)
    y = end
    left_out = [line for fold in folds[MANY:] for line in fold.lines]
    notes = [f"{len(left_out)} more lines, not drawn; without --svg all are printed"] if left_out else []
    notes += [f"a parked {api} waits until {reason}" for api, reason in _reasons(course.lines).items()]
    for note in notes:
        for line in in_lines(note, WIDTH - 2 * MARGIN):
            y += LINE
            picture.text(MARGIN, y, line, "quiet")
    picture.height = round(y + 16)
    return str(picture)


def _head(picture: Picture, title: str, facts: str) -> float:
    y = 28.0
    for line in in_lines(title, WIDTH - 2 * MARGIN, 18 * BOLD):
        picture.text(MARGIN, y, line, size=18, bold=True)
        y += 23
    for line in in_lines(facts, WIDTH - 2 * MARGIN):
        picture.text(MARGIN, y, line, "quiet")
        y += LINE
    return y + 4


def _lifelines(drawn: _Sequence, y: float) -> float:
    """Names above the lifelines; returns where these begin."""
    hosts = [host for host in drawn.course.hosts if any(fold.who == host for fold in drawn.folds)][:LANES]
    names = [*hosts, *([""] if len(hosts) < len(drawn.course.hosts) else [])]
    apart = (LAST_X - FIRST_X) / max(len(names) - 1, 1)
    two_rows = apart < 90
    leader = drawn.course.generation.leader
    drawn.picture.text(COORDINATOR_X, y + 14, "coordinator", anchor="middle", bold=True)
    for number, name in enumerate(names):
        x = drawn.at[name] = FIRST_X + apart * number if len(names) > 1 else (FIRST_X + LAST_X) / 2
        words = name or f"{len(drawn.course.hosts) - len(hosts)} more"
        words = f"{words} (leads)" if leader is not None and leader.host == name else words
        low = two_rows and number % 2
        room = min(apart * (2 if two_rows else 1), 2 * (WIDTH - x) - 8) - 6
        drawn.picture.text(x, y + (34 if low else 14), cut(words, max(room, 40)), anchor="middle", bold=True)
        if two_rows and not low:
            drawn.picture.line(x, y + 20, x, y + 40, "line")
    return y + (40 if two_rows else 20)


def _place(drawn: _Sequence, y: float) -> None:
    """Where each line stands, and in which step of the animation."""
    before: Line | None = None
    step = -1
    for fold in drawn.folds:
        line = fold.first
        gap = ""
        if before is not None and line.at_us - before.at_us > GAP_US:
            gap, y = f"⋮ {span(line.at_us - before.at_us)}", y + LINE
        together = before is not None and line.what in MESSAGES and line.what is before.what
        if not (together and before is not None and line.at_us - before.at_us <= AT_ONCE_US):
            step += 1
        shown = "" if before is not None and clock(before.at_us) == clock(line.at_us) else clock(line.at_us)
        size = SIZE * BOLD if line.what is What.STATE else SIZE
        words = in_lines(with_reason(fold.text, line), WIDTH - COORDINATOR_X - 10 - MARGIN, size)
        drawn.rows.append(_Row(fold, words, y, gap, step, shown))
        y = drawn.rows[-1].end
        before = line


def _highlight(drawn: _Sequence, row: _Row) -> None:
    """What lies behind a line while its step lasts."""
    drawn.picture.begin("now", animation_delay=f"{row.step * SLOT_MS}ms")
    drawn.picture.rect(4, row.y, WIDTH - 8, row.end - row.y, "raised")
    drawn.picture.end()


def _parked(drawn: _Sequence, end: float) -> None:
    """The time in which a member's request has no answer, along its lifeline."""
    over = {
        row.fold.first.number: row.arrow_y
        for row in drawn.rows
        if row.fold.first.what in (What.ANSWER, What.LOCAL) and row.fold.first.number is not None
    }
    for row in drawn.rows:
        line = row.fold.first
        if line.parked_us is not None and row.fold.members == 1 and line.host in drawn.at:
            until = end if line.number is None else over.get(line.number, end)
            drawn.picture.rect(drawn.at[line.host] - 5, row.arrow_y, 10, until - row.arrow_y, "joining", radius=5)


def _draw(drawn: _Sequence, row: _Row) -> None:
    """The words of a line, its arrow or mark, and the dot that moves."""
    picture, line = drawn.picture, row.fold.first
    if row.gap:
        picture.text(COORDINATOR_X - 14, row.y - 5, row.gap, "quiet", anchor="end", halo=True)
    if row.shown:
        picture.text(COORDINATOR_X - 14, row.y + SIZE, row.shown, "quiet", anchor="end")
    for number, words in enumerate(row.words):
        y = row.y + SIZE + LINE * number
        picture.text(COORDINATOR_X + 10, y, words, _colour(line), bold=line.what is What.STATE, halo=True)
    others = drawn.at.get("", COORDINATOR_X)
    x = COORDINATOR_X if line.host is None else others
    if line.host is not None and row.fold.members == 1:
        x = drawn.at.get(line.host, others)
    y = row.arrow_y
    if line.what not in MESSAGES or line.host is None:
        picture.dot(x, y, 5, _colour(line) if line.what is not What.STATE else "accent")
        return
    begin, end = (COORDINATOR_X, x) if line.what is What.ANSWER else (x, COORDINATOR_X)
    if line.what is What.LOST:
        end = (begin + end) / 2
        picture.text(end, y + 6, "✗", "bad", anchor="middle", halo=True)
    picture.arrow(f"M{begin:.1f} {y:.1f}L{end:.1f} {y:.1f}")
    picture.begin("moves", __to=f"{end - begin:.1f}px", animation_delay=f"{row.step * SLOT_MS}ms")
    picture.dot(begin, y, 7, _colour(line) if _colour(line) == "bad" else "accent")
    picture.end()


def _colour(line: Line) -> str:
    failed = line.what is What.LOST or (line.error and line.error not in NOTICES)
    return "bad" if failed else "text" if line.what in MESSAGES or line.what is What.STATE else "quiet"


def _reasons(lines: Sequence[Line]) -> dict[str | None, str]:
    return {line.api: line.reason for line in lines if line.parked_us is not None and line.reason}


def _style(steps: int) -> str:
    """CSS: each dot moves in its step and is hidden in the others; then all begins again."""
    whole = steps * SLOT_MS + REST_MS
    share = 100 * SLOT_MS / whole
    return "".join(_rules(whole, f"{share:.3f}%", f"{share + 0.01:.3f}%", f"{share * 0.8:.3f}%"))


def _rules(whole_ms: int, end: str, after: str, arrived: str) -> Iterator[str]:
    yield f".moves,.now{{opacity:0;animation:{whole_ms}ms linear infinite}}"
    yield ".moves{animation-name:moves}.now{animation-name:now}"
    yield "@keyframes moves{0%{opacity:1;transform:none}"
    yield f"{arrived},{end}{{opacity:1;transform:translateX(var(--to))}}{after},100%{{opacity:0;transform:none}}}}"
    yield f"@keyframes now{{0%,{end}{{opacity:1}}{after},100%{{opacity:0}}}}"
    yield "@media (prefers-reduced-motion:reduce){.moves,.now{animation:none}}"
