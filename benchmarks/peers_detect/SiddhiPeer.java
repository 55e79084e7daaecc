import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;

/**
 * Runs a workload on Siddhi: `SiddhiPeer FILE EVENTS WORKLOAD WINDOW_MS WARM_UP FORM PROFILES`.
 *
 * <p>In the form `one` all events are in one stream, and queries filter by type. In the form `streams` there is a
 * stream for each type, and whoever feeds chooses it, so that events of other types meet no query.
 */
public final class SiddhiPeer {
    private static final int TYPES = 10;
    private static long matches;

    private final boolean split;
    private final TreeSet<Integer> used = new TreeSet<>();

    private SiddhiPeer(boolean split) {
        this.split = split;
    }

    public static void main(String[] arguments) throws Exception {
        int events = Integer.parseInt(arguments[1]);
        Workload workload = Workload.read(Path.of(arguments[0]), events);
        long window = Long.parseLong(arguments[3]);
        SiddhiPeer peer = new SiddhiPeer(arguments[5].equals("streams"));
        String app = arguments[2].equals("many")
                ? peer.byKey(peer.many(Workload.profiles(Path.of(arguments[6]))))
                : peer.queries(arguments[2], window);
        peer.run(app, workload, Integer.parseInt(arguments[4]), window);
        matches = 0;
        long start = System.nanoTime();
        long cpu = Workload.cpuNanos();
        peer.run(app, workload, events, window);
        Workload.report(System.nanoTime() - start, Workload.cpuNanos() - cpu, matches);
        System.exit(0);
    }

    private String queries(String name, long window) {
        String within = " within " + window + " milliseconds";
        switch (name) {
            case "pair":
                return byKey(join(type(0), type(1), window));
            case "pair_first":
                return byKey("from every a=" + type(0) + " -> b=" + type(1) + within
                        + " select a.id as a, b.id as b insert into Out;");
            case "and3":
                return byKey(and(window));
            case "negated_first":
                return byKey("from every a=" + type(0) + " -> " + firstOfTwo() + " -> d=" + type(3) + within
                        + " select a.id as a, b.id as b, c.id as c, d.id as d insert into Out;");
            case "absence":
                // Inside a partition it is slower, and absences that end after a key's last event get lost.
                return "from every a=" + type(0) + " -> not " + type(1, "key == a.key") + " for " + window
                        + " milliseconds select a.id as a insert into Out;";
            default:
                throw new IllegalArgumentException(name);
        }
    }

    /** Each a with each b: `every a -> b` would take the first b only. */
    private String join(String first, String second, long window) {
        return "from " + second + "#window.length(1) as b unidirectional join " + first + frame(window)
                + " as a on b.time - a.time <= " + window + "L select a.id as a, b.id as b insert into Out;";
    }

    /** Each a, b and c in one window. */
    private String and(long window) {
        return "from " + type(0) + frame(window) + " as a join " + type(1) + frame(window) + " as b"
                + " on maximum(a.time, b.time) - minimum(a.time, b.time) <= " + window + "L"
                + " select a.id as a, b.id as b, minimum(a.time, b.time) as low,"
                + " maximum(a.time, b.time) as time insert into #Ab;"
                + " from #Ab" + frame(window) + " as ab join " + type(2) + frame(window) + " as c"
                + " on maximum(ab.time, c.time) - minimum(ab.low, c.time) <= " + window + "L"
                + " select ab.a as a, ab.b as b, c.id as c insert into Out;";
    }

    /** A b before any n, then a c. In one stream `not n and b` forgets all but one of several a that wait. */
    private String firstOfTwo() {
        if (split) return "not " + type(4) + " and b=" + type(1) + " -> c=" + type(2);
        return "b=S[type == 1 or type == 4] -> c=S[type == 2 and b.type == 1]";
    }

    private String many(List<Workload.Profile> profiles) {
        StringBuilder queries = new StringBuilder();
        for (Workload.Profile profile : profiles) {
            String values = "value >= " + profile.low() + " and value < " + profile.high();
            queries.append(join(type(profile.first(), values), type(profile.second()), profile.window()));
        }
        return queries.toString();
    }

    private static String frame(long window) {
        return "#window.externalTime(time, " + window + " milliseconds)";
    }

    private String type(int type) {
        used.add(type);
        return split ? "T" + type : "S[type == " + type + "]";
    }

    private String type(int type, String condition) {
        used.add(type);
        return split ? "T" + type + "[" + condition + "]" : "S[type == " + type + " and " + condition + "]";
    }

    /** Queries for each key by itself. */
    private String byKey(String queries) {
        String keys = split ? String.join(", ", used.stream().map(type -> "key of T" + type).toList()) : "key of S";
        return "partition with (" + keys + ") begin " + queries + " end;";
    }

    private static String define(String stream) {
        return " define stream " + stream + " (id long, key int, type int, time long, value double);";
    }

    private String streams() {
        StringBuilder streams = new StringBuilder(define("S"));
        for (int type = 0; type < TYPES; type++) streams.append(define("T" + type));
        return streams.toString();
    }

    /** Feeds events by their own times, and then moves the clock past the last window, which ends the absences. */
    private void run(String queries, Workload workload, int events, long window) throws Exception {
        SiddhiManager manager = new SiddhiManager();
        SiddhiAppRuntime app = manager.createSiddhiAppRuntime(
                "@app:playback define stream Clock (end bool);" + streams() + queries);
        app.addCallback("Out", new StreamCallback() {
            @Override
            public void receive(Event[] found) {
                matches += found.length;
            }
        });
        InputHandler[] inputs = new InputHandler[TYPES];
        for (int type = 0; type < TYPES; type++) inputs[type] = app.getInputHandler(split ? "T" + type : "S");
        InputHandler clock = app.getInputHandler("Clock");
        app.start();
        for (int i = 0; i < events; i++) {
            inputs[workload.types[i]].send(workload.times[i], new Object[] {
                (long) i, workload.keys[i], (int) workload.types[i], workload.times[i], workload.values[i]
            });
        }
        clock.send(workload.times[events - 1] + window + 1, new Object[] {true});
        app.shutdown();
        manager.shutdown();
    }
}
