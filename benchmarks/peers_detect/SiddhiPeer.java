import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Runs a workload on Siddhi: `SiddhiPeer FILE EVENTS WORKLOAD WINDOW_MS WARM_UP [PROFILES]`.
 *
 * <p>`every A -> B` gives each A with the first B after it. Where every B is wanted, the query is a join of windows.
 */
public final class SiddhiPeer {
    private static long matches;

    public static void main(String[] arguments) throws Exception {
        int events = Integer.parseInt(arguments[1]);
        Workload workload = Workload.read(Path.of(arguments[0]), events);
        long window = Long.parseLong(arguments[3]);
        String queries = arguments[2].equals("many")
                ? many(Workload.profiles(Path.of(arguments[5])))
                : queries(arguments[2], window);
        run(queries, workload, Integer.parseInt(arguments[4]), window);
        matches = 0;
        long start = System.nanoTime();
        long cpu = Workload.cpuNanos();
        run(queries, workload, events, window);
        Workload.report(System.nanoTime() - start, Workload.cpuNanos() - cpu, matches);
        System.exit(0);
    }

    private static String queries(String name, long window) {
        String within = " within " + window + " milliseconds ";
        String frame = "#window.externalTime(time, " + window + " milliseconds)";
        switch (name) {
            case "pair":
                return "from S[type == 1] as b unidirectional join S[type == 0]" + frame + " as a"
                        + " on b.time - a.time <= " + window + "L"
                        + " select a.id as a, b.id as b insert into Out;";
            case "pair_first":
                return "from every a=S[type == 0] -> b=S[type == 1]" + within
                        + "select a.id as a, b.id as b insert into Out;";
            case "and3":
                return "from S[type == 0]" + frame + " as a join S[type == 1]" + frame + " as b"
                        + " on maximum(a.time, b.time) - minimum(a.time, b.time) <= " + window + "L"
                        + " select a.id as a, b.id as b, minimum(a.time, b.time) as low,"
                        + " maximum(a.time, b.time) as time insert into #Ab;"
                        + " from #Ab" + frame + " as ab join S[type == 2]" + frame + " as c"
                        + " on maximum(ab.time, c.time) - minimum(ab.low, c.time) <= " + window + "L"
                        + " select ab.a as a, ab.b as b, c.id as c insert into Out;";
            case "negated_first":
                return "from every a=S[type == 0] -> not S[type == 4] and b=S[type == 1]"
                        + " -> c=S[type == 2] -> d=S[type == 3]" + within
                        + "select a.id as a, b.id as b, c.id as c, d.id as d insert into Out;";
            case "absence":
                return "from every a=S[type == 0] -> not S[type == 1] for " + window + " milliseconds"
                        + " select a.id as a insert into Out;";
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static String many(List<Workload.Profile> profiles) {
        StringBuilder queries = new StringBuilder();
        for (Workload.Profile profile : profiles) {
            queries.append(String.format(
                    Locale.ROOT,
                    "from S[type == %2$d] as b unidirectional"
                            + " join S[type == %1$d and value >= %3$s and value < %4$s]"
                            + "#window.externalTime(time, %5$d milliseconds) as a on b.time - a.time <= %5$dL"
                            + " select a.id as a, b.id as b insert into Out;%n",
                    profile.first(), profile.second(), profile.low(), profile.high(), profile.window()));
        }
        return queries.toString();
    }

    /** Feeds events by their own times, and then one of no type past the last window, which ends the absences. */
    private static void run(String queries, Workload workload, int events, long window) throws Exception {
        SiddhiManager manager = new SiddhiManager();
        SiddhiAppRuntime app = manager.createSiddhiAppRuntime(
                "@app:playback define stream S (id long, key int, type int, time long, value double);"
                        + " partition with (key of S) begin " + queries + " end;");
        app.addCallback("Out", new StreamCallback() {
            @Override
            public void receive(Event[] found) {
                matches += found.length;
            }
        });
        InputHandler input = app.getInputHandler("S");
        app.start();
        for (int i = 0; i < events; i++) {
            input.send(workload.times[i], new Object[] {
                (long) i, workload.keys[i], (int) workload.types[i], workload.times[i], workload.values[i]
            });
        }
        long end = workload.times[events - 1] + window + 1;
        input.send(end, new Object[] {-1L, workload.keys[0], -1, end, 0.0});
        app.shutdown();
        manager.shutdown();
    }
}
