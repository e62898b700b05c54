import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.junit.jupiter.api.Test;

class RebalanceTest {
    private final List<String> callbacks = new ArrayList<>();
    private final String group = "payments-" + UUID.randomUUID();

    @Test
    void aRebalanceRevokesAllPartitionsAndAssignsThemAgain() throws Exception {
        try (Groupsim groupsim = Groupsim.start(); KafkaConsumer<String, String> consumer = consumer(groupsim)) {
            consumer.subscribe(List.of("orders"), new Listener());
            pollUntil(consumer, () -> callbacks.size() == 1);
            int generation = consumer.groupMetadata().generationId();

            groupsim.post("/actions", "{\"do\": \"force-rebalance\", \"group\": \"" + group + "\"}");

            pollUntil(consumer, () -> callbacks.size() == 3);
            assertEquals(List.of("assigned 4", "revoked 4", "assigned 4"), callbacks);
            assertEquals(generation + 1, consumer.groupMetadata().generationId());
        }
    }

    private KafkaConsumer<String, String> consumer(Groupsim groupsim) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", groupsim.bootstrap,
            "group.id", group,
            "heartbeat.interval.ms", 500);
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static void pollUntil(KafkaConsumer<?, ?> consumer, BooleanSupplier condition) {
        Instant end = Instant.now().plusSeconds(30);
        while (!condition.getAsBoolean()) {
            assertTrue(Instant.now().isBefore(end), "not within 30 s");
            consumer.poll(Duration.ofMillis(100));
        }
    }

    private final class Listener implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            callbacks.add("assigned " + partitions.size());
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            callbacks.add("revoked " + partitions.size());
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            callbacks.add("lost " + partitions.size());
        }
    }
}
