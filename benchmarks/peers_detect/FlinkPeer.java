import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * Runs a workload on Flink CEP: `FlinkPeer FILE EVENTS WORKLOAD WINDOW_MS WARM_UP [PROFILES]`.
 *
 * <p>One task slot, event time, watermarks as the times ascend, objects reused, state on the heap, no checkpoints.
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
        List<Pattern<Event, ?>> patterns = arguments[2].equals("many")
                ? Workload.profiles(Path.of(arguments[5])).stream().<Pattern<Event, ?>>map(FlinkPeer::pair).toList()
                : List.of(pattern(arguments[2]).within(Duration.ofMillis(Long.parseLong(arguments[3]))));
        run(patterns, Integer.parseInt(arguments[4]));
        MATCHES.reset();
        run(patterns, events);
        Workload.report(END.get() - start, END_CPU.get() - startCpu, MATCHES.sum());
        System.exit(0);
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

    private static Pattern<Event, Event> pair(Workload.Profile profile) {
        int type = profile.first();
        double low = profile.low();
        double high = profile.high();
        return Pattern.<Event>begin("a")
                .where(SimpleCondition.of(event -> event.type == type && event.value >= low && event.value < high))
                .followedByAny("b")
                .where(isType(profile.second()))
                .within(Duration.ofMillis(profile.window()));
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

    private static void run(List<Pattern<Event, ?>> patterns, int events) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        environment.setRuntimeMode(RuntimeExecutionMode.STREAMING);
        environment.getConfig().enableObjectReuse();
        KeyedStream<Event, Integer> keyed = environment
                .fromSequence(0, events - 1)
                .map(FlinkPeer::event)
                .returns(Event.class)
                .assignTimestampsAndWatermarks(WatermarkStrategy.<Event>forMonotonousTimestamps()
                        .withTimestampAssigner((event, earlier) -> event.time))
                .keyBy(event -> event.key);
        for (Pattern<Event, ?> pattern : patterns) {
            CEP.pattern(keyed, pattern).process(new Count(), org.apache.flink.api.common.typeinfo.Types.LONG)
                    .sinkTo(new DiscardingSink<>());
        }
        environment.execute();
    }
}
