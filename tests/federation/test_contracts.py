"""Contract files: kinds, refusals, tables, functions, versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.contract.mapping import Mapping
from comity.errors import Faults
from comity.event import Event
from comity.expression.render import render
from comity.federation import load
from comity.federation.model import Contract, ContractKind

A = """
domain: a
types:
  Reading: {attributes: {heat: float degF, user: string, note: string?}}
  Private: {attributes: {n: int}}
publish: [Reading]
"""
B = "domain: b\ntypes: {Wert: {attributes: {grad: float degC, nutzer: string}}}\n"
C = "domain: c\ntypes: {Seen: {attributes: {heat: float degC, user: string}}}\n"
CONTRACT = """
contract: shared
types: {Common: {attributes: {heat: float degC, user: string}}}
members:
  a: {type: Reading, map: {heat: heat, user: user}}
  b: {type: Wert, map: {heat: grad, user: nutzer}}
"""


def federation(folder: Path, contract: str = CONTRACT, **more: str) -> dict[str, Contract]:
    for name, text in {"a": A, "b": B, "c": C, "contract": contract, **more}.items():
        path = folder / (name.replace("__", ".") if "__" in name else f"{name}.yaml")
        path.write_text(text, encoding="utf-8")
    return dict(load(folder).contracts)


def codes(folder: Path, contract: str = CONTRACT, **more: str) -> list[str]:
    with pytest.raises(Faults) as caught:
        federation(folder, contract, **more)
    return [error.code for error in caught.value.errors]


def mapped(mapping: Mapping, **data: object) -> dict[str, object]:
    result = mapping.apply(Event("1", "/s", mapping.source.qualified_name, data=data))
    assert isinstance(result, Event)
    return dict(result.data)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("", ContractKind.GLOBAL),
        ("authority: c\n", ContractKind.GLOBAL),
        ("founders: [a, b]\n", ContractKind.DOMAIN_TO_DOMAIN),
    ],
)
def test_the_kind_says_who_founded_the_contract(tmp_path: Path, head: str, kind: ContractKind) -> None:
    assert federation(tmp_path, CONTRACT + head)["shared"].kind is kind


def test_a_contract_that_others_joined_is_hybrid(tmp_path: Path) -> None:
    text = CONTRACT + "  c: {type: Seen, map: same}\nfounders: [a, b]\n"
    assert federation(tmp_path, text)["shared"].kind is ContractKind.HYBRID


def test_a_global_contract_is_founded_empty(tmp_path: Path) -> None:
    text = "contract: shared\nauthority: c\ntypes: {Common: {attributes: {n: int}}}\n"
    assert federation(tmp_path, text)["shared"].members == {}


@pytest.mark.parametrize("founders", ["[a]", "[a, a]", "[a, c]", "[a, b, c]", "[a, nobody]"])
def test_two_different_members_found_a_contract(tmp_path: Path, founders: str) -> None:
    assert set(codes(tmp_path, CONTRACT + f"founders: {founders}\n")) <= {"bad-founders", "unknown-domain"}


def test_an_authority_and_founders_are_one_too_many(tmp_path: Path) -> None:
    assert codes(tmp_path, CONTRACT + "founders: [a, b]\nauthority: c\n") == ["bad-founders"]


def test_a_second_contract_with_the_same_type_is_refused(tmp_path: Path) -> None:
    assert codes(tmp_path, second=CONTRACT.replace("shared", "second")) == ["duplicate-contract-type"]


def test_a_contract_between_contract_types_is_refused(tmp_path: Path) -> None:
    second = """
contract: second
types: {Other: {attributes: {user: string}}}
members: {a: {type: shared.Common, map: {user: user}}}
"""
    assert codes(tmp_path, second=second) == ["contract-of-contracts"]


def test_a_type_that_is_not_published_cannot_be_given(tmp_path: Path) -> None:
    text = """
contract: shared
types: {Common: {attributes: {n: int}}}
members: {a: {type: Private, map: same}}
"""
    assert codes(tmp_path, text) == ["not-published"]


def test_published_types_must_exist(tmp_path: Path) -> None:
    assert codes(tmp_path, a=A.replace("publish: [Reading]", "publish: [Raeding]")) == ["unknown-type"]


def test_same_takes_attributes_by_their_names(tmp_path: Path) -> None:
    text = CONTRACT + "observers: {c: {type: Seen, map: same}}\n"
    (observe,) = federation(tmp_path, text)["shared"].observers["c"]
    assert mapped(observe, heat=30.0, user="peter") == {"heat": 30.0, "user": "peter"}


def test_same_tells_what_has_no_counterpart(tmp_path: Path) -> None:
    text = CONTRACT.replace("{heat: grad, user: nutzer}", "same")
    assert codes(tmp_path, text) == ["unmapped", "unmapped"]


def test_inverse_turns_the_member_mapping_round(tmp_path: Path) -> None:
    text = CONTRACT + "observers: {b: {type: Wert, map: inverse}}\n"
    (observe,) = federation(tmp_path, text)["shared"].observers["b"]
    assert {".".join(path): render(made) for path, made in observe.expressions} == {"grad": "heat", "nutzer": "user"}


def test_inverse_of_what_loses_something_is_refused(tmp_path: Path) -> None:
    text = CONTRACT.replace("user: nutzer", "user: lower(nutzer)") + "observers: {b: {type: Wert, map: inverse}}\n"
    assert codes(tmp_path, text) == ["no-inverse"]


def test_inverse_needs_a_mapping_to_turn_round(tmp_path: Path) -> None:
    assert codes(tmp_path, CONTRACT + "observers: {c: {type: Seen, map: inverse}}\n") == ["no-inverse"]


def test_a_table_may_be_a_csv_file(tmp_path: Path) -> None:
    text = CONTRACT.replace("user: user}", "user: \"lookup('users', user)\"}")
    text += "tables: {users: {file: users.csv, key: local, value: common}}\n"
    (give,) = federation(tmp_path, text, users__csv="common,local\npeter,pp202\nmary,mm1\n")["shared"].members["a"]
    assert mapped(give, heat=86.0, user="pp202") == {"heat": 30.0, "user": "peter"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("common,local\na,x\nb,x\n", "duplicate-key"),
        ("one,two\na,b\n", "unknown-column"),
        ("common,local\na\n", "bad-csv"),
        ("", "bad-csv"),
    ],
)
def test_a_bad_table_is_told(tmp_path: Path, content: str, code: str) -> None:
    text = CONTRACT + "tables: {users: {file: users.csv, key: local, value: common}}\n"
    assert codes(tmp_path, text, users__csv=content) == [code]


def test_numbers_in_a_table_are_numbers_unless_they_are_codes(tmp_path: Path) -> None:
    from comity.federation.tables import read_table

    (tmp_path / "t.csv").write_text("k,v\n007,1\n008,2.5\n", encoding="utf-8")
    assert read_table({"file": "t.csv"}, tmp_path) == {"007": 1.0, "008": 2.5}


OWN = """
import comity

@comity.extension(takes=("string",), gives="string")
def shout(text):
    return text + "!"
"""


def test_extension_functions_come_from_a_file_beside(tmp_path: Path) -> None:
    text = CONTRACT.replace("user: user}", "user: shout(user)}") + "functions: {shout: {file: own.py}}\n"
    (give,) = federation(tmp_path, text, own__py=OWN)["shared"].members["a"]
    assert mapped(give, heat=86.0, user="pp")["user"] == "pp!"


def test_a_function_that_the_file_lacks_is_told(tmp_path: Path) -> None:
    text = CONTRACT + "functions: {other: {file: own.py}}\n"
    assert codes(tmp_path, text, own__py=OWN) == ["unknown-function"]


VERSIONS = """
contract: shared
version: 2
types: {Common: {attributes: {kelvin: float kelvin, user: string}}}
members:
  a: {type: Reading, version: 1, map: {heat: heat, user: user}}
  b: {type: Wert, map: {kelvin: grad, user: nutzer}}
observers:
  c: {type: Seen, version: 1, map: same}
earlier:
  - version: 1
    types: {Common: {attributes: {heat: float degC, user: string}}}
    upgrade: {kelvin: heat, user: user}
    downgrade: {heat: kelvin, user: user}
"""


def test_members_and_observers_may_keep_to_an_earlier_version(tmp_path: Path) -> None:
    contract = federation(tmp_path, VERSIONS)["shared"]
    assert mapped(contract.members["a"][0], heat=86.0, user="p") == {"kelvin": pytest.approx(303.15), "user": "p"}
    assert mapped(contract.observers["c"][0], kelvin=303.15, user="p") == {"heat": pytest.approx(30), "user": "p"}
    assert (contract.version, list(contract.earlier)) == (2, [1])


def test_an_observer_of_an_earlier_version_needs_a_way_back(tmp_path: Path) -> None:
    assert codes(tmp_path, VERSIONS.replace("    downgrade: {heat: kelvin, user: user}\n", "")) == ["no-downgrade"]


def test_versions_that_are_not_there_are_told(tmp_path: Path) -> None:
    assert codes(tmp_path, VERSIONS.replace("c: {type: Seen, version: 1", "c: {type: Seen, version: 3")) == [
        "bad-version"
    ]
    assert "bad-version" in codes(tmp_path, VERSIONS.replace("- version: 1", "- version: 5"))


def test_a_unit_must_fit_the_concept(tmp_path: Path) -> None:
    misfit = "domain: a\ntypes: {Reading: {attributes: {heat: {kind: float, unit: kg, concept: Temperature}}}}\n"
    assert "concept-unit" in codes(tmp_path, a=misfit)


def test_a_federation_may_have_an_ontology_of_its_own(tmp_path: Path) -> None:
    given = {
        "federation": "federation: f\nontology: own.ttl\n",
        "own__ttl": (
            "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
            "<urn:x#Sneezes> a skos:Concept ; skos:prefLabel 'Sneezes'@en ; skos:broader <urn:x#Mass> .\n"
            "<urn:x#Mass> a skos:Concept .\n"
        ),
        "a": "domain: a\ntypes: {Reading: {attributes: {n: {kind: float, unit: degC, concept: Sneezes}}}}\n",
    }
    assert "concept-unit" in codes(tmp_path, **given)


def test_inverse_of_an_earlier_version_goes_back_over_the_versions(tmp_path: Path) -> None:
    text = VERSIONS.replace("b: {type: Wert, map: {kelvin:", "b: {type: Wert, version: 1, map: {heat:")
    text = text.replace("  c: {type: Seen, version: 1, map: same}", "  b: {type: Wert, version: 1, map: inverse}")
    contract = federation(tmp_path, text)["shared"]
    there = contract.members["b"][0].apply(Event("1", "/b", "b.Wert", data={"grad": 30.0, "nutzer": "p"}))
    assert isinstance(there, Event)
    back = contract.observers["b"][0].apply(there)
    assert isinstance(back, Event)
    assert back.data == {"grad": pytest.approx(30.0), "nutzer": "p"}


def test_a_rate_in_place_has_no_unknown_keys_and_a_place(tmp_path: Path) -> None:
    good = "rates: r\nrows: [{from: EUR, to: USD, rate: 1.1, valid_from: 2026-01-01}]\n"
    federation(tmp_path, r=good)
    assert codes(tmp_path, r=good.replace("valid_from", "from_when")) == ["unknown-key"]
    with pytest.raises(Faults) as caught:
        federation(tmp_path, r=good.replace("1.1", "0"))
    assert caught.value.errors[0].place is not None
    assert caught.value.errors[0].place.line == 2


def test_two_types_of_one_domain_make_no_contract(tmp_path: Path) -> None:
    alone = """
contract: shared
types: {Common: {attributes: {n: int}}}
members: {d: [{type: One, map: same}, {type: Two, map: same}]}
"""
    d = "domain: d\ntypes: {One: {attributes: {n: int}}, Two: {attributes: {n: int}}}\n"
    assert codes(tmp_path, alone, d=d) == ["bad-founders"]
    assert federation(tmp_path, alone + "authority: c\n", d=d)["shared"].kind is ContractKind.GLOBAL


@pytest.mark.parametrize(("authority", "expected"), [("nobody", ["unknown-domain"]), ("c", []), ("town", [])])
def test_an_authority_is_a_domain_or_the_federation(tmp_path: Path, authority: str, expected: list[str]) -> None:
    text, town = CONTRACT + f"authority: {authority}\n", "federation: town\n"
    if expected:
        assert codes(tmp_path, text, town=town) == expected
    else:
        assert federation(tmp_path, text, town=town)["shared"].authority == authority


@pytest.mark.parametrize(
    ("role", "first", "second"),
    [
        ("members", "{type: Seen, map: same}", "{type: Seen, map: {heat: heat * 2, user: user}}"),
        ("observers", "{type: Seen, map: same}", "{type: c.Seen, map: {heat: heat * 2, user: user}}"),
    ],
)
def test_a_type_has_one_mapping_in_a_role(tmp_path: Path, role: str, first: str, second: str) -> None:
    text = CONTRACT if role == "members" else CONTRACT + "observers:\n"
    with pytest.raises(Faults) as caught:
        federation(tmp_path, f"{text}  c:\n  - {first}\n  - {second}\n")
    (error,) = caught.value.errors
    line = len(text.splitlines()) + 3
    assert (error.code, error.place and error.place.line) == ("duplicate-mapping", line)
    assert f"contract.yaml:{line - 1}:" in error.message


def test_a_type_has_one_mapping_whatever_version_it_keeps_to(tmp_path: Path) -> None:
    text = CONTRACT.replace("contract: shared", "contract: shared\nversion: 2")
    text += "  c: [{type: Seen, map: same}, {type: Seen, map: same, version: 1}]\n"
    text += "earlier: [{version: 1, types: {Common: {attributes: {heat: float degC, user: string}}}}]\n"
    assert codes(tmp_path, text) == ["duplicate-mapping"]
