// Writes a segment with Kafka's own classes: `java -cp <jars> WriteSegment.java <folder>`. What it holds is told again,
// by the same rules, in test_kafka_interop.py.

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogSegment;

public class WriteSegment {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("index.interval.bytes", 1000);
        LogSegment segment =
            LogSegment.open(new File(arguments[0]), 0L, new LogConfig(settings), Time.SYSTEM, 0, false);
        long offset = 0;
        for (int number = 0; number < 100; number++) {
            MemoryRecords records = batch(number, offset);
            offset = records.batches().iterator().next().nextOffset();
            segment.append(offset - 1, records);
        }
        segment.onBecomeInactiveSegment();
        segment.flush();
        segment.close();
    }

    static MemoryRecords batch(int number, long offset) {
        int epoch = number / 30;
        if (number % 25 == 24)
            return MemoryRecords.withEndTransactionMarker(offset, 1000 + 10 * number, epoch, 77L, (short) 3,
                new EndTransactionMarker(number % 2 == 0 ? ControlRecordType.COMMIT : ControlRecordType.ABORT, 5));
        SimpleRecord[] records = new SimpleRecord[number % 5 + 1];
        for (int index = 0; index < records.length; index++)
            records[index] = record(number, index);
        Compression compression = number % 20 == 7 ? Compression.gzip().build() : Compression.NONE;
        if (number % 3 == 1)
            return MemoryRecords.withIdempotentRecords(offset, compression, 42L, (short) 1, number * 10, epoch, records);
        if (number % 3 == 2)
            return MemoryRecords.withTransactionalRecords(offset, compression, 77L, (short) 3, number * 10, epoch, records);
        return MemoryRecords.withRecords(offset, compression, epoch, records);
    }

    static SimpleRecord record(int number, int index) {
        byte[] key = number % 4 == 0 ? null : ("key-" + number).getBytes(StandardCharsets.UTF_8);
        byte[] value = number % 10 == 3 ? null : "v".repeat(number * 3 % 200 + index).getBytes(StandardCharsets.UTF_8);
        Header[] headers = number % 6 == 0
            ? new Header[] {new RecordHeader("trace", ("" + index).getBytes()), new RecordHeader("none", (byte[]) null)}
            : new Header[0];
        return new SimpleRecord(1000 + 10L * number - index, key, value, headers);
    }
}
