"""The group and the member that a log line names, in the forms of brokers and client libraries."""

from __future__ import annotations

import re

_NO_NAME = r"(?!(?:again|because|due|error|failed|request|response|session|with)(?:[\s:,.]|$))"
"""Words that follow "join group" where the message names no group."""
_GROUPS = tuple(
    re.compile(form)
    for form in (
        r"groupId=([^,\]\s]+)",
        r"\[GroupId[ =]([^\]]+)\]",
        r"\[Group ([^\]]+)\]",
        r"\bin group (\S.*?) has (?:failed|left|been removed)",
        r"re(?:balance|stabilize) group (\S.*?) (?:in state|with old)",
        r"Stabilized group (\S.*?) generation",
        r"(?:left|joins|joining) group (\S.*?) (?:through|in |with )",
        r"group metadata for (\S.*?) with generation",
        r"Cannot (?:up|down)grade (?:classic|consumer) group (\S.*?) to (?:classic|consumer) group",
        r'[Gg]roup \\?"([^"\\]+)\\?"',
        r'"(?:groupId|group|consumer_group)"\s*:\s*"([^"]+)"',
        r"(?<!oordinator for )\bgroup: (?!Group auth)([^,\s]+)",
        r"Group member \(([^,]+),",
        r"access group: (?!Group auth)(\S+)",
        rf"\bjoin(?:ing)? (?:the )?group {_NO_NAME}[`'\"]?([^`'\"\s]+)",
        r"[Cc]onsumer group '([^']+)'",
        r"\b[Ff]or group '?([^\s':,]+)",
        r"\[\[([^\]]+)\] \{",
        r"[Gg]roup (\S+) (?:has|could|generation|with generation|removed|is dead|commit)",
    )
)
_MEMBERS = tuple(
    re.compile(form)
    for form in (
        r"\bMember (?!MemberMetadata|\[)(.{1,250}?) in group .{1,250}? has (?:failed|left)",
        r"\bMember (?:MemberMetadata\(memberId=)?(?!with\b|id\b|metadata\b)([^\s,\[(]\S*?),? "
        r"(?:in group|groupInstanceId=|has left|sending|fenced|joins|left|with epoch|failed)",
        r"member\.id:? (\S+?)\] (?:in group|failed)",
        r"[Rr]emoving member (.{1,250}?) on (?:heartbeat|LeaveGroup)",
        r"haven't (?:joined|sent their sync request): (?:\w+\()?\[?([^\s,)\]]+)",
        r"[Mm]ember (\S+) has left",
        r"[Ss]tatic member (\S+) with instance id \S+ (?:joins|left|temporarily|has left|is fenced)",
        r"Adding new (?:static )?member (.{1,250}?)(?: with group instance ?id| to group|[;)]|$)",
        r"re-join(?:s|ing) group.*?[Mm]ember (\S+)",
        r"[Ll]eader (\S+) re-joining",
        r"metadata for (?:static )?member (\S+)",
        r"Created a new member(?: id)? (\S+)",
        r"Request memberId=(\S+)",
        r"memberId='([^']+)'",
        r'"member_?[iI]d"\s*:\s*"([^"]+)"',
        r"instance id \"?([^\s\"]+)\"? (?:has been fenced|cannot)",
        r"instanceId=([^,\]\s]+)",
        r"clientId=([^,\]\s]+)",
        r'"clientId"\s*:\s*"([^"]+)"',
        r"stream-thread \[([^\]]+)\]",
        r"coor=(\S+?),cb=",
        r"(?:\||Handle: )([^|\s]+#consumer-\d+)\b",
        r"([\w.-]+#consumer-\d+)\b",
    )
)
_PLACE = re.compile(r"^(?:\[pod/([^/\]]+)[^\]]*\]|([A-Za-z][\w.@-]*)\s+\|\s)")
_UNNAMED = re.compile(r"^rdkafka#consumer-\d+$|^$")


def group_of(text: str) -> str:
    """Return the group that a line names, or nothing."""
    return _first(_GROUPS, text)


def member_of(text: str) -> str:
    """Return the member, client or process that a line names, or nothing.

    A client id that the library gives every process counts for nothing where a collector's prefix names the process.
    """
    member = _first(_MEMBERS, text)
    place = _PLACE.match(text)
    named = next((one for one in place.groups() if one), "") if place else ""
    return named if named and _UNNAMED.match(member) else member


def _first(forms: tuple[re.Pattern[str], ...], text: str) -> str:
    found = next((one for form in forms if (one := form.search(text))), None)
    return found[1].rstrip(".:;,)") if found else ""
