"""The questions that the files of a deployment leave open, each with a value to run with until it is answered."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.protocol.values import frozen


@frozen
class Guess:
    """A question, and a valid value."""

    question: str
    value: str


START_S = 20
"""The default time from the creation of a pod to its consumer's first poll: a JVM with its image on the node."""
PARTITIONS = 12
MEMBERS = 3
BROKERS = 3

GUESSES: Mapping[str, Guess] = {
    "version": Guess("Which Kafka version do the brokers run?", ""),
    "brokers": Guess("How many brokers are there?", str(BROKERS)),
    "partitions": Guess("How many partitions has {0}? `kafka-topics.sh --describe --topic {0}` says it.", ""),
    "rate": Guess("How many records a second does {0} get at its busiest?", "10/s"),
    "topic": Guess("Which topics does the group read?", ""),
    "group": Guess("Which group.id has {0}? No file names it.", ""),
    "client": Guess("Which client library, and which release? `groupsim lint --help` names them.", "java"),
    "processing": Guess("How long does one record take?", "lognormal(median=5ms, p95=20ms)"),
    "commit": Guess("Auto-commit is off: when does the application commit?", "sync-after-batch"),
    "members": Guess("How many processes run this consumer?", str(MEMBERS)),
    "start-time": Guess(
        "How long from the creation of a pod to its first poll (image, start of the JVM)?", f"{START_S}s"
    ),
    "stop-time": Guess("What does the application do between SIGTERM and its last poll?", ""),
    "busy-percent": Guess(
        "How much CPU, in percent of its request, does a pod use while it works without a pause?", "100"
    ),
}
