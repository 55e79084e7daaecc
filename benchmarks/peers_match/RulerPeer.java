import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import software.amazon.event.ruler.GenericMachine;

/**
 * event-ruler on one workload: {@code RulerPeer PROFILES EVENTS ANSWERS}.
 *
 * <p>Profiles are rules, one a line, events are JSON, one a line. Answers are written a line an event: the numbers of
 * profiles. Two forms are timed: {@code given} takes an event that Jackson has parsed, {@code text} takes its text.
 */
final class RulerPeer {
    private static final int RUNS = 9;
    private static final double WARM_UP_S = 2;
    /** Processor time comes in steps of some milliseconds, so that a run has to be long. */
    private static final double RUN_S = 0.5;

    private static final double ENOUGH_S = 10;

    private interface Search {
        int matches(int event) throws Exception;
    }

    public static void main(String[] files) throws Exception {
        double start = cpuSeconds();
        GenericMachine<Integer> machine = new GenericMachine<>();
        int number = 0;
        for (String rule : Files.readAllLines(Path.of(files[0]))) machine.addRule(number++, rule);
        double build = cpuSeconds() - start;
        List<String> texts = Files.readAllLines(Path.of(files[1]));
        List<JsonNode> events = new ArrayList<>();
        ObjectMapper mapper = new ObjectMapper();
        for (String text : texts) events.add(mapper.readTree(text));
        StringBuilder answers = new StringBuilder();
        for (String text : texts) {
            for (int found : machine.rulesForJSONEvent(text)) answers.append(found).append(' ');
            answers.append('\n');
        }
        Files.writeString(Path.of(files[2]), answers);
        double given = best(events.size(), at -> machine.rulesForJSONEvent(events.get(at)).size());
        double text = best(events.size(), at -> machine.rulesForJSONEvent(texts.get(at)).size());
        System.out.printf(Locale.ROOT, "{\"build\": %.6f, \"given\": %.6f, \"text\": %.6f}%n", build, given, text);
    }

    /** The least time of several runs over all events, once the compiler is warm. */
    private static double best(int events, Search search) throws Exception {
        double start = cpuSeconds();
        int passes = 0;
        for (; passes == 0 || cpuSeconds() - start < WARM_UP_S; passes++) run(events, search, 1);
        int enough = (int) Math.ceil(passes * RUN_S / (cpuSeconds() - start));
        double least = Double.MAX_VALUE;
        double total = 0;
        for (int i = 0; i < RUNS && total < ENOUGH_S; i++) {
            double seconds = run(events, search, enough);
            least = Math.min(least, seconds / enough);
            total += seconds;
        }
        return least;
    }

    private static long used;

    private static double run(int events, Search search, int passes) throws Exception {
        double start = cpuSeconds();
        for (int pass = 0; pass < passes; pass++) for (int at = 0; at < events; at++) used += search.matches(at);
        return cpuSeconds() - start;
    }

    /** Processor time of all threads of this process, those of the compiler and the collector included. */
    private static double cpuSeconds() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                        .getProcessCpuTime()
                / 1e9;
    }
}
