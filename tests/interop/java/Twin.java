import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Kafka's own Java consumers, many in one process, each with an application that does what a simulated one does.
 *
 * Lines of JSON on stdin: {"do": "start", "name": ..., "settings": {...}, "topics": [...], "pattern": ... or "regex": ... or "assigns": [...],
 * "policy": ..., "stubborn": ..., "poll_ms": ..., "error_pause_ms": ..., "tells": ..., "clean_up_ms": ..., "set_up_ms": ..., "throws": [...]}, then {"do": "close", "name": ...} and so on (tests/twins).
 * Lines on stdout: {"name": ..., "said": "assigned t-0 t-1"}. When stdin ends the process ends at once.
 */
public final class Twin {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration DEFAULT_CLOSE = Duration.ofSeconds(30);
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        Map<String, Application> running = new ConcurrentHashMap<>();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                JsonNode told = JSON.readTree(line);
                String name = told.get("name").asText();
                if (told.get("do").asText().equals("start")) {
                    Application application = new Application(name, told);
                    running.put(name, application);
                    application.start();
                } else {
                    running.get(name).tell(told);
                }
            }
        }
        OUT.flush();
        Runtime.getRuntime().halt(0);
    }

    private static synchronized void say(String name, String said) {
        ObjectNode line = JSON.createObjectNode().put("name", name).put("said", said);
        OUT.print(line + "\n");
        OUT.flush();
    }

    /** One consumer and its thread. */
    private static final class Application extends Thread implements ConsumerRebalanceListener {
        final LinkedBlockingQueue<JsonNode> told = new LinkedBlockingQueue<>();
        private final String name;
        private final JsonNode config;
        private final String policy;
        private final Map<TopicPartition, OffsetAndMetadata> finished = new HashMap<>();
        private final Set<String> thrown = new HashSet<>();
        private boolean idle;
        private volatile KafkaConsumer<byte[], byte[]> consumer;

        Application(String name, JsonNode config) {
            super("application of " + name);
            this.name = name;
            this.config = config;
            this.policy = config.path("policy").asText("auto");
            setDaemon(true);
        }

        /** A command from outside: it interrupts a poll, as whoever shuts an application down does. */
        void tell(JsonNode command) {
            told.add(command);
            KafkaConsumer<byte[], byte[]> made = consumer;
            if (made != null) { // a busy machine may be slow to make it
                made.wakeup();
            }
        }

        @Override
        public void run() {
            try {
                Properties settings = new Properties();
                config.get("settings").properties().forEach(one -> settings.put(one.getKey(), one.getValue().asText()));
                settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
                settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
                consumer = new KafkaConsumer<>(settings);
                if (config.path("assigns").size() > 0) {
                    List<TopicPartition> partitions = new ArrayList<>();
                    texts(config.get("assigns")).forEach(one -> partitions.add(partition(one)));
                    consumer.assign(partitions);
                } else if (config.hasNonNull("regex")) {
                    Newer.subscribe(consumer, config.get("regex").asText(), this);
                } else if (config.hasNonNull("pattern")) {
                    consumer.subscribe(Pattern.compile(config.get("pattern").asText()), this);
                } else {
                    consumer.subscribe(texts(config.get("topics")), this);
                }
                live();
            } catch (Throwable failed) {
                say(name, "error " + failed);
            }
        }

        private void live() throws InterruptedException {
            Duration wait = Duration.ofMillis(config.path("poll_ms").asInt(20));
            while (true) {
                JsonNode command = told.poll();
                try {
                    if (command != null && carriedOut(command)) {
                        return;
                    }
                    if (idle) {
                        Thread.sleep(20);
                    } else {
                        finish(Newer.poll(consumer, wait));
                    }
                } catch (WakeupException woken) {
                    // there is something to be done
                } catch (RuntimeException failed) {
                    say(name, "threw " + failed.getClass().getSimpleName() + " # " + failed.getMessage());
                    if (!config.path("stubborn").asBoolean(false)) {
                        close(null);
                        return;
                    }
                    Thread.sleep(config.path("error_pause_ms").asInt(100));
                }
            }
        }

        /** Carry a command out; true when it was the last one. */
        private boolean carriedOut(JsonNode command) throws InterruptedException {
            switch (command.get("do").asText()) {
                case "close":
                    close(command.get("leave"));
                    return true;
                case "end":
                    if (!Newer.close(consumer, false, Duration.ZERO)) {
                        Newer.close(consumer, Duration.ZERO);
                    }
                    return true;
                case "block":
                    Thread.sleep(command.get("ms").asLong());
                    return false;
                case "subscribe":
                    consumer.subscribe(texts(command.get("topics")), this);
                    idle = false;
                    return false;
                case "regex":
                    Newer.subscribe(consumer, command.get("regex").asText(), this);
                    idle = false;
                    return false;
                case "wake":
                    return false; // the poll that was interrupted was all of it
                case "commit":
                    commit(command.get("offset").asLong());
                    return false;
                case "committed":
                    Newer.committed(consumer);
                    return false;
                case "unsubscribe":
                    consumer.unsubscribe();
                    idle = true; // without a subscription poll throws
                    return false;
                case "enforce":
                    Newer.enforce(consumer, command.get("reason").asText());
                    return false;
                default:
                    throw new IllegalArgumentException(command.toString());
            }
        }

        private void close(JsonNode leave) {
            try {
                if (leave == null || leave.isNull()) {
                    consumer.close();
                } else {
                    Newer.close(consumer, leave.asBoolean(), DEFAULT_CLOSE);
                }
            } catch (RuntimeException failed) {
                say(name, "close threw " + failed.getClass().getSimpleName() + " # " + failed.getMessage());
            }
            say(name, "closed");
        }

        /** The application has finished a batch: commit by its policy, partition by partition what it has finished. */
        private void finish(ConsumerRecords<byte[], byte[]> records) {
            for (ConsumerRecord<byte[], byte[]> one : records) {
                finished.put(new TopicPartition(one.topic(), one.partition()), Newer.after(one));
                if (config.path("tells").asBoolean(false)) {
                    say(name, "got " + one.topic() + "-" + one.partition() + "@" + one.offset());
                }
            }
            if (records.isEmpty() || finished.isEmpty()) {
                return;
            }
            if (policy.equals("sync-after-batch")) {
                consumer.commitSync(new HashMap<>(finished));
                finished.clear();
            } else if (policy.equals("async-after-batch")) {
                consumer.commitAsync(new HashMap<>(finished), (offsets, failed) -> {
                    if (failed == null) {
                        finished.entrySet().removeAll(offsets.entrySet());
                    }
                });
            }
        }

        /** Commit the same offset of all partitions it has. */
        private void commit(long offset) {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            consumer.assignment().forEach(one -> offsets.put(one, new OffsetAndMetadata(offset)));
            consumer.commitSync(offsets);
        }

        /** A callback takes its time, and throws at its first call where the story has it. */
        private void called(String what, String takes) {
            try {
                Thread.sleep(config.path(takes).asLong(0));
            } catch (InterruptedException ended) {
                throw new IllegalStateException(ended);
            }
            if (texts(config.path("throws")).contains(what) && thrown.add(what)) {
                throw new IllegalStateException(what);
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            say(name, "assigned " + named(partitions));
            called("assigned", "set_up_ms");
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            say(name, "revoked " + named(partitions));
            finished.keySet().retainAll(consumer.assignment());
            if (!policy.equals("auto") && !policy.equals("never") && !finished.isEmpty()) {
                try {
                    consumer.commitSync(new HashMap<>(finished));
                    finished.clear();
                } catch (RuntimeException failed) {
                    // the application swallows it
                }
            }
            called("revoked", "clean_up_ms");
        }

        /** Of older clients no interface has it. */
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            say(name, "lost " + named(partitions));
            called("lost", "clean_up_ms");
        }

        private static String named(Collection<TopicPartition> partitions) {
            List<String> names = new ArrayList<>();
            partitions.forEach(one -> names.add(one.toString()));
            return String.join(" ", names);
        }

        private static TopicPartition partition(String named) {
            int cut = named.lastIndexOf('-');
            return new TopicPartition(named.substring(0, cut), Integer.parseInt(named.substring(cut + 1)));
        }

        private static List<String> texts(JsonNode rows) {
            List<String> found = new ArrayList<>();
            rows.forEach(row -> found.add(row.asText()));
            return found;
        }
    }

    /** What older clients do not have, looked for as it runs: this file is compiled with each of them. */
    private static final class Newer {
        private static final String OPTIONS = "org.apache.kafka.clients.consumer.CloseOptions";

        /** Close, and leave the group or stay in it; false, with nothing done, before 4.1. */
        static boolean close(KafkaConsumer<?, ?> consumer, boolean leave, Duration wait) {
            try {
                Class<?> options = Class.forName(OPTIONS);
                Class<?> operation = Class.forName(OPTIONS + "$GroupMembershipOperation");
                Object what = operation.getField(leave ? "LEAVE_GROUP" : "REMAIN_IN_GROUP").get(null);
                Object asked = options.getMethod("groupMembershipOperation", operation).invoke(null, what);
                asked = options.getMethod("withTimeout", Duration.class).invoke(asked, wait);
                KafkaConsumer.class.getMethod("close", options).invoke(consumer, asked);
                return true;
            } catch (InvocationTargetException failed) {
                throw (RuntimeException) failed.getCause();
            } catch (ReflectiveOperationException older) {
                return false;
            }
        }

        /** Close within some time. Before 2.0 it is a number and its unit, before 0.11 there is no such call. */
        static void close(KafkaConsumer<?, ?> consumer, Duration wait) {
            try {
                call(consumer, "close", new Class<?>[] {Duration.class}, wait);
            } catch (NoSuchMethodException older) {
                consumer.close();
            }
        }

        /** Subscribe to what the broker finds to match a pattern; before 4.0 there is no such call. */
        static void subscribe(KafkaConsumer<?, ?> consumer, String regex, ConsumerRebalanceListener listener) {
            try {
                Class<?> pattern = Class.forName("org.apache.kafka.clients.consumer.SubscriptionPattern");
                Object given = pattern.getConstructor(String.class).newInstance(regex);
                call(consumer, "subscribe", new Class<?>[] {pattern, ConsumerRebalanceListener.class}, given, listener);
            } catch (ReflectiveOperationException older) {
                throw new UnsupportedOperationException("no pattern of the broker", older);
            }
        }

        /** Enforce a rebalance; the reason is left out before 3.2. Before 2.4 nothing can be enforced. */
        static void enforce(KafkaConsumer<?, ?> consumer, String reason) {
            try {
                call(consumer, "enforceRebalance", new Class<?>[] {String.class}, reason);
            } catch (NoSuchMethodException older) {
                try {
                    call(consumer, "enforceRebalance", new Class<?>[0]);
                } catch (NoSuchMethodException oldest) {
                    throw new UnsupportedOperationException("no rebalance can be enforced", oldest);
                }
            }
        }

        /** Look up the committed offsets of what it owns; before 2.4 each partition is asked for by itself. */
        static void committed(KafkaConsumer<?, ?> consumer) {
            try {
                call(consumer, "committed", new Class<?>[] {java.util.Set.class}, consumer.assignment());
            } catch (NoSuchMethodException older) {
                for (TopicPartition partition : consumer.assignment()) {
                    committed(consumer, partition);
                }
            }
        }

        private static void committed(KafkaConsumer<?, ?> consumer, TopicPartition partition) {
            try {
                call(consumer, "committed", new Class<?>[] {TopicPartition.class}, partition);
            } catch (NoSuchMethodException none) {
                throw new IllegalStateException(none);
            }
        }

        /** Poll; before 2.0 the time is a number of milliseconds. */
        @SuppressWarnings("unchecked")
        static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer, Duration wait) {
            try {
                return (ConsumerRecords<byte[], byte[]>) call(consumer, "poll", new Class<?>[] {Duration.class}, wait);
            } catch (NoSuchMethodException older) {
                try {
                    return (ConsumerRecords<byte[], byte[]>) call(consumer, "poll", new Class<?>[] {long.class},
                        wait.toMillis());
                } catch (NoSuchMethodException none) {
                    throw new IllegalStateException(none);
                }
            }
        }

        /** What to commit after a record; before 2.1 without a leader epoch. */
        static OffsetAndMetadata after(ConsumerRecord<?, ?> record) {
            try {
                Object epoch = call(record, "leaderEpoch", new Class<?>[0]);
                return OffsetAndMetadata.class.getConstructor(long.class, Optional.class, String.class)
                    .newInstance(record.offset() + 1, epoch, "");
            } catch (ReflectiveOperationException older) {
                return new OffsetAndMetadata(record.offset() + 1);
            }
        }

        private static Object call(Object of, String name, Class<?>[] types, Object... given)
            throws NoSuchMethodException {
            try {
                return of.getClass().getMethod(name, types).invoke(of, given);
            } catch (InvocationTargetException failed) {
                throw (RuntimeException) failed.getCause();
            } catch (IllegalAccessException closed) {
                throw new IllegalStateException(closed);
            }
        }
    }
}
