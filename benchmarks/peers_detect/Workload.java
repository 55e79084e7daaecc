import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The events of a run as arrays, and what a peer says about it. */
final class Workload {
    final int[] keys;
    final byte[] types;
    final long[] times;
    final double[] values;

    private Workload(int events) {
        keys = new int[events];
        types = new byte[events];
        times = new long[events];
        values = new double[events];
    }

    /** A profile of the workload `many`: its pair of types, the values of the first, the window in milliseconds. */
    record Profile(int first, int second, double low, double high, long window) {}

    /** Reads the columns one after the other: keys, types, times, values. */
    static Workload read(Path file, int events) throws IOException {
        Workload workload = new Workload(events);
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer bytes =
                    channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()).order(ByteOrder.LITTLE_ENDIAN);
            for (int i = 0; i < events; i++) workload.keys[i] = bytes.getInt();
            bytes.get(workload.types);
            for (int i = 0; i < events; i++) workload.times[i] = bytes.getLong();
            for (int i = 0; i < events; i++) workload.values[i] = bytes.getDouble();
        }
        return workload;
    }

    /** Reads a profile from each line. */
    static List<Profile> profiles(Path file) throws IOException {
        List<Profile> profiles = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            String[] parts = line.split("\t");
            profiles.add(new Profile(
                    Integer.parseInt(parts[0]),
                    Integer.parseInt(parts[1]),
                    Double.parseDouble(parts[2]),
                    Double.parseDouble(parts[3]),
                    Long.parseLong(parts[4])));
        }
        return profiles;
    }

    /** Processor time of all threads of this process, those of the compiler and the collector included. */
    static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    static void report(long nanos, long cpuNanos, long matches) {
        System.out.printf(
                Locale.ROOT,
                "{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"matches\": %d}%n",
                nanos / 1e9,
                cpuNanos / 1e9,
                matches);
    }
}
