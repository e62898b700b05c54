"""Floor 1: what members and coordinator say to each other, as values, and the facts of Kafka's protocol as data.

Nothing here runs, waits, or knows a member or a group. A request or a response is a value; two rooms that share
nothing else, `members` and `coordinator`, meet in these values. That is what makes the rest testable: a coordinator is
fed requests by hand, a member is fed responses, and a run is a list of messages with times.

Three decisions shape the room.

*One class per message, not one per version.* Kafka's schema has ten JoinGroups. Here there is one, with the fields of
the newest, and a number saying which version its sender speaks. What an old version cannot carry is a table
(`versions.CARRIED`), and `normalise_request` and `normalise_response` apply it where a message crosses the wire. So
the coordinator reads one kind of request, and an old client still cannot say what its bytes had no room for.

*What Kafka treats as bytes is bytes.* Subscriptions and assignments pass through the coordinator unread, as in Kafka,
which compares them byte by byte to decide whether a member changed its mind. `consumer_protocol` writes the bytes that
real clients write, so a real client's request and a simulated one's are the same to the coordinator.

*Java's accidents are facts too.* Which broker coordinates a group, who becomes leader when the leader goes, and which
protocol wins a tie follow from `String.hashCode` and the iteration order of `HashMap`. `javahash` has them, once.

    values             how a class of values is made, of which there are thousands
    basics             Api, TopicPartition, the numbers that mean "none"
    errors             Kafka's error codes; ProtocolError for bytes that are no message
    messages           requests and responses by what they are about; what a version carries, what a broker takes
    batch              a record batch as a value and as bytes
    embedded           bytes inside messages and records: subscriptions, assignments, user data, offset records
    wire               Kafka's requests as bytes, and our messages; its modules say which
    record_fields      the fields of Kafka's messages as bytes, classic and flexible
    patterns           regular expressions in RE2/J's dialect, matched by google-re2
    javahash           Java's hash and orders
    scalahash          the order of Scala's maps, which brokers had up to 3.9
"""
