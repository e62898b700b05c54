"""Prints a walk as a script in the framework's own form, with the errors that the real broker answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.actor import errors_in
from tests.conformance.walking import ON_A_PRODUCER, PACE_US, PARKING, Move, Walked

_PRODUCER = {"txn": "commit"}
_HEAD = """
@script(rows=[])
async def TO_BE_NAMED(s: Script) -> None:
    t, none = await s.topic(partitions=2), s.no_topic()"""
_OTHER = ['u = await s.topic(".u", partitions=3)']


def script_of(statics: Mapping[str, str], walked: Walked) -> str:
    """The text of the script."""
    used = dict.fromkeys(move.who for move in walked.moves if move.who)
    hung = {move.args["new"] for move in walked.moves if move.what == "hang_up"}
    consumer = _is_consumer(walked)
    lines = [
        *(_OTHER if consumer else []),
        *(_connect(name, statics, consumer=consumer) for name in used if name not in hung),
    ]
    if any(move.what in ON_A_PRODUCER for move in walked.moves):
        lines.append('producer = Producer(s, p, s.named(".x"))')
    at: dict[str, int] = {}
    waiting: dict[str, tuple[str, int]] = {}
    for number, move in enumerate(walked.moves):
        lines += _told(walked, waiting, walked.times[number][0])
        lines += _made(walked, move, at, waiting, walked.times[number][1], statics)
        if walked.times[number + 1][0] - walked.times[number][0] > 2 * PACE_US:
            lines.append(f"await s.sleep({(walked.times[number + 1][0] - walked.times[number][0]) // 1000})")
    lines += _told(walked, waiting, 10**12)
    lines.append(f'await s.until("{_last_state(walked)}")')
    return "\n".join([_HEAD, *(f"    {line}" for line in lines)])


def _is_consumer(walked: Walked) -> bool:
    """Whether a walk is one of the consumer protocol, by its first look."""
    return str(walked.transcript.lines["w"][0][0]).startswith("ConsumerGroupDescribe")


def _connect(name: str, statics: Mapping[str, str], *, consumer: bool = False) -> str:
    instance = f', instance="{statics[name[0]]}"' if name[0] in statics else ""
    return f'{name} = await s.{"member" if consumer else "actor"}("{name}"{instance})'


def _told(walked: Walked, waiting: dict[str, tuple[str, int]], before_us: int) -> list[str]:
    """The answers that came to what had parked."""
    lines = []
    for name, (error, arrived_us) in list(waiting.items()):
        if arrived_us < before_us:
            lines.append(f"await {name}.answer({_error(error)})")
            del waiting[name]
    return lines


def _made(
    walked: Walked,
    move: Move,
    at: dict[str, int],
    waiting: dict[str, tuple[str, int]],
    looked_us: int,
    statics: Mapping[str, str],
) -> list[str]:
    if move.what == "wait":
        return []
    if move.what == "hang_up":
        waiting.pop(move.who, None)
        return [f"await {move.who}.hang_up()", _connect(move.args["new"], statics, consumer=_is_consumer(walked))]
    number = at[move.who] = at.get(move.who, 0) + 1
    said = walked.transcript.lines[move.who][number - 1][1]
    arrived = walked.arrivals[walked.order.index((move.who, number))]
    error = " ".join(errors_in(said)) if isinstance(said, dict) else ""
    parked = arrived is None or arrived > looked_us
    if parked:
        waiting[move.who] = (error, 10**13 if arrived is None else arrived)
    if move.what == "raw":
        how = "post" if parked else "ask"
        more = "" if parked or not error else f", {_error(error)}"
        return [f'await {move.who}.{how}("{move.args["api"]}", {move.args["v"]}, {move.args["body"]!r}{more})']
    what = move.what if parked else move.what.removeprefix("park_")
    on = "producer" if move.what in ON_A_PRODUCER else move.who
    args = [f"{name}={_value(name, value)}" for name, value in move.args.items()]
    args += [] if parked else [_error(error)]
    line = f"await {on}.{_PRODUCER.get(what, what)}({', '.join(arg for arg in args if arg)})"
    return [line, "await s.settle()"] if parked and move.what in PARKING else [line]


def _error(error: str) -> str:
    return f'error="{error}"' if error else ""


def _value(name: str, value: Any) -> str:
    if name == "owned" and isinstance(value, str):
        return f"{value[1:]}.held"
    if name == "names" and value is not None:
        return f"[{', '.join(value)}]"
    if name in ("offsets", "topics", "owned") and value is not None:
        return "{" + ", ".join(f"{key}: {_of(of)}" for key, of in value.items()) + "}"
    if name == "give":
        return "{" + ", ".join(f"{key}: {text!r}" for key, text in value.items()) + "}"
    if name == "members":
        return "[" + ", ".join(f"({_value('member', who)}, {instance!r})" for who, instance in value) + "]"
    if name == "groups":
        return "[" + ", ".join(f"s.named({suffix!r})" for suffix in value) + "]"
    if name == "epoch" and isinstance(value, list):
        return f"{value[0][1:]}.epoch" + (f" + {value[1]}" if value[1] else "")
    if name == "generation" and isinstance(value, list):
        return f"{value[0][1:]}.generation" + (f" + {value[1]}" if value[1] else "")
    if name == "member" and isinstance(value, list):
        return f"({_value('member', value[0])}, {_value('epoch', value[1])})"
    if name in ("member", "protocol") and isinstance(value, str) and value.startswith("@"):
        return f"{value[1:]}.{'member_id' if name == 'member' else 'protocol'}"
    text = repr(value)
    return text if len(text) < 200 else f'"x" * {len(value)}'


def _of(of: Any) -> str:
    return repr({int(key): value for key, value in of.items()} if isinstance(of, Mapping) else of)


def _last_state(walked: Walked) -> str:
    said = walked.transcript.lines["w"][-1][1]
    return str(said["groups"][0]["group_state"])
