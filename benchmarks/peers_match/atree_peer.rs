//! a-tree on one workload: `atree-peer ATTRIBUTES PROFILES EVENTS ANSWERS`.
//!
//! Attributes are lines `kind name`, profiles are expressions, one a line. An event is a line of fields
//! `name kind value`, with tabs between fields. Answers are written a line an event: the numbers of profiles.
//! Two forms are timed: `given` searches for an event that is there in the tree's own form, `built` makes that form
//! first, from typed values.

use a_tree::{ATree, AttributeDefinition, Event};
use std::fmt::Write;
use std::{env, fs};

/// A run may take a fraction of a millisecond: there are so many that one of them is not disturbed.
const RUNS: usize = 7;
const LEAST_S: f64 = 1.0;
const ENOUGH_S: f64 = 10.0;

enum Value {
    Text(String),
    Whole(i64),
    Decimal(i64, u32),
    Flag(bool),
}

type Fields = Vec<(String, Value)>;

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn definition(line: &str) -> AttributeDefinition {
    let (kind, name) = line.split_once(' ').unwrap();
    match kind {
        "string" => AttributeDefinition::string(name),
        "int" => AttributeDefinition::integer(name),
        "float" => AttributeDefinition::float(name),
        "bool" => AttributeDefinition::boolean(name),
        _ => panic!("no kind {kind}"),
    }
}

fn field(text: &str) -> (String, Value) {
    let mut parts = text.splitn(3, ' ');
    let (name, kind, value) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let value = match kind {
        "string" => Value::Text(value.to_string()),
        "int" => Value::Whole(value.parse().unwrap()),
        "float" => {
            let scale = value.len() - value.find('.').unwrap() - 1;
            Value::Decimal(value.replace('.', "").parse().unwrap(), scale as u32)
        }
        _ => Value::Flag(value == "true"),
    };
    (name.to_string(), value)
}

fn built(tree: &ATree<u32>, fields: &Fields) -> Event {
    let mut builder = tree.make_event();
    for (name, value) in fields {
        match value {
            Value::Text(text) => builder.with_string(name, text),
            Value::Whole(number) => builder.with_integer(name, *number),
            Value::Decimal(number, scale) => builder.with_float(name, *number, *scale),
            Value::Flag(flag) => builder.with_boolean(name, *flag),
        }
        .unwrap();
    }
    builder.build().unwrap()
}

/// The least time of several runs over all events; `search` gives the number of matches, so that it has a use.
fn best(events: usize, mut search: impl FnMut(usize) -> usize) -> f64 {
    let (mut least, mut total, mut runs) = (f64::INFINITY, 0.0, 0);
    while total < ENOUGH_S && (runs < RUNS || total < LEAST_S) {
        let start = cpu_seconds();
        let mut matches = 0;
        for event in 0..events {
            matches += search(event);
        }
        std::hint::black_box(matches);
        let seconds = cpu_seconds() - start;
        least = least.min(seconds);
        total += seconds;
        runs += 1;
    }
    least
}

fn main() {
    let files: Vec<String> = env::args().skip(1).map(|path| fs::read_to_string(path).unwrap_or_default()).collect();
    let definitions: Vec<_> = files[0].lines().map(definition).collect();
    let start = cpu_seconds();
    let mut tree = ATree::<u32>::new(&definitions).unwrap();
    for (number, expression) in files[1].lines().enumerate() {
        tree.insert(&(number as u32), expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    }
    let build = cpu_seconds() - start;
    let fields: Vec<Fields> = files[2].lines().map(|line| line.split('\t').map(field).collect()).collect();
    let events: Vec<Event> = fields.iter().map(|fields| built(&tree, fields)).collect();
    let mut answers = String::new();
    for event in &events {
        for number in tree.search(event).unwrap().matches() {
            write!(answers, "{number} ").unwrap();
        }
        answers.push('\n');
    }
    fs::write(env::args().nth(4).unwrap(), answers).unwrap();
    let given = best(events.len(), |at| tree.search(&events[at]).unwrap().matches().len());
    let whole = best(events.len(), |at| tree.search(&built(&tree, &fields[at])).unwrap().matches().len());
    println!("{{\"build\": {build}, \"given\": {given}, \"built\": {whole}}}");
}
