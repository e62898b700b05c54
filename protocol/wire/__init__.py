"""Kafka's wire protocol: the bytes of clients made into requests of ours, and our answers into bytes.

    bytes ── frames ── headers ── serial (by schema) ── a family ── Exchange ── … answers … ── the same way back

* `frames` cuts a stream into messages; `headers` reads what goes before one.
* `schema` has Kafka's message schemas as kio carries them, `serial` reads and writes by them. What they hand over is a
  dict of fields; times are milliseconds, topic ids text.
* A family (`membership`, `offsets`, …) adapts between such dicts and the values of `protocol.messages`. What a version
  does not carry gets our default on the way in and is left out on the way back. Topic ids become names through the
  `Directory`; an id that nobody knows is answered here and never reaches a broker.
* `apis` says which API is served in which versions; `codec.Codec` puts all of it together for one broker.

Nothing here waits, reads a clock or keeps a state beyond the start of one message. Bytes that are no request raise
`Unreadable` and nothing else; the connection is closed then, as a Kafka broker does.

A family is written thus: a module with `READERS`, from API to a function `(fields, header, directory) → Exchange`,
named in `families`. `translation.one` serves messages that are one request of ours, `translation.Translation` those
that are several or none.
"""

from groupsim.protocol.wire.apis import api_table, served
from groupsim.protocol.wire.codec import Codec, Understood
from groupsim.protocol.wire.exchange import Directory, Exchange, Lengthy, Unreadable
from groupsim.protocol.wire.frames import Frames

__all__ = ["Codec", "Directory", "Exchange", "Frames", "Lengthy", "Understood", "Unreadable", "api_table", "served"]
