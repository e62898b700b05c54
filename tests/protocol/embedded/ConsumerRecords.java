import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;

/** Reads lines of a key and a value in hexadecimal digits with Kafka's serde, and prints what it writes of them. */
public class ConsumerRecords {
    public static void main(String[] arguments) throws Exception {
        GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        HexFormat hex = HexFormat.of();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ");
            CoordinatorRecord record =
                serde.deserialize(ByteBuffer.wrap(hex.parseHex(parts[0])), ByteBuffer.wrap(hex.parseHex(parts[1])));
            System.out.println(hex.formatHex(serde.serializeKey(record)) + " " + hex.formatHex(serde.serializeValue(record)));
        }
    }
}
