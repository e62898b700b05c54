import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A member program with Kafka's own Java client (the suite's README.md has the protocol). */
public final class Member {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private static final ThreadLocal<String> MEMBER = new ThreadLocal<>();
    private static final Map<String, Class<?>> ASSIGNORS = Map.of(
        "range", RangeAssignor.class,
        "roundrobin", RoundRobinAssignor.class,
        "sticky", StickyAssignor.class,
        "cooperative-sticky", CooperativeStickyAssignor.class);

    public static void main(String[] arguments) throws Exception {
        JsonNode config = JSON.readTree(arguments[0]);
        if (config.get("role").asText().equals("consumer")) {
            new Reader(config).run(commands());
        } else if (config.get("role").asText().equals("consumers")) {
            several();
        } else {
            new Writer(config).run();
        }
        OUT.flush();
        Runtime.getRuntime().halt(0);
    }

    /** Consumers in one process: commands and events have a `member`, and `start` has the config of a new one. */
    private static void several() throws InterruptedException {
        Map<String, LinkedBlockingQueue<JsonNode>> queues = new HashMap<>();
        say(event("ready"));
        LinkedBlockingQueue<JsonNode> told = commands();
        while (true) {
            JsonNode command = told.take();
            String member = command.get("member").asText();
            if (!command.get("do").asText().equals("start")) {
                queues.get(member).add(command);
                continue;
            }
            LinkedBlockingQueue<JsonNode> own = new LinkedBlockingQueue<>();
            queues.put(member, own);
            new Thread(() -> {
                MEMBER.set(member);
                try {
                    new Reader(command.get("config")).run(own);
                } catch (Exception failed) {
                    error(failed, "start");
                }
            }).start();
        }
    }

    // --- Lines -------------------------------------------------------------------------------------------------

    private static ObjectNode event(String name) {
        return JSON.createObjectNode().put("event", name);
    }

    private static synchronized void say(ObjectNode event) {
        if (MEMBER.get() != null) {
            event.put("member", MEMBER.get());
        }
        OUT.print(event + "\n");
        OUT.flush();
    }

    private static void error(Throwable what, String command) {
        ObjectNode event = event("error").put("error", what.toString());
        if (command != null) {
            event.put("command", command);
        }
        say(event);
    }

    private static LinkedBlockingQueue<JsonNode> commands() {
        LinkedBlockingQueue<JsonNode> told = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> {
            try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    told.add(JSON.readTree(line));
                }
            } catch (Exception failed) {
                error(failed, null);
            }
            Runtime.getRuntime().halt(3);
        });
        reader.setDaemon(true);
        reader.start();
        return told;
    }

    private static String text(byte[] data) {
        return data == null ? null : Base64.getEncoder().encodeToString(data);
    }

    private static byte[] data(JsonNode node) {
        return node == null || node.isNull() ? null : Base64.getDecoder().decode(node.asText());
    }

    private static ArrayNode partitions(Collection<TopicPartition> all) {
        ArrayNode rows = JSON.createArrayNode();
        for (TopicPartition one : all) {
            rows.addArray().add(one.topic()).add(one.partition());
        }
        return rows;
    }

    private static ArrayNode positions(Map<TopicPartition, OffsetAndMetadata> all) {
        ArrayNode rows = JSON.createArrayNode();
        all.forEach((at, offset) -> rows.addArray().add(at.topic()).add(at.partition()).add(offset.offset()));
        return rows;
    }

    private static Map<TopicPartition, OffsetAndMetadata> positions(JsonNode rows) {
        Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
        for (JsonNode row : rows) {
            TopicPartition at = new TopicPartition(row.get(0).asText(), row.get(1).asInt());
            found.put(at, new OffsetAndMetadata(row.get(2).asLong()));
        }
        return found;
    }

    // --- The consumer ------------------------------------------------------------------------------------------

    private static final class Reader implements ConsumerRebalanceListener {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final Map<TopicPartition, Long> read = new HashMap<>();
        private final JsonNode config;
        private boolean held;

        Reader(JsonNode config) {
            Properties settings = new Properties();
            settings.put("bootstrap.servers", config.get("bootstrap").asText());
            settings.put("client.id", config.get("client_id").asText());
            settings.put("group.id", config.get("group").asText());
            String assignor = config.path("assignor").asText("range");
            if (assignor.startsWith("server:")) {
                settings.put("group.protocol", "consumer");
                settings.put("group.remote.assignor", assignor.substring("server:".length()));
            } else {
                settings.put("partition.assignment.strategy", ASSIGNORS.get(assignor).getName());
                settings.put("session.timeout.ms", config.path("session_timeout_ms").asInt(6000));
                settings.put("heartbeat.interval.ms", config.path("heartbeat_interval_ms").asInt(500));
            }
            settings.put("max.poll.interval.ms", config.path("rebalance_timeout_ms").asInt(30000));
            settings.put("isolation.level", config.path("isolation").asText("read_uncommitted"));
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", false);
            settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
            settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
            if (config.hasNonNull("instance_id")) {
                settings.put("group.instance.id", config.get("instance_id").asText());
            }
            consumer = new KafkaConsumer<>(settings);
            this.config = config;
            held = config.path("hold").asBoolean(false);
            if (held) {
                consumer.partitionsFor(config.get("topics").get(0).asText());
            } else {
                subscribe();
            }
        }

        private void subscribe() {
            if (config.hasNonNull("pattern")) {
                consumer.subscribe(new SubscriptionPattern(config.get("pattern").asText()), this);
                return;
            }
            List<String> topics = new ArrayList<>();
            config.get("topics").forEach(topic -> topics.add(topic.asText()));
            consumer.subscribe(topics, this);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> added) {
            move("assigned", added, consumer.assignment());
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> lost) {
            try {
                commit(lost);
            } catch (RuntimeException failed) {
                error(failed, null);
            }
            onPartitionsLost(lost);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> lost) {
            List<TopicPartition> rest = new ArrayList<>(consumer.assignment());
            rest.removeAll(lost);
            lost.forEach(read::remove);
            move("revoked", lost, rest);
        }

        private void move(String what, Collection<TopicPartition> moved, Collection<TopicPartition> owned) {
            ObjectNode event = event(what);
            event.set("partitions", partitions(moved));
            event.set("owned", partitions(owned));
            say(event);
        }

        private Map<TopicPartition, OffsetAndMetadata> commit(Collection<TopicPartition> among) {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (TopicPartition at : among) {
                if (read.containsKey(at)) {
                    offsets.put(at, new OffsetAndMetadata(read.get(at)));
                }
            }
            if (!offsets.isEmpty()) {
                consumer.commitSync(offsets, Duration.ofSeconds(20));
            }
            return offsets;
        }

        private void poll() {
            for (ConsumerRecord<byte[], byte[]> one : consumer.poll(Duration.ofMillis(50))) {
                ObjectNode event = event("consumed").put("topic", one.topic()).put("partition", one.partition());
                event.put("offset", one.offset()).put("key", text(one.key())).put("value", text(one.value()));
                ArrayNode headers = event.putArray("headers");
                for (Header header : one.headers()) {
                    headers.addArray().add(header.key()).add(text(header.value()));
                }
                say(event.put("timestamp", one.timestamp()));
                read.put(new TopicPartition(one.topic(), one.partition()), one.offset() + 1);
            }
        }

        void run(LinkedBlockingQueue<JsonNode> told) throws InterruptedException {
            say(event("ready"));
            while (held) {
                held = !told.take().get("do").asText().equals("subscribe");
                if (!held) {
                    subscribe();
                }
            }
            while (true) {
                try {
                    poll();
                } catch (RuntimeException failed) {
                    error(failed, null);
                }
                JsonNode command = told.poll();
                if (command == null) {
                    continue;
                }
                if (command.get("do").asText().equals("close")) {
                    consumer.close();
                    say(event("closed"));
                    return;
                }
                try {
                    ObjectNode event = event("committed");
                    event.set("positions", positions(commit(consumer.assignment())));
                    say(event);
                } catch (RuntimeException failed) {
                    error(failed, command.get("do").asText());
                }
            }
        }
    }

    // --- The producer ------------------------------------------------------------------------------------------

    private static final class Writer {
        private final KafkaProducer<byte[], byte[]> producer;

        Writer(JsonNode config) {
            boolean transactional = config.hasNonNull("transactional_id");
            Properties settings = new Properties();
            settings.put("bootstrap.servers", config.get("bootstrap").asText());
            settings.put("client.id", config.get("client_id").asText());
            settings.put("compression.type", config.path("codec").asText("none"));
            settings.put("enable.idempotence", transactional || config.path("idempotent").asBoolean(false));
            settings.put("acks", "all");
            settings.put("linger.ms", 5);
            settings.put("key.serializer", ByteArraySerializer.class.getName());
            settings.put("value.serializer", ByteArraySerializer.class.getName());
            if (transactional) {
                settings.put("transactional.id", config.get("transactional_id").asText());
            }
            producer = new KafkaProducer<>(settings);
            if (transactional) {
                producer.initTransactions();
            }
        }

        private ArrayNode send(JsonNode records) throws Exception {
            List<Future<RecordMetadata>> waiting = new ArrayList<>();
            for (JsonNode record : records) {
                List<Header> headers = new ArrayList<>();
                record.path("headers").forEach(row -> headers.add(new RecordHeader(row.get(0).asText(), data(row.get(1)))));
                Integer partition = record.hasNonNull("partition") ? record.get("partition").asInt() : null;
                Long timestamp = record.hasNonNull("timestamp") ? record.get("timestamp").asLong() : null;
                waiting.add(producer.send(new ProducerRecord<>(
                    record.get("topic").asText(), partition, timestamp, data(record.get("key")), data(record.get("value")), headers)));
            }
            ArrayNode rows = JSON.createArrayNode();
            for (Future<RecordMetadata> one : waiting) {
                RecordMetadata done = one.get(60, TimeUnit.SECONDS);
                rows.addArray().add(done.topic()).add(done.partition()).add(done.offset());
            }
            return rows;
        }

        private void obey(JsonNode command) throws Exception {
            switch (command.get("do").asText()) {
                case "send" -> {
                    ObjectNode event = event("sent");
                    event.set("positions", send(command.get("records")));
                    say(event);
                }
                case "begin" -> {
                    producer.beginTransaction();
                    say(event("begun"));
                }
                case "commit" -> {
                    producer.commitTransaction();
                    say(event("committed"));
                }
                case "abort" -> {
                    producer.abortTransaction();
                    say(event("aborted"));
                }
                case "send_offsets" -> {
                    ConsumerGroupMetadata group = new ConsumerGroupMetadata(command.get("group").asText());
                    producer.sendOffsetsToTransaction(positions(command.get("positions")), group);
                    say(event("offsets_sent"));
                }
                default -> throw new IllegalArgumentException("unknown command " + command);
            }
        }

        void run() throws InterruptedException {
            say(event("ready"));
            LinkedBlockingQueue<JsonNode> told = commands();
            while (true) {
                JsonNode command = told.take();
                String name = command.get("do").asText();
                if (name.equals("close")) {
                    producer.close();
                    say(event("closed"));
                    return;
                }
                try {
                    obey(command);
                } catch (Exception failed) {
                    error(failed, name);
                }
            }
        }
    }
}
