import gzip
import io
import json
import sys
from pathlib import Path

import pytest

EVENT = '{"id":"%s","source":"/a","type":"%s","data":%s}\n'


@pytest.fixture
def profiles(write):
    return write("p.txt", "hot: x > 30\nattic: room = 'attic'\nnever: x < 0\n")


@pytest.fixture
def events(write):
    lines = [EVENT % (1, "T", '{"x":31,"room":"attic"}'), EVENT % (2, "T", '{"x":5}'), EVENT % (3, "T", '{"x":30.5}')]
    return write("e.jsonl", "".join(lines))


def _pairs(text):
    return [(line["profile"], line["event"]) for line in map(json.loads, text.splitlines())]


FOUND = [("hot", "1"), ("attic", "1"), ("hot", "3")]


def test_match_prints_json_lines(comity, profiles, events):
    result = comity("match", profiles, events)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith('{"profile":"hot","event":"1"}\n')
    assert _pairs(result.out) == FOUND


def test_match_writes_a_file(comity, profiles, events, tmp_path):
    result = comity("match", profiles, events, "--out", "found.jsonl")
    assert (result.code, result.out) == (0, "")
    assert _pairs((tmp_path / "found.jsonl").read_text()) == FOUND
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.jsonl", "found.jsonl", "p.txt"]


def test_match_counts(comity, profiles, events):
    result = comity("match", profiles, events, "--count")
    assert [line.split() for line in result.out.splitlines()] == [
        ["hot", "2"],
        ["attic", "1"],
        ["never", "0"],
        ["total", "3"],
    ]


def test_match_counts_as_json_beside_a_file(comity, profiles, events, tmp_path):
    result = comity("match", profiles, events, "--count", "--format", "json", "--out", "found.jsonl")
    expected = {"total": 3, "profiles": {"hot": 2, "attic": 1, "never": 0}, "events": 3, "rejected": 0}
    assert json.loads(result.out) == expected
    assert len((tmp_path / "found.jsonl").read_text().splitlines()) == 3


def test_match_reads_directories_gzip_and_yaml(comity, write, events):
    write("many/a.jsonl", events.read_bytes())
    write("many/b.jsonl.gz", gzip.compress((EVENT % (4, "T", '{"x":99}')).encode()))
    profiles = write("p.yaml", "profiles:\n  hot: x > 30\n  typed: {on: T, where: x > 90}\n")
    assert _pairs(comity("match", profiles, "many").out) == [("hot", "1"), ("hot", "3"), ("hot", "4"), ("typed", "4")]


def test_match_reads_standard_input(comity, profiles, events, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(events.read_bytes())))
    assert _pairs(comity("match", profiles, "-").out) == FOUND


def test_match_with_types(comity, types, write):
    profiles = write(
        "p.yaml",
        "profiles:\n  alarm: {on: Alarm, where: room = 'a'}\n"
        "  hot: {on: Fire, where: heat > 86 degF}\n  any: room = 'a'\n",
    )
    lines = [
        EVENT % (1, "house.Fire", '{"heat":31,"room":"a"}'),
        EVENT % (2, "Leak", '{"litres":1,"room":"a"}'),
        EVENT % (3, "house.Fire", '{"heat":"hot","room":"a"}'),
        EVENT % (4, "house.Nope", "{}"),
        EVENT % (5, "house.Alarm", '{"room":"a"}'),
    ]
    events = write("e.jsonl", "".join(lines))
    result = comity("match", profiles, events, "--types", types)
    assert _pairs(result.out) == [("alarm", "1"), ("hot", "1"), ("any", "1"), ("alarm", "2"), ("any", "2")]
    assert "3 of 5 records were rejected" in result.err
    assert "e.jsonl:4: event.type is not a known type [unknown-type]" in result.err


BAD = {
    "truncated-json": b'{"id":"9","source":"/a","type":"T","data":{"x":3',
    "not-utf-8": b'{"id":"9\xff","source":"/a","type":"T"}',
    "not-finite": b'{"id":"9","source":"/a","type":"T","data":{"x":NaN,"y":-Infinity,"z":1e999}}',
    "out-of-range": b'{"id":"9","source":"/a","type":"T","data":{"x":9223372036854775808}}',
    "not-an-object": b"[1, 2]",
    "bad-json": b'{"id": 1,, }',
    "missing": b'{"source":"/a","type":"T"}',
    "wrong-kind": b'{"id":"9","source":"/a","type":"T","data":[1]}',
    "bad-timestamp": b'{"id":"9","source":"/a","type":"T","time":"yesterday"}',
    "bad-text": b'{"id":"9","source":"/a","type":"T","data":{"x":"\\ud800"}}',
    "too-deep": b'{"id":"9","source":"/a","type":"T","data":{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}}",
    "too-long": b'{"id":"9","source":"/a","type":"T","data":{"x":"' + b"a" * 2_000_000 + b'"}}',
}


def test_match_keeps_good_records_beside_bad_ones(comity, profiles, write, tmp_path):
    good = [(EVENT % (number, "T", '{"x":31}')).strip().encode() for number in range(len(BAD) + 1)]
    lines = [line for pair in zip(good, [*BAD.values(), b""], strict=True) for line in pair]
    events = write("e.jsonl", b"\n".join(lines))
    result = comity("match", profiles, events, "--count", "--format", "json", "--rejected", "bad.jsonl")
    assert result.code == 0
    assert json.loads(result.out)["profiles"]["hot"] == len(good)
    assert json.loads(result.out)["rejected"] == json.loads(result.err)["rejected"] == len(BAD)
    kept = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert [one["faults"][0]["code"] for one in kept] == list(BAD)
    assert [one["line"] for one in kept] == [2 * number for number in range(1, len(BAD) + 1)]


def test_match_says_why_records_were_rejected(comity, profiles, write):
    events = write("e.jsonl", b"\n".join(BAD.values()))
    err = comity("match", profiles, events, "--rejected", "bad.jsonl").err
    assert f"{len(BAD)} of {len(BAD)} records were rejected" in err
    assert "e.jsonl:1:49: the line ends too early [truncated-json]" in err
    records = map(json.loads, Path("bad.jsonl").read_text().splitlines())
    codes = [record["faults"][0]["code"] for record in records]
    assert err.count(" × ") == len(set(codes))


def test_match_survives_a_line_of_200_mb(start, write):
    write("p.txt", "hot: x > 30")
    process = start("match", "p.txt", "-", "--count", "--format", "json", stdin=-1, preexec_fn=_limit_memory)
    good = (EVENT % (1, "T", '{"x":31}')).encode()
    process.stdin.write(good)
    for _ in range(200):
        process.stdin.write(b"a" * 1_000_000)
    out, _ = process.communicate(b"\n" + good, timeout=120)
    assert process.returncode == 0
    assert json.loads(out) == {"total": 2, "profiles": {"hot": 2}, "events": 2, "rejected": 1}


def _limit_memory():
    resource = pytest.importorskip("resource")
    resource.setrlimit(resource.RLIMIT_DATA, (180_000_000, 180_000_000))


def test_match_of_a_broken_gzip_file(comity, profiles, write):
    whole = gzip.compress("".join(EVENT % (number, "T", '{"x":31}') for number in range(5000)).encode())
    result = comity("match", profiles, write("e.jsonl.gz", whole[: len(whole) // 2]), "--count", "--format", "json")
    assert result.code == 0
    counts = json.loads(result.out)
    assert counts["rejected"] >= 1
    assert counts["total"] > 0


@pytest.mark.parametrize(
    ("content", "code", "place"),
    [
        ("a: x >\n", "syntax", (1, 7)),
        ("a: x > 1\na: x > 2\n", "duplicate-profile", (2, 1)),
        ("a: x > 1\nb: x > 5 km\n", "ambiguous-unit", (2, 4)),
        ("a: x > 1 and event.nope = 1", "unknown-attribute", (1, 14)),
        ("a: x > 99999999999999999999", "integer-out-of-range", (1, 8)),
        ("a: x > 1 nosuchunit", "unknown-unit", (1, 4)),
        (b"a: x = 1\nb: x = '\xff'\n", "not-utf-8", (2, 9)),
        ("a: " + "not " * 10_000 + "x", "expression-too-deep", (1, 4)),
        ("a: " + "x > 1 or " * 1_200_000 + "x", "expression-too-long", (1, 4)),
        ("a: x = '" + "a" * 17_000_000 + "'", "file-too-long", (None, None)),
    ],
)
def test_match_refuses_bad_profiles(comity, write, events, content, code, place):
    result = comity("match", write("bad.txt", content), events, "--format", "json")
    assert (result.code, result.out) == (2, "")
    (error,) = json.loads(result.err)["errors"]
    assert error["code"] == code
    assert error["file"].endswith("bad.txt")
    assert (error.get("line"), error.get("column")) == place


def test_match_refuses_profiles_that_do_not_fit_the_types(comity, types, write, events):
    lines = [
        "profiles:",
        "  a: {on: Fier}",
        "  b: {on: Fire, where: colour = 1}",
        "  c: {on: Fire, where: heat > 5 kg}",
    ]
    content = "\n".join([*lines, "  d: litres > 5"])
    result = comity("match", write("p.yaml", content), events, "--types", types)
    assert result.code == 2
    codes = [line.rsplit("[", 1)[1] for line in result.err.splitlines() if line.startswith("error")]
    assert codes == ["unknown-type]", "unknown-attribute]", "incompatible-units]"]
    assert "p.yaml:2:11: unknown type `Fier`" in result.err
    assert "p.yaml:3:24" in result.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nope.txt", "e.jsonl"], "no-such-file"),
        (["p.txt", "nope.jsonl"], "no-such-file"),
        (["p.txt", "empty"], "no-event-files"),
        (["p.txt", "e.jsonl", "--types", "nope.yaml"], "no-such-file"),
        (["p.txt", "e.jsonl", "--out", "nope/found.jsonl"], "unwritable-file"),
        (["p.txt", "e.jsonl", "--out", "e.jsonl"], "overwrites-input"),
        (["p.txt", "e.jsonl", "--rejected", "p.txt"], "overwrites-input"),
        (["empty", "e.jsonl"], "unreadable-file"),
    ],
)
def test_match_refuses_bad_paths(comity, profiles, events, tmp_path, arguments, code):
    (tmp_path / "empty").mkdir()
    before = events.read_bytes()
    result = comity("match", *arguments, "--format", "json")
    assert result.code == 2
    assert [error["code"] for error in json.loads(result.err)["errors"]] == [code]
    assert events.read_bytes() == before


def test_match_that_fails_leaves_the_old_result(comity, write, profiles):
    old = write("found.jsonl", "old\n")
    assert comity("match", profiles, "nope.jsonl", "--out", old).code == 2
    assert old.read_text() == "old\n"


def test_match_writes_to_a_device(comity, profiles, events):
    assert comity("match", profiles, events, "--out", "/dev/null").code == 0


def test_match_on_spark_does_not_read_standard_input(comity, profiles):
    result = comity("match", profiles, "-", "--engine", "spark")
    assert result.code == 2
    assert "[no-standard-input]" in result.err


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("options", [[], ["--types", "types.yaml"]])
def test_match_on_spark_equals_local(comity, types, write, options):
    profiles = write("p.yaml", "profiles: {hot: heat > 30 degC, attic: {on: house.Fire, where: room = 'attic'}}")
    data = '{"heat":3%s,"room":"attic"}'
    lines = [EVENT % (number, "house.Fire", data % number) for number in range(5)]
    write("many/a.jsonl", "".join(lines) + '{"id":"9","source":')
    write("many/b.jsonl", EVENT % (7, "house.Leak", '{"litres":1,"room":"attic"}'))
    write("many/c.csv", "id,source,type,heat,room\n10,/a,house.Fire,39,attic\n11,/a,house.Fire,warm,attic\n")
    counts, found = [], []
    for engine in ("local", "spark"):
        chosen = ["--engine", engine, "--out", f"{engine}.jsonl", "--count", "--format", "json", *options]
        result = comity("match", profiles, "many", *chosen)
        assert result.code == 0, result.err
        counts.append(json.loads(result.out))
        found.append(sorted(_pairs((profiles.parent / f"{engine}.jsonl").read_text())))
    assert found[0] == found[1]
    assert counts[0] == counts[1]
    # With types a heat that is `warm` is none.
    assert (counts[0]["events"], counts[0]["rejected"]) == ((7, 2) if options else (8, 1))


def test_match_goes_on_without_bad_profiles_when_asked(comity, write):
    odd = "odd: heat > 40 degC and room > 3 km and x = 'a' km\n"
    text = "a: heat > 40 degC and nonsense(\nhot: heat > 40\nb b: heat > 1\n" + odd
    profiles = write("bad.txt", text + "attic: room = 'attic'\n")
    events = write("e.jsonl", b'{"id":"1","source":"/a","type":"T","data":{"heat":50,"room":"attic"}}')
    assert comity("match", profiles, events).out == ""
    result = comity("match", profiles, events, "--skip-bad")
    assert result.code == 2
    assert result.out == '{"profile":"hot","event":"1"}\n{"profile":"attic","event":"1"}\n'
    assert [f"bad.txt:{line}" in result.err for line in range(1, 6)] == [True, False, True, True, False]
    assert "left out for 3 faults; 2 profiles are good" in result.err
    counted = json.loads(comity("match", profiles, events, "--skip-bad", "--count", "--format", "json").out)
    assert (counted["total"], counted["bad_profiles"]) == (2, 3)


def test_match_without_bad_profiles_is_as_before_when_asked_to_skip_them(comity, write, profiles, events):
    assert comity("match", profiles, events, "--skip-bad") == comity("match", profiles, events)


def test_match_needs_one_good_profile(comity, write, events):
    result = comity("match", write("bad.txt", "a: heat >\n"), events, "--skip-bad")
    assert (result.code, result.out) == (2, "")
