"""brod's log: records of several lines, at level info. Erlang's logger shows notice and above by default.

Messages: the source of brod 4.6.2; it was not run. The first offset of an assignment is a question mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from groupsim.logs.clients.libraries import Library, LogLine, Values, Words, by_topic
from groupsim.logs.layout import millis


def _layout(at: datetime, template: LogLine, text: str, values: Values) -> str:
    head = f"Group member ({values['group']},coor=<0.1.0>,cb=<0.2.0>,generation={values['generation']}):"
    return f"{at:%Y-%m-%d %H:%M:%S}.{millis(at)} [{template.level.lower()}] {head}\n{text}"


def _printed(values: Values) -> Mapping[str, object]:
    topics = by_topic(values.get("given", ()))
    blocks = (
        f"\n  {topic}:" + "".join(f"\n    partition={number} begin_offset=?" for number in numbers)
        for topic, numbers in topics.items()
    )
    return {"atom": values["error"].lower(), "assigned": "".join(blocks) or "[]"}


FAILED = LogLine("failed to join group\nreason: {atom}")
WORDS: Words = {
    "heartbeat": (LogLine("re-joining group, reason:{atom}"),),
    "join": (FAILED,),
    "sync": (FAILED,),
    "leads": (LogLine("elected=true"),),
    "follows": (LogLine("elected=false"),),
    "synced": (LogLine("assignments received:{assigned}"),),
    "leaving": (LogLine("Leaving group, reason: shutdown"),),
}
BROD = Library(_layout, WORDS, _printed)
