"""Checking a document against a pydantic model, with every error at its place in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from comity.document.read import Document, did_you_mean
from comity.errors import ComityError, Faults

if TYPE_CHECKING:  # pydantic takes a while to import, and whoever has a model has imported it
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound="BaseModel")
Location = tuple[str | int, ...]


def validate(document: Document, model: type[Model], data: Any = None, at: Location = ()) -> Model:
    """The document as an instance of `model`, or a part of it, which stands at a path.

    Raises `Faults` with one `Misuse` for each error.
    """
    from pydantic import ValidationError

    data = data if at else document.data
    try:
        return model.model_validate(data)
    except ValidationError as error:
        details = _of_the_branch_meant(error.errors(include_url=False), data)
        raise Faults([_misuse(document, model, detail, at) for detail in details]) from None


def _of_the_branch_meant(details: Sequence[ErrorDetails], data: Any) -> list[ErrorDetails]:
    """Without what the branches of a union say for which the value is of a wrong type, if another one says more."""
    placed = [(_path(data, detail["loc"]), detail["type"].endswith("_type"), detail) for detail in details]
    said = [path for path, is_of_wrong_type, _ in placed if not is_of_wrong_type]
    return [
        detail
        for path, is_of_wrong_type, detail in placed
        if not is_of_wrong_type or not any(other[: len(path)] == path for other in said)
    ]


def _misuse(document: Document, model: type[BaseModel], detail: ErrorDetails, at: Location) -> ComityError:
    location = detail["loc"]
    path = _path(document.data, (*at, *location))
    last = str(location[-1]) if location else ""
    match detail["type"]:
        case "extra_forbidden":
            hint = did_you_mean(last, _names(_models_at(model, location[:-1])))
            return document.fault(f"unknown key `{last}`", path, code="unknown-key", key=True, hint=hint)
        case "missing":
            return document.fault(f"`{last}` is missing", path, code="missing-key")
    subject = f"`{_dotted(path)}`: " if path else ""
    return document.fault(subject + _reason(detail), path, code="bad-value", key=last == "[key]")


def _reason(detail: ErrorDetails) -> str:
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    value = detail.get("input")
    if detail["type"] in ("value_error", "assertion_error") or isinstance(value, Mapping | list):
        return message
    shown = repr(value)
    return f"{message}, not {shown if len(shown) <= 60 else shown[:57] + '...'}"


def _path(data: Any, location: Location) -> Location:
    """The steps of an error's location that are in the data; the others name branches of a union or validators."""
    path: list[str | int] = []
    for step in location:
        inside = isinstance(data, dict) and step in data
        inside = inside or (isinstance(data, list) and isinstance(step, int) and step < len(data))
        if inside:
            path.append(step)
            data = data[step]
    return tuple(path)


def _dotted(path: Location) -> str:
    return ".".join(str(step) for step in path)


def _names(models: list[type[BaseModel]]) -> set[str]:
    return {field.alias or name for model in models for name, field in model.model_fields.items()}


def _models_at(model: type[BaseModel], location: Location) -> list[type[BaseModel]]:
    """The models that may stand at a location: several where the model has a union."""
    found = [model]
    for step in location:
        annotations = [
            field.annotation for one in found for name, field in one.model_fields.items() if step in (name, field.alias)
        ]
        if annotations:
            found = [inner for annotation in annotations for inner in _models_in(annotation)]
    return found


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models that an annotation mentions: itself, elements of lists, values of mappings, members of unions."""
    if hasattr(annotation, "model_fields") and get_origin(annotation) is None:
        return [annotation]
    return [inner for argument in get_args(annotation) for inner in _models_in(argument)]
