// Runs Kafka's own `GroupCoordinatorShard`, one operation a line: JSON on standard input and output.
//
// An operation names what is done, the answer has what a broker would write and answer, and what the shard is after it:
//
//   {"op": "new", "now": ms, "config": {…}}                an empty partition; its time stands still but for "advance"
//   {"op": "image", "version": n, "changes": […]}          other metadata: topics created, grown, moved, deleted; brokers
//   {"op": "request", "api", "version", "id", "clientId", "request": …}   the body is Kafka's JSON of the request
//   {"op": "advance", "to": ms}                            fires the timers that are due, in their order
//   {"op": "tasks"}                                        finishes resolutions of regular expressions
//   {"op": "marker", "pid", "epoch", "committed"}          ends a transaction
//   {"op": "groupConfig", "group", "config"}               the settings of a group
//   {"op": "load"}                                         another coordinator loads the log
//
// Every append is committed at once, unless the operation says "fail": then it is taken back, as after a failed write.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.*;
import java.io.*;
import java.net.InetAddress;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.metadata.*;
import org.apache.kafka.common.network.*;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.requests.*;
import org.apache.kafka.common.security.auth.*;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.*;
import org.apache.kafka.coordinator.group.*;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.image.*;
import org.apache.kafka.timeline.SnapshotRegistry;

public class KafkaShard {
    static final ObjectMapper JSON = new ObjectMapper();
    static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();
    static final short NONE = -1;

    record Entry(CoordinatorRecord record, long producerId, short producerEpoch, Boolean committed) { }

    /** A clock that stands still. */
    static class Clock implements Time {
        long now;

        public long milliseconds() {
            return now;
        }

        public long nanoseconds() {
            return 1_000_000 * now;
        }

        public void sleep(long ms) {
            now += ms;
        }
    }

    /** Timers by key; of those that are due at one instant, the one that was set first fires first. */
    class Timers implements CoordinatorTimer<CoordinatorRecord> {
        record Due(String key, long at, long rank, boolean retry, long backoff, TimeoutOperation<CoordinatorRecord> run) { }

        final Map<String, Due> running = new HashMap<>();
        long ranks = 0;

        public void schedule(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<CoordinatorRecord> run) {
            schedule(key, delay, unit, retry, 500, run);
        }

        public void schedule(
                String key, long delay, TimeUnit unit, boolean retry, long backoff, TimeoutOperation<CoordinatorRecord> run) {
            running.put(key, new Due(key, clock.now + unit.toMillis(delay), ranks++, retry, backoff, run));
        }

        public void scheduleIfAbsent(
                String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<CoordinatorRecord> run) {
            if (!running.containsKey(key)) schedule(key, delay, unit, retry, run);
        }

        public void cancel(String key) {
            running.remove(key);
        }

        public boolean isScheduled(String key) {
            return running.containsKey(key);
        }

        Due next() {
            return running.values().stream().min(Comparator.comparingLong(Due::at).thenComparingLong(Due::rank)).orElse(null);
        }
    }

    /** Tasks that run when they are asked for. */
    static class Tasks implements CoordinatorExecutor<CoordinatorRecord> {
        final Map<String, Supplier<CoordinatorResult<Void, CoordinatorRecord>>> due = new LinkedHashMap<>();

        public <R> boolean schedule(String key, TaskRunnable<R> task, TaskOperation<CoordinatorRecord, R> done) {
            return due.putIfAbsent(key, () -> {
                try {
                    return done.onComplete(task.run(), null);
                } catch (Throwable thrown) {
                    return done.onComplete(null, thrown);
                }
            }) == null;
        }

        public boolean isScheduled(String key) {
            return due.containsKey(key);
        }

        public void cancel(String key) {
            due.remove(key);
        }
    }

    final Clock clock = new Clock();
    Timers timers;
    Tasks tasks;
    SnapshotRegistry registry;
    GroupCoordinatorShard shard;
    GroupMetadataManager groups;
    GroupCoordinatorConfig config;
    GroupConfigManager groupConfigs;
    MetadataImage image = MetadataImage.EMPTY;
    List<Entry> log = new ArrayList<>();
    long written;
    boolean failing;
    ArrayNode answered;

    void load() throws Exception {
        timers = new Timers();
        tasks = new Tasks();
        registry = new SnapshotRegistry(new LogContext());
        GroupCoordinatorShard.Builder builder = new GroupCoordinatorShard.Builder(config, groupConfigs);
        builder.withAuthorizerPlugin(Optional.empty());
        shard = builder.withLogContext(new LogContext()).withSnapshotRegistry(registry).withTime(clock).withTimer(timers)
            .withExecutor(tasks).withCoordinatorMetrics(new GroupCoordinatorMetrics())
            .withTopicPartition(new TopicPartition("__consumer_offsets", 0)).build();
        var field = GroupCoordinatorShard.class.getDeclaredField("groupMetadataManager");
        field.setAccessible(true);
        groups = (GroupMetadataManager) field.get(shard);
        written = 0;
        registry.idempotentCreateSnapshot(0);
        for (Entry entry : log) replay(entry);
        commit();
        shard.onLoaded(new KRaftCoordinatorMetadataImage(image));
    }

    void replay(Entry entry) {
        if (entry.committed != null) {
            var result = entry.committed ? TransactionResult.COMMIT : TransactionResult.ABORT;
            shard.replayEndTransactionMarker(entry.producerId, entry.producerEpoch, result);
        } else {
            shard.replay(written, entry.producerId, entry.producerEpoch, entry.record);
        }
        written++;
    }

    void commit() {
        registry.idempotentCreateSnapshot(written);
        registry.deleteSnapshotsUpTo(written);
    }

    <T> T write(ObjectNode out, CoordinatorResult<T, CoordinatorRecord> result, long producerId, short producerEpoch) {
        long before = written;
        registry.idempotentCreateSnapshot(before);
        CompletableFuture<Void> append = result.appendFuture();
        List<Entry> entries = new ArrayList<>();
        try {
            for (CoordinatorRecord record : result.records()) {
                Entry entry = new Entry(record, producerId, producerEpoch, null);
                if (result.replayRecords()) replay(entry); else written++;
                entries.add(entry);
            }
            if (failing && !entries.isEmpty()) throw new NotEnoughReplicasException("the append fails");
        } catch (RuntimeException failure) {
            registry.revertToSnapshot(before);
            written = before;
            if (append != null) append.completeExceptionally(failure);
            throw failure;
        }
        log.addAll(entries);
        commit();
        for (Entry entry : entries) {
            ObjectNode record = out.withArray("records").addObject();
            record.put("key", hex(SERDE.serializeKey(entry.record)));
            record.put("value", entry.record.value() == null ? null : hex(SERDE.serializeValue(entry.record)));
        }
        if (append != null) append.complete(null);
        return result.response();
    }

    <T> T write(ObjectNode out, CoordinatorResult<T, CoordinatorRecord> result) {
        return write(out, result, NONE, NONE);
    }

    static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    static JsonNode json(ApiMessage message) {
        try {
            Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
            return (JsonNode) converter.getMethod("write", message.getClass(), short.class)
                .invoke(null, message, message instanceof OffsetCommitResponseData ? (short) 9
                    : message instanceof TxnOffsetCommitResponseData ? (short) 5
                    : message instanceof OffsetFetchResponseData ? (short) 9 : message.highestSupportedVersion());
        } catch (ReflectiveOperationException problem) {
            throw new IllegalStateException(problem);
        }
    }

    static void error(ObjectNode out, Throwable thrown) {
        out.put("error", Errors.forException(thrown).name());
        out.put("message", thrown.getMessage());
    }

    <T extends ApiMessage> CompletableFuture<T> later(int id) {
        CompletableFuture<T> future = new CompletableFuture<>();
        future.whenComplete((response, thrown) -> {
            ObjectNode one = answered.addObject();
            one.put("id", id);
            if (thrown != null) error(one, thrown); else one.set("response", json(response));
        });
        return future;
    }

    Uuid idOf(String topic) {
        var found = image.topics().getTopic(topic);
        return found == null ? Uuid.ZERO_UUID : found.id();
    }

    static List<String> texts(JsonNode array) {
        List<String> found = new ArrayList<>();
        array.forEach(one -> found.add(one.asText()));
        return found;
    }

    ApiMessage request(JsonNode in, ObjectNode out) throws Exception {
        ApiKeys api = ApiKeys.valueOf(in.get("api").asText());
        short version = (short) in.get("version").asInt();
        JsonNode body = in.get("request");
        var header = new RequestHeader(api, version, in.get("clientId").asText(), 0);
        var listener = ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT);
        var context = new RequestContext(header, "1", InetAddress.getByAddress(new byte[] {127, 0, 0, 1}),
            KafkaPrincipal.ANONYMOUS, listener, SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false);
        switch (api) {
            case CONSUMER_GROUP_HEARTBEAT:
                var beat = ConsumerGroupHeartbeatRequestDataJsonConverter.read(body, (short) 1);
                return write(out, shard.consumerGroupHeartbeat(context, beat));
            case JOIN_GROUP:
                CompletableFuture<JoinGroupResponseData> joined = later(in.get("id").asInt());
                var join = JoinGroupRequestDataJsonConverter.read(body, (short) 9);
                try {
                    write(out, shard.classicGroupJoin(context, join, joined, true));
                } catch (RuntimeException thrown) {
                    joined.completeExceptionally(thrown);
                }
                return null;
            case SYNC_GROUP:
                CompletableFuture<SyncGroupResponseData> synced = later(in.get("id").asInt());
                var sync = SyncGroupRequestDataJsonConverter.read(body, (short) 5);
                try {
                    write(out, shard.classicGroupSync(context, sync, synced));
                } catch (RuntimeException thrown) {
                    synced.completeExceptionally(thrown);
                }
                return null;
            case HEARTBEAT:
                var heartbeat = HeartbeatRequestDataJsonConverter.read(body, (short) 4);
                return write(out, shard.classicGroupHeartbeat(context, heartbeat));
            case LEAVE_GROUP:
                var leave = LeaveGroupRequestDataJsonConverter.read(body, (short) 5);
                return write(out, shard.classicGroupLeave(context, leave));
            case OFFSET_COMMIT:
                var commit = OffsetCommitRequestDataJsonConverter.read(body, (short) 9);
                commit.topics().forEach(topic -> topic.setTopicId(idOf(topic.name())));
                return write(out, shard.commitOffset(context, commit));
            case TXN_OFFSET_COMMIT:
                var pending = TxnOffsetCommitRequestDataJsonConverter.read(body, (short) 5);
                pending.topics().forEach(topic -> topic.setTopicId(idOf(topic.name())));
                var result = shard.commitTransactionalOffset(context, pending);
                return write(out, result, pending.producerId(), pending.producerEpoch());
            case OFFSET_DELETE:
                var delete = OffsetDeleteRequestDataJsonConverter.read(body, (short) 0);
                return write(out, shard.deleteOffsets(context, delete));
            case DELETE_GROUPS:
                var deleted = write(out, shard.deleteGroups(context, texts(body.get("groups"))));
                return new DeleteGroupsResponseData().setResults(deleted);
            case OFFSET_FETCH:
                var fetch = OffsetFetchRequestDataJsonConverter.read(body, (short) 9);
                long offset = fetch.requireStable() ? Long.MAX_VALUE : written;
                return new OffsetFetchResponseData().setGroups(List.of(shard.fetchOffsets(fetch.groups().get(0), offset)));
            case LIST_GROUPS:
                var listed = shard.listGroups(texts(body.get("states")), texts(body.get("types")), written);
                return new ListGroupsResponseData().setGroups(listed);
            case DESCRIBE_GROUPS:
                var described = shard.describeGroups(context, texts(body.get("groups")), written);
                return new DescribeGroupsResponseData().setGroups(described);
            case CONSUMER_GROUP_DESCRIBE:
                var shown = shard.consumerGroupDescribe(texts(body.get("groups")), written);
                return new ConsumerGroupDescribeResponseData().setGroups(shown);
            default:
                throw new IllegalArgumentException(api.name);
        }
    }

    void change(JsonNode in, ObjectNode out) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        List<GroupCoordinatorShard.DeletedTopic> deleted = new ArrayList<>();
        for (JsonNode one : in.get("changes")) {
            Uuid id = one.has("id") ? Uuid.fromString(one.get("id").asText()) : null;
            String what = one.get("do").asText();
            if (what.equals("create")) delta.replay(new TopicRecord().setTopicId(id).setName(one.get("name").asText()));
            if (what.equals("delete")) {
                delta.replay(new RemoveTopicRecord().setTopicId(id));
                deleted.add(new GroupCoordinatorShard.DeletedTopic(id, one.get("name").asText()));
            }
            if (what.equals("broker")) {
                String rack = one.get("rack").isNull() ? null : one.get("rack").asText();
                delta.replay(new RegisterBrokerRecord().setBrokerId(one.get("broker").asInt()).setRack(rack));
            }
            int partition = one.has("from") ? one.get("from").asInt() : 0;
            for (JsonNode nodes : one.withArray("replicas")) {
                List<Integer> replicas = new ArrayList<>();
                nodes.forEach(node -> replicas.add(node.asInt()));
                delta.replay(new PartitionRecord().setTopicId(id).setPartitionId(partition++).setReplicas(replicas));
            }
        }
        image = delta.apply(new MetadataProvenance(in.get("version").asLong(), 0, 0L, true));
        shard.onMetadataUpdate(new KRaftCoordinatorMetadataDelta(delta), new KRaftCoordinatorMetadataImage(image));
        if (!deleted.isEmpty()) write(out, shard.onTopicsDeleted(deleted));
    }

    void advance(long to, ObjectNode out) {
        Timers.Due due;
        while ((due = timers.next()) != null && due.at() <= to) {
            clock.now = Math.max(clock.now, due.at());
            timers.running.remove(due.key());
            try {
                write(out, due.run().generateRecords());
            } catch (RuntimeException thrown) {
                if (due.retry()) {
                    timers.schedule(due.key(), due.backoff(), TimeUnit.MILLISECONDS, true, due.backoff(), due.run());
                }
            }
        }
        clock.now = to;
    }

    void handle(JsonNode in, ObjectNode out) throws Exception {
        failing = in.has("fail") && in.get("fail").asBoolean();
        switch (in.get("op").asText()) {
            case "new":
                clock.now = in.get("now").asLong();
                Map<String, Object> properties = new HashMap<>();
                in.get("config").fields().forEachRemaining(one -> properties.put(one.getKey(), one.getValue().asText()));
                config = new GroupCoordinatorConfig(new AbstractConfig(GroupCoordinatorConfig.CONFIG_DEF, properties));
                groupConfigs = new GroupConfigManager(config, ShareGroupConfig.fromProps(properties));
                image = MetadataImage.EMPTY;
                log = new ArrayList<>();
                load();
                break;
            case "image":
                change(in, out);
                break;
            case "request":
                ApiMessage response = request(in, out);
                if (response != null) out.set("response", json(response));
                break;
            case "advance":
                advance(in.get("to").asLong(), out);
                break;
            case "tasks":
                var due = List.copyOf(tasks.due.values());
                tasks.due.clear();
                for (var task : due) write(out, task.get());
                break;
            case "marker":
                boolean committed = in.get("committed").asBoolean();
                Entry end = new Entry(null, in.get("pid").asLong(), (short) in.get("epoch").asInt(), committed);
                replay(end);
                log.add(end);
                commit();
                break;
            case "groupConfig":
                Properties own = new Properties();
                in.get("config").fields().forEachRemaining(one -> own.put(one.getKey(), one.getValue().asText()));
                groupConfigs.updateGroupConfig(in.get("group").asText(), own);
                break;
            case "load":
                shard.onUnloaded();
                load();
                break;
            default:
                throw new IllegalArgumentException(in.toString());
        }
    }

    void show(ObjectNode out) {
        ObjectNode all = out.putObject("groups");
        for (String id : groups.groupIds()) {
            Group group = groups.group(id);
            ObjectNode one = all.putObject(id);
            one.put("type", group.type().toString());
            one.put("state", group.stateAsString());
            ArrayNode members = one.putArray("members");
            if (group instanceof ClassicGroup classic) {
                classic.allMemberIds().forEach(members::add);
                one.put("generation", classic.generationId());
                one.put("leader", classic.leaderOrNull());
            } else if (group instanceof ConsumerGroup consumer) {
                consumer.members().keySet().forEach(members::add);
                one.put("epoch", consumer.groupEpoch());
                one.put("assignment_epoch", consumer.assignmentEpoch());
            }
        }
        ObjectNode running = out.putObject("timers");
        timers.running.values().forEach(due -> running.put(due.key(), due.at()));
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true);
        System.setOut(System.err); // for the loggers
        KafkaShard shard = new KafkaShard();
        String line;
        while ((line = in.readLine()) != null) {
            ObjectNode answer = JSON.createObjectNode();
            shard.answered = answer.putArray("answered");
            try {
                shard.handle(JSON.readTree(line), answer);
            } catch (RuntimeException thrown) {
                error(answer, thrown);
            }
            shard.show(answer);
            out.println(answer);
        }
    }
}
