"""What an administrator does with Kafka's own command-line tools; members of groups are confluent-kafka's."""

from __future__ import annotations

from tests.interop.bench import Bench, records, until
from tests.interop.cases import Case
from tests.interop.operator_cases import OPERATOR_CASES
from tests.interop.peers import GUARDED, started
from tests.interop.tools import table, tool


def topics(bench: Bench) -> None:
    """kafka-topics makes, lists, describes, widens and deletes a topic, and says what is wrong with a second one."""
    name = f"topics-{bench.group}"
    asked, kept = ("--topic", name), ("--config", "retention.ms=7200000")
    tool(bench, "kafka-topics", "--create", *asked, "--partitions", "3", "--replication-factor", "3", *kept)
    until(lambda: name in tool(bench, "kafka-topics", "--list").split(), "every broker knows the topic")
    again = tool(bench, "kafka-topics", "--create", *asked, fails=True)
    assert f"Topic '{name}' already exists." in again
    tool(bench, "kafka-topics", "--alter", *asked, "--partitions", "5")
    fewer = tool(bench, "kafka-topics", "--alter", *asked, "--partitions", "2", fails=True)
    assert "currently has 5 partition" in fewer
    until(lambda: "PartitionCount: 5" in tool(bench, "kafka-topics", "--describe", *asked), "five partitions are told")
    described = tool(bench, "kafka-topics", "--describe", *asked)
    assert "PartitionCount: 5\tReplicationFactor: 3" in described
    assert "retention.ms=7200000" in described
    assert described.count("Leader: ") == 5
    tool(bench, "kafka-topics", "--delete", *asked)
    until(lambda: name not in tool(bench, "kafka-topics", "--list").split(), "the topic is gone")


def console(bench: Bench) -> None:
    """kafka-console-producer writes keys, headers and values that kafka-console-consumer reads, in two turns."""
    topic = bench.topic(3)
    lines = [f"h1:v{n},h2:w\tkey-{n}\tvalue {n}" for n in range(20)]
    parsed = ("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true")
    sent = "".join(f"{line}\n" for line in lines)
    tool(bench, "kafka-console-producer", "--topic", topic, *parsed, "--compression-codec", "lz4", told=sent)
    shown = [word for one in ("key", "headers") for word in ("--formatter-property", f"print.{one}=true")]
    asked = ("--topic", topic, "--group", bench.group, "--from-beginning", "--timeout-ms", "60000")
    printed = tool(bench, "kafka-console-consumer", *asked, "--max-messages", "20", *shown)
    assert sorted(line for line in printed.splitlines() if "\t" in line) == sorted(lines)
    tool(bench, "kafka-console-producer", "--topic", topic, told="one more\n")
    printed = tool(bench, "kafka-console-consumer", *asked, "--max-messages", "1")
    assert printed.splitlines()[0] == "one more"


def describes_groups(bench: Bench) -> None:
    """kafka-consumer-groups lists a group and describes its offsets, members and state, with a member and without."""
    topic = bench.topic()
    member = bench.consumer(topic)
    bench.stable(topic, [member])
    bench.all_read(bench.producer().send(topic, records(30)), [member])
    member.ask("commit", "committed")
    asked = ("--describe", "--group", bench.group)
    assert bench.group in tool(bench, "kafka-consumer-groups", "--list").split()
    listed = table(tool(bench, "kafka-consumer-groups", "--list", "--state"))
    assert {"GROUP": bench.group, "STATE": "Stable"}.items() <= _row(listed, bench.group).items()
    ends = bench.ends(topic)
    offsets = table(tool(bench, "kafka-consumer-groups", *asked))
    assert {int(row["PARTITION"]): row["LOG-END-OFFSET"] for row in offsets} == {
        number: str(end) for (_, number), end in ends.items()
    }
    assert {row["LAG"] for row in offsets if row["LOG-END-OFFSET"] != "0"} == {"0"}
    assert {row["CLIENT-ID"] for row in offsets} == {member.name}
    (row,) = table(tool(bench, "kafka-consumer-groups", *asked, "--members"))
    assert (row["CLIENT-ID"], row["#PARTITIONS"], row["HOST"]) == (member.name, "6", "/127.0.0.1")
    (state,) = table(tool(bench, "kafka-consumer-groups", *asked, "--state"))
    assert (state["STATE"], state["#MEMBERS"]) == ("Stable", "1")
    member.close()
    assert "has no active members" in tool(bench, "kafka-consumer-groups", *asked)


def describes_groups_of_the_consumer_protocol(bench: Bench) -> None:
    """kafka-consumer-groups and kafka-groups show a group of the consumer protocol: kind, epochs, assignments."""
    topic = bench.topic()
    members = [bench.consumer(topic, "server:range"), bench.consumer(topic, "server:range")]
    bench.stable(topic, members)
    listed = table(tool(bench, "kafka-groups", "--list"))
    assert {"TYPE": "Consumer", "PROTOCOL": "consumer"}.items() <= _row(listed, bench.group).items()
    kinds = table(tool(bench, "kafka-consumer-groups", "--list", "--type", "consumer"))
    assert _row(kinds, bench.group)["TYPE"] == "Consumer"
    asked = ("--describe", "--group", bench.group, "--verbose")
    rows = {row["CLIENT-ID"]: row for row in table(tool(bench, "kafka-consumer-groups", *asked, "--members"))}
    for member in members:
        row, numbers = rows[member.name], ",".join(str(number) for _, number in sorted(member.owned))
        assert (row["#PARTITIONS"], row["CURRENT-EPOCH"]) == ("3", row["TARGET-EPOCH"])
        assert (row["CURRENT-ASSIGNMENT"], row["TARGET-ASSIGNMENT"]) == (f"{topic}:{numbers}",) * 2
    (state,) = table(tool(bench, "kafka-consumer-groups", *asked, "--state"))
    assert (state["ASSIGNMENT-STRATEGY"], state["STATE"], state["#MEMBERS"]) == ("range", "Stable", "2")
    assert state["GROUP-EPOCH"] == state["TARGET-ASSIGNMENT-EPOCH"] == rows[members[0].name]["CURRENT-EPOCH"]


def _row(rows: list[dict[str, str]], group: str) -> dict[str, str]:
    (found,) = [row for row in rows if row["GROUP"] == group]
    return found


def resets_offsets(bench: Bench) -> None:
    """kafka-consumer-groups moves the offsets of a group without members, and not those of one that has some."""
    topic = bench.topic()
    sent = bench.producer().send(topic, records(60))
    member = bench.consumer(topic)
    bench.all_read(sent, [member])
    asked = ("--group", bench.group, "--topic", topic, "--reset-offsets", "--execute")
    refused = tool(bench, "kafka-consumer-groups", *asked, "--to-earliest")
    assert "Assignments can only be reset if the group" in refused
    member.close()
    ends = {at: end for at, end in bench.ends(topic).items() if end}
    until(lambda: bench.committed(topic) == ends, "what was read is committed")
    tool(bench, "kafka-consumer-groups", *asked, "--shift-by", "-1")
    assert {at: offset for at, offset in bench.committed(topic).items() if at in ends} == {
        at: end - 1 for at, end in ends.items()
    }
    tool(bench, "kafka-consumer-groups", *asked, "--to-earliest")
    assert {*bench.committed(topic).values()} == {0}
    again = bench.consumer(topic)
    assert bench.all_read(sent, [again]) == sent


def deletes_groups(bench: Bench) -> None:
    """kafka-consumer-groups deletes offsets and groups that nobody uses, and refuses the others."""
    topic = bench.topic()
    sent = bench.producer().send(topic, records(30))
    member = bench.consumer(topic)
    bench.all_read(sent, [member])
    member.ask("commit", "committed")
    asked = ("--group", bench.group)
    busy = tool(bench, "kafka-consumer-groups", "--delete", *asked)
    assert "GroupNotEmptyException" in busy
    subscribed = tool(bench, "kafka-consumer-groups", "--delete-offsets", *asked, "--topic", topic)
    assert "GroupSubscribedToTopicException" in subscribed or "actively subscribed" in subscribed
    member.close()
    until(lambda: bench.state() == ("EMPTY", 0), "the group is Empty")
    tool(bench, "kafka-consumer-groups", "--delete-offsets", *asked, "--topic", topic)
    assert bench.committed(topic) == {}
    tool(bench, "kafka-consumer-groups", "--delete", *asked)
    assert bench.group not in tool(bench, "kafka-consumer-groups", "--list").split()


def looks_around(bench: Bench) -> None:
    """Ends of partitions, versions of APIs, the cluster's id and the groups' kinds are shown."""
    topic = bench.topic(2)
    bench.producer().send(topic, records(10), partition=1)
    ends = tool(bench, "kafka-get-offsets", "--topic", topic)
    assert ends.split() == [f"{topic}:0:0", f"{topic}:1:10"]
    versions = tool(bench, "kafka-broker-api-versions")
    assert versions.count("JoinGroup(11): ") == 3
    assert "Cluster ID: " in tool(bench, "kafka-cluster", "cluster-id")
    member = bench.consumer(topic)
    bench.stable(topic, [member], 2)
    row = _row(table(tool(bench, "kafka-groups", "--list")), bench.group)
    assert (row["TYPE"], row["PROTOCOL"]) == ("Classic", "consumer")


def acls(bench: Bench) -> None:
    """kafka-acls keeps everybody but somebody from a group, lists that, and takes it back; brokers of its own obey."""
    with started(bench.peer.name, GUARDED) as peer, Bench(bench.client, peer, "acls", bench.folder) as own:
        topic = f"topic-{own.group}"
        tool(own, "kafka-topics", "--create", "--topic", topic)
        sent = own.producer().send(topic, records(30))
        asked = ("--group", own.group)
        assert "(principal=" not in tool(own, "kafka-acls", "--list", *asked)
        tool(own, "kafka-acls", "--add", *asked, "--operation", "Read", "--allow-principal", "User:somebody")
        listed = "(principal=User:somebody, host=*, operation=READ, permissionType=ALLOW)"
        until(lambda: listed in tool(own, "kafka-acls", "--list", *asked), "the ACL is listed")
        refused = tool(own, "kafka-consumer-groups", "--describe", *asked)
        assert "GroupAuthorizationException" in refused
        reads = ("--topic", topic, *asked, "--timeout-ms", "60000", "--max-messages", "1")
        assert "Processed a total of 0 messages" in tool(own, "kafka-console-consumer", *reads)
        tool(own, "kafka-acls", "--remove", *asked, "--force")
        until(lambda: listed not in tool(own, "kafka-acls", "--list", *asked), "the ACL is gone")
        member = own.consumer(topic)
        assert own.all_read(sent, [member]) == sent


CLI_CASES = (
    Case("topics", "kafka-topics: create, list, alter, describe, delete", topics),
    Case("console", "kafka-console-producer, kafka-console-consumer", console, short=True),
    Case("describe", "kafka-consumer-groups: list, describe, members, state", describes_groups, short=True),
    Case(
        "describe-848",
        "the same of group.protocol=consumer; kafka-groups",
        describes_groups_of_the_consumer_protocol,
    ),
    Case("reset", "kafka-consumer-groups: reset-offsets", resets_offsets),
    Case("delete", "kafka-consumer-groups: delete-offsets, delete", deletes_groups),
    Case("look", "kafka-get-offsets, -broker-api-versions, -cluster, -groups", looks_around),
    Case("acls", "kafka-acls: add, list, remove; what is refused meanwhile", acls),
    *OPERATOR_CASES,
)
"""The rows of the tools' table, in order."""
