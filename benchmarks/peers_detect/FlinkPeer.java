import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * Runs a workload on Flink CEP: `FlinkPeer FILE EVENTS WORKLOAD WINDOW_MS WARM_UP FORM PROFILES`.
 *
 * <p>One task slot, event time, watermarks as the times ascend, objects reused, state on the heap, no checkpoints. In
 * the form `filtered` events of types that a pattern does not name are dropped before it; that does not change what
 * `followedBy` and `followedByAny` find.
 */
public final class FlinkPeer {
    private static final LongAdder MATCHES = new LongAdder();
    private static final AtomicLong END = new AtomicLong();
    private static final AtomicLong END_CPU = new AtomicLong();
    private static Workload workload;
    private static volatile long start;
    private static volatile long startCpu;

    /** What flows. */
    public static final class Event {
        public long id;
        public int key;
        public int type;
        public long time;
        public double value;
    }

    public static void main(String[] arguments) throws Exception {
        int events = Integer.parseInt(arguments[1]);
        workload = Workload.read(Path.of(arguments[0]), events);
        boolean filtered = arguments[5].equals("filtered");
        List<Query> queries = arguments[2].equals("many")
                ? Workload.profiles(Path.of(arguments[6])).stream().map(FlinkPeer::pair).toList()
                : List.of(query(arguments[2], Duration.ofMillis(Long.parseLong(arguments[3]))));
        run(queries, Integer.parseInt(arguments[4]), filtered);
        MATCHES.reset();
        run(queries, events, filtered);
        Workload.report(END.get() - start, END_CPU.get() - startCpu, MATCHES.sum());
        System.exit(0);
    }

    /** A pattern, and the types it names, as bits. */
    private record Query(Pattern<Event, ?> pattern, int types) {}

    private static Query query(String name, Duration window) {
        int types = name.startsWith("pair") || name.equals("absence") ? 0b11 : name.equals("and3") ? 0b111 : 0b11111;
        return new Query(pattern(name).within(window), types);
    }

    private static Pattern<Event, Event> pattern(String name) {
        Pattern<Event, Event> first = Pattern.<Event>begin("a").where(isType(0));
        switch (name) {
            case "pair":
                return first.followedByAny("b").where(isType(1));
            case "pair_first":
                return first.followedBy("b").where(isType(1));
            case "and3":
                return Pattern.<Event>begin("x")
                        .where(SimpleCondition.of(event -> event.type <= 2))
                        .followedByAny("y")
                        .where(new OtherType("x"))
                        .followedByAny("z")
                        .where(new OtherType("x", "y"));
            case "negated":
                return first.notFollowedBy("n").where(isType(4))
                        .followedByAny("b").where(isType(1))
                        .followedByAny("c").where(isType(2))
                        .followedByAny("d").where(isType(3));
            case "negated_first":
                return first.notFollowedBy("n").where(isType(4))
                        .followedBy("b").where(isType(1))
                        .followedBy("c").where(isType(2))
                        .followedBy("d").where(isType(3));
            case "absence":
                return first.notFollowedBy("b").where(isType(1));
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static Query pair(Workload.Profile profile) {
        int type = profile.first();
        double low = profile.low();
        double high = profile.high();
        Pattern<Event, Event> pattern = Pattern.<Event>begin("a")
                .where(SimpleCondition.of(event -> event.type == type && event.value >= low && event.value < high))
                .followedByAny("b")
                .where(isType(profile.second()))
                .within(Duration.ofMillis(profile.window()));
        return new Query(pattern, 1 << type | 1 << profile.second());
    }

    private static SimpleCondition<Event> isType(int type) {
        return SimpleCondition.of(event -> event.type == type);
    }

    /** One of the three types that no earlier part has: Flink has no conjunction. */
    private static final class OtherType extends IterativeCondition<Event> {
        private final String[] parts;

        OtherType(String... parts) {
            this.parts = parts;
        }

        @Override
        public boolean filter(Event event, Context<Event> context) throws Exception {
            if (event.type > 2) return false;
            for (String part : parts) {
                Iterator<Event> earlier = context.getEventsForPattern(part).iterator();
                if (earlier.next().type == event.type) return false;
            }
            return true;
        }
    }

    private static final class Count extends PatternProcessFunction<Event, Long> {
        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            MATCHES.increment();
        }

        @Override
        public void close() {
            END.accumulateAndGet(System.nanoTime(), Math::max);
            END_CPU.accumulateAndGet(Workload.cpuNanos(), Math::max);
        }
    }

    /** The event at a position; the clock starts with the first. */
    private static Event event(long position) {
        int i = (int) position;
        if (i == 0) {
            END.set(Long.MIN_VALUE);
            startCpu = Workload.cpuNanos();
            start = System.nanoTime();
        }
        Event event = new Event();
        event.id = position;
        event.key = workload.keys[i];
        event.type = workload.types[i];
        event.time = workload.times[i];
        event.value = workload.values[i];
        return event;
    }

    private static void run(List<Query> queries, int events, boolean filtered) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        environment.setRuntimeMode(RuntimeExecutionMode.STREAMING);
        environment.getConfig().enableObjectReuse();
        DataStream<Event> stream = environment
                .fromSequence(0, events - 1)
                .map(FlinkPeer::event)
                .returns(Event.class)
                .assignTimestampsAndWatermarks(WatermarkStrategy.<Event>forMonotonousTimestamps()
                        .withTimestampAssigner((event, earlier) -> event.time));
        for (Query query : queries) {
            int types = query.types();
            DataStream<Event> wanted = filtered ? stream.filter(event -> (types >> event.type & 1) != 0) : stream;
            CEP.pattern(wanted.keyBy(event -> event.key), query.pattern())
                    .process(new Count(), Types.LONG)
                    .sinkTo(new DiscardingSink<>());
        }
        environment.execute();
    }
}
