import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;

/** The same look-ups by Kafka's own client: every group with its committed offsets, start and end of every partition. */
public class Cycle {
    public static void main(String[] arguments) throws Exception {
        var properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        var interval = Long.parseLong(arguments[1]);
        try (var admin = Admin.create(properties)) {
            while (true) {
                var began = System.nanoTime();
                var counts = cycle(admin);
                var took = System.nanoTime() - began;
                System.out.printf("cycle %.3f ms, %d partitions, %d committed%n", took / 1e6, counts[0], counts[1]);
                Thread.sleep(Math.max(0, interval - Duration.ofNanos(took).toMillis()));
            }
        }
    }

    private static int[] cycle(Admin admin) throws Exception {
        var groups = admin.listGroups().all().get().stream().map(one -> one.groupId()).collect(Collectors.toSet());
        admin.describeConsumerGroups(groups).all().get();
        var all = groups.stream().collect(Collectors.toMap(one -> one, one -> new ListConsumerGroupOffsetsSpec()));
        var offsets = admin.listConsumerGroupOffsets(all).all().get();
        var topics = admin.describeTopics(admin.listTopics().names().get()).allTopicNames().get();
        Map<TopicPartition, OffsetSpec> starts = new HashMap<>();
        Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
        topics.forEach((name, topic) -> topic.partitions().forEach(one -> {
            starts.put(new TopicPartition(name, one.partition()), OffsetSpec.earliest());
            ends.put(new TopicPartition(name, one.partition()), OffsetSpec.latest());
        }));
        var start = admin.listOffsets(starts);
        var end = admin.listOffsets(ends);
        start.all().get();
        return new int[] {end.all().get().size(), offsets.values().stream().mapToInt(Map::size).sum()};
    }
}
