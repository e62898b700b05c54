"""Kafka's wire protocol: the bytes of clients decoded into our requests, and our answers encoded.

    bytes ── frames ── headers ── serial (by schema) ── a family ── Exchange ── … answers … ── the same way back

* `frames` cuts a stream into messages; `headers` reads the header of one.
* `schema` has Kafka's message schemas from kio, `serial` reads and writes by them. Their result is a dict of fields;
  times are milliseconds, topic ids text.
* A family (a module of `families`) translates between such dicts and the values of `protocol.messages`. A field
  that a version lacks gets our default in a request and is left out of a response. Topic ids become names through the
  `exchange.Directory`; an unknown id is answered here and never reaches a broker.
* `apis` holds the served APIs and versions; `codec.Codec` puts all of it together for one broker.

Nothing here waits, reads a clock or has a state beyond the start of one message. Bytes that are no request raise
`Unreadable` and nothing else; then the connection is closed, as by a Kafka broker.

A family is a module with `READERS`, from API to a function `(fields, header, directory) → Exchange`, listed in
`registry`. `translation.one` serves messages that are one request of ours, `translation.Translation` those that are
several or none.
"""

from groupsim.protocol.wire.apis import api_table, served
from groupsim.protocol.wire.codec import Codec, Understood
from groupsim.protocol.wire.exchange import Directory, Exchange, Lengthy, Unreadable
from groupsim.protocol.wire.frames import Frames

__all__ = ["Codec", "Directory", "Exchange", "Frames", "Lengthy", "Understood", "Unreadable", "api_table", "served"]
