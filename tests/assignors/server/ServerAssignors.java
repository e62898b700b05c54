// Puts groups to Kafka's server-side assignors. One group a line on standard input, one target a line on standard output:
//
//   in   uniform|range homogeneous|heterogeneous ID=PARTITIONS,… MEMBER/INSTANCE/ID,…/ID=1:2,… MEMBER/…
//   out  MEMBER/ID=1:2,… MEMBER/…        or: failed
//
// A field without a value is "-". Members, topics of a subscription and partitions of a target are in the order of the line.
// With -Dtimes=true the output is the CPU time of the assignor alone, in nanoseconds.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.*;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;

public class ServerAssignors {
    record Member(Optional<String> instanceId, Set<Uuid> subscribedTopicIds, Map<Uuid, Set<Integer>> partitions)
            implements MemberSubscription, MemberAssignment {
        public Optional<String> rackId() {
            return Optional.empty();
        }
    }

    record Group(Map<String, Member> members, SubscriptionType subscriptionType, Map<Uuid, Set<Integer>> assigned)
            implements GroupSpec {
        public Collection<String> memberIds() {
            return members.keySet();
        }

        public boolean isPartitionAssigned(Uuid topicId, int partition) {
            return assigned.getOrDefault(topicId, Set.of()).contains(partition);
        }

        public boolean isPartitionAssignable(Uuid topicId, int partition) {
            return true;
        }

        public MemberSubscription memberSubscription(String memberId) {
            return members.get(memberId);
        }

        public MemberAssignment memberAssignment(String memberId) {
            return members.get(memberId);
        }
    }

    record Topics(Map<Uuid, Integer> counts) implements SubscribedTopicDescriber {
        public int numPartitions(Uuid topicId) {
            return counts.getOrDefault(topicId, -1);
        }

        public Set<String> racksForPartition(Uuid topicId, int partition) {
            return Set.of();
        }
    }

    static List<String> parts(String text) {
        return text.equals("-") ? List.of() : Arrays.asList(text.split(","));
    }

    static Member member(String[] fields) {
        Set<Uuid> topics = new LinkedHashSet<>();
        parts(fields[2]).forEach(id -> topics.add(Uuid.fromString(id)));
        Map<Uuid, Set<Integer>> target = new LinkedHashMap<>();
        for (String entry : parts(fields[3])) {
            String[] pair = entry.split("=");
            Set<Integer> partitions = new LinkedHashSet<>();
            for (String one : pair[1].split(":")) {
                partitions.add(Integer.valueOf(one));
            }
            target.put(Uuid.fromString(pair[0]), partitions);
        }
        Optional<String> instance = fields[1].equals("-") ? Optional.empty() : Optional.of(fields[1]);
        return new Member(instance, topics, Collections.unmodifiableMap(target));
    }

    static String answer(String line) {
        String[] words = line.split(" ");
        Map<Uuid, Integer> counts = new HashMap<>();
        for (String entry : parts(words[2])) {
            String[] pair = entry.split("=");
            counts.put(Uuid.fromString(pair[0]), Integer.valueOf(pair[1]));
        }
        Map<String, Member> members = new LinkedHashMap<>();
        for (int at = 3; at < words.length; at++) {
            String[] fields = words[at].split("/");
            members.put(fields[0], member(fields));
        }
        ConsumerGroupPartitionAssignor assignor = words[0].equals("range") ? new RangeAssignor() : new UniformAssignor();
        SubscriptionType type = SubscriptionType.valueOf(words[1].toUpperCase(Locale.ROOT));
        Map<Uuid, Set<Integer>> assigned = new HashMap<>();
        for (Member one : members.values()) {
            one.partitions().forEach((id, partitions) ->
                assigned.computeIfAbsent(id, unused -> new HashSet<>()).addAll(partitions));
        }
        Group group = new Group(members, type, assigned);
        Topics topics = new Topics(counts);
        long began = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        GroupAssignment found;
        try {
            found = assignor.assign(group, topics);
        } catch (PartitionAssignorException problem) {
            return "failed";
        }
        if (Boolean.getBoolean("times")) {
            return Long.toString(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - began);
        }
        StringJoiner out = new StringJoiner(" ");
        for (Map.Entry<String, MemberAssignment> one : found.members().entrySet()) {
            StringJoiner target = new StringJoiner(",");
            one.getValue().partitions().forEach((id, partitions) -> {
                StringJoiner numbers = new StringJoiner(":");
                partitions.forEach(partition -> numbers.add(partition.toString()));
                if (!partitions.isEmpty()) {
                    target.add(id + "=" + numbers);
                }
            });
            out.add(one.getKey() + "/" + (target.length() == 0 ? "-" : target.toString()));
        }
        return out.toString();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, true);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(line));
        }
    }
}
