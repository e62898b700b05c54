"""Fresh member ids: `<client id>-<uuid>`, for a static member `<instance id>-<uuid>`.

The uuid is drawn from the event loop's streams, one per broker, group and prefix. So ids are the same in every run of a
seed, and the join of another client does not change them. The order of Java's hash maps, and with it the successor of
a leader, follows from these ids: that is why leaders look random. Source: `ClassicGroup.generateMemberId`.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode

from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.randomness import Stream

_VERSION_4 = 0x4000 << 64
_VARIANT = 0x8000 << 48
_KEEP = (1 << 128) - 1 - (0xF000 << 64) - (0xC000 << 48)


def uuid4_text(high: int, low: int) -> str:
    """Format two words of 64 bits as a random UUID (version 4)."""
    number = ((high << 64 | low) & _KEEP) | _VERSION_4 | _VARIANT
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class MemberIds:
    """The source of one broker's member ids."""

    def __init__(self, loop: EventLoop, node: int, incarnation: int) -> None:
        self._loop = loop
        self._node = node
        self._incarnation = incarnation
        self._streams: dict[tuple[str, str], Stream] = {}

    def fresh(self, group_id: str, prefix: str) -> str:
        """Return the next id for this prefix in this group."""
        stream = self._stream(group_id, prefix)
        return f"{prefix}-{uuid4_text(stream.word(), stream.word())}"

    def fresh_uuid(self, group_id: str, client_id: str) -> str:
        """Return an id for a member of a consumer group without one: Kafka's `Uuid`, 22 letters without a prefix."""
        stream = self._stream(group_id, client_id)
        raw = bytes.fromhex(uuid4_text(stream.word(), stream.word()).replace("-", ""))
        return urlsafe_b64encode(raw).decode("ascii").rstrip("=")

    def _stream(self, group_id: str, prefix: str) -> Stream:
        stream = self._streams.get((group_id, prefix))
        if stream is None:
            entity = f"{self._node}/{group_id}/{prefix}"
            stream = self._loop.stream("member-id", entity, self._incarnation)
            self._streams[group_id, prefix] = stream
        return stream
