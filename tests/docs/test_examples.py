"""Every example of the documentation, run from top to bottom of its page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest
from pyspark.sql import SparkSession

from comity import Event, Filter
from comity.expression.constraints import CONSTRAINTS
from tests.docs.pages import DOCS, PAGES, ROOT, Reader, blocks, name_of

EXPRESSIONS = DOCS / "reference" / "expressions.md"
_ROW = re.compile(r"^\| `(?P<filter>.+?)` \| `(?P<event>\{.*?\})` \| (?P<answer>yes|no) \|", re.M)


def followed(page: Path) -> object:
    """A page to follow, marked if it wants Spark."""
    marks = [pytest.mark.spark] if any(block.starts_spark for block in blocks(page)) else []
    return pytest.param(page, id=name_of(page), marks=marks)


with_examples = pytest.mark.parametrize(
    "page", [followed(page) for page in PAGES if any(block.runs for block in blocks(page))]
)


@with_examples
def test_page(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("spark"):
        request.getfixturevalue("spark")
    with (
        closing(Reader(page, tmp_path)) as reader,
        mock.patch.dict(CONSTRAINTS),
    ):  # a page may add a constraint class, which is for that page only
        for block in blocks(page):
            if block.runs:
                reader.follow(block)


def test_the_demo_of_the_readme_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    reader = Reader(ROOT / "README.md", tmp_path, make_demo=True)
    demos = [block for block in blocks(ROOT / "README.md") if block.body.startswith("$ make demo")]
    assert demos
    for block in demos:
        reader.follow(block)


def operator_examples() -> Iterator[tuple[str, str, bool]]:
    """The rows `filter | data of an event | answer` of the reference."""
    for found in _ROW.finditer(EXPRESSIONS.read_text(encoding="utf-8")):
        yield found["filter"].replace("\\|", "|"), found["event"], found["answer"] == "yes"


@pytest.mark.parametrize(("text", "data", "answer"), list(operator_examples()))
def test_operator(text: str, data: str, answer: bool) -> None:
    """The filter, over an event that holds the data; names that begin with `event.` are of its envelope."""
    given = json.loads(data)
    envelope = {name.removeprefix("event."): given.pop(name) for name in list(given) if name.startswith("event.")}
    event = Event(**{"id": "1", "source": "/example", "type": "Example", "data": given} | envelope)
    assert Filter(text).matches(event) is answer


def test_every_keyword_and_operator_has_an_example() -> None:
    from comity.expression.render import KEYWORDS

    texts = " ".join(text for text, _, _ in operator_examples()).lower()
    words = KEYWORDS - {"starts", "ends"} | {"starts with", "ends with"}
    symbols = ["=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "<>", "=="]
    assert not [word for word in words if not re.search(rf"\b{word}\b", texts)]
    assert not [symbol for symbol in symbols if f" {symbol} " not in f" {texts} ".replace("(", " ")]


def test_every_function_has_an_example() -> None:
    from comity.expression.functions import FUNCTIONS

    texts = " ".join(text for text, _, _ in operator_examples())
    assert not [name for name in FUNCTIONS if f"{name}(" not in texts]
