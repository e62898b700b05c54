"""Floor 1: the messages of Kafka's protocol as values, and the facts of the protocol as data.

Nothing here runs, waits, or depends on a member or a group. A request or a response is a value. The rooms `members` and
`coordinator` share nothing but these values, and so each of them can be tested alone: a test gives a coordinator its
requests, or a member its responses, and a run is a list of messages with times.

Three decisions shape the room.

*One class per message, not one per version.* Kafka's schema has ten JoinGroups. Here there is one, with the fields of
the newest, and the number of the version that its sender uses. A table (`versions.CARRIED`) holds the fields that an
old version lacks, and `normalise_request` and `normalise_response` apply it where a message crosses the wire. So the
coordinator reads one kind of request, and an old client cannot send a field that its bytes have no room for.

*Bytes in Kafka are bytes here.* Subscriptions and assignments pass through the coordinator undecoded, as in Kafka,
which compares them byte by byte to decide whether a member has changed. `consumer_protocol` writes the bytes of real
clients, so the requests of a real and of a simulated client are the same to the coordinator.

*Java's details are facts too.* The coordinator of a group, the successor of a leader, and the protocol that wins a tie
follow from `String.hashCode` and the iteration order of `HashMap`. `javahash` implements both, once.

    values             the decorator of value classes, of which there are thousands of objects
    basics             Api, TopicPartition, the numbers that mean "none"
    errors             Kafka's error codes; ProtocolError for bytes that are no message
    messages           requests and responses by subject; the fields of a version, the versions of a broker
    batch              a record batch as a value and as bytes
    embedded           bytes inside messages and records: subscriptions, assignments, user data, offset records
    wire               Kafka's requests as bytes, and their translation to these messages
    xxh3               the hash XXH3, of which the records of consumer groups hold a value
    record_fields      the fields of Kafka's messages as bytes, classic and flexible
    patterns           regular expressions in RE2/J's dialect, matched by google-re2
    html_table         a value as a small table of HTML, for notebooks; it is in the lowest room that needs it
    javahash           Java's hashes and iteration orders
    topic_ids          the hash, the order and the maps of topic ids
    scalahash          the order of Scala's maps, which brokers up to 3.9 used
"""
