"""The OpenAPI document, told in the order and the words in which a person reads it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain
from typing import Any

_METHODS = ("get", "post", "put", "patch", "delete")
_SHAPES = "#/components/schemas/"
_ERRORS_FROM = 400
_GENERIC = "Successful Response"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a type: words, or the name of a shape with its place on the page."""

    text: str
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a field of a shape; `place` is path, query or header for a parameter."""

    name: str
    place: str
    type: tuple[Part, ...]
    limits: str
    is_required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Content:
    """A body: of a request (`label` is empty) or of an answer (`label` is its status)."""

    label: str
    description: str
    media: tuple[tuple[str, tuple[Part, ...]], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One method of one path."""

    anchor: str
    method: str
    path: str
    description: str
    parameters: tuple[Field, ...]
    body: Content | None
    answers: tuple[Content, ...]
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The calls under one tag."""

    anchor: str
    name: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A named schema: fields, or the values it may have."""

    anchor: str
    name: str
    description: str
    fields: tuple[Field, ...]
    type: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """The whole document; `errors` maps a status to what it means."""

    groups: tuple[Group, ...]
    shapes: tuple[Shape, ...]
    errors: Mapping[str, str]


def describe(document: Mapping[str, Any]) -> ApiDescription:
    """An OpenAPI 3.1 document as it is shown, tags in the order in which they first appear."""
    by_tag: dict[str, list[Call]] = {}
    errors: dict[str, str] = {}
    for path, item in document["paths"].items():
        for method in _METHODS:
            operation = item.get(method)
            if operation is None:
                continue
            tag = next(iter(operation.get("tags", ())), "other")
            by_tag.setdefault(tag, []).append(_call(method, path, operation))
            errors |= {
                status: answer["description"]
                for status, answer in operation["responses"].items()
                if _is_error(status)
            }
    schemas = document.get("components", {}).get("schemas", {})
    return ApiDescription(
        tuple(Group(f"tag-{_slug(tag)}", tag, tuple(calls)) for tag, calls in by_tag.items()),
        tuple(_shape(name, schema) for name, schema in sorted(schemas.items())),
        dict(sorted(errors.items())),
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _is_error(status: str) -> bool:
    return status.isdigit() and int(status) >= _ERRORS_FROM


def _call(method: str, path: str, operation: Mapping[str, Any]) -> Call:
    responses = operation["responses"]
    body = operation.get("requestBody")
    return Call(
        f"{method}-{_slug(path)}",
        method.upper(),
        path,
        operation.get("description") or operation.get("summary", ""),
        tuple(map(_parameter, operation.get("parameters", ()))),
        None if body is None else Content("", body.get("description", ""), _media(body)),
        tuple(
            Content(status, _meaning(status, answer["description"]), _media(answer))
            for status, answer in responses.items()
            if not _is_error(status)
        ),
        tuple(sorted(status for status in responses if _is_error(status))),
    )


def _meaning(status: str, description: str) -> str:
    if description == _GENERIC and status.isdigit():
        return HTTPStatus(int(status)).phrase
    return description


def _media(body: Mapping[str, Any]) -> tuple[tuple[str, tuple[Part, ...]], ...]:
    found = body.get("content", {}).items()
    # A schema that says nothing is not worth a word.
    return tuple(
        (media, type_of(schema) if (schema := content.get("schema")) else ())
        for media, content in found
    )


def _parameter(parameter: Mapping[str, Any]) -> Field:
    schema = parameter.get("schema", {})
    description = parameter.get("description") or schema.get("description", "")
    # A parameter that may be left out is `anyOf` its type and null; null cannot be sent in a query.
    kinds = [kind for kind in _alternatives(schema) if kind.get("type") != "null"]
    return Field(
        parameter["name"],
        parameter["in"],
        _joined(map(type_of, kinds), " or "),
        _limits(schema),
        bool(parameter.get("required")),
        description,
    )


def _shape(name: str, schema: Mapping[str, Any]) -> Shape:
    required = schema.get("required", ())
    fields = tuple(
        Field(
            field_name,
            "",
            type_of(field),
            _limits(field),
            field_name in required,
            field.get("description", ""),
        )
        for field_name, field in schema.get("properties", {}).items()
    )
    plain = () if fields else type_of({k: v for k, v in schema.items() if k != "title"})
    return Shape(f"shape-{name}", name, schema.get("description", ""), fields, plain)


def _alternatives(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return schema.get("anyOf") or schema.get("oneOf") or [schema]


def type_of(schema: Mapping[str, Any]) -> tuple[Part, ...]:
    """A JSON schema in words, with the shapes that it names."""
    kinds = _alternatives(schema)
    if kinds != [schema]:
        return _joined(map(type_of, kinds), " or ")
    if reference := schema.get("$ref"):
        name = str(reference).removeprefix(_SHAPES)
        return (Part(name, f"shape-{name}"),)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return (Part(" | ".join(map(str, values))),)
    kind = schema.get("type")
    if kind == "array":
        return (Part("array of "), *type_of(schema.get("items", {})))
    if kind == "object":
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping):
            return (Part("object of "), *type_of(values))
        return (Part("object"),)
    if kind is None:
        return (Part("any"),)
    form = schema.get("format") or schema.get("contentMediaType")
    return (Part(f"{kind} ({form})" if form else str(kind)),)


def _joined(types: Iterable[tuple[Part, ...]], word: str) -> tuple[Part, ...]:
    return tuple(chain.from_iterable((Part(word), *parts) for parts in types))[1:]


def _limits(schema: Mapping[str, Any]) -> str:
    """Bounds and default in words, as "1 to 1,000, default 100"."""
    found = [
        text
        for kind in _alternatives(schema)
        for text in (
            _bounds(kind.get("minimum"), kind.get("maximum"), ""),
            _bounds(kind.get("minLength"), kind.get("maxLength"), " characters"),
        )
        if text
    ]
    if schema.get("default") is not None:
        found.append(f"default {schema['default']}")
    return ", ".join(found)


def _bounds(low: float | None, high: float | None, unit: str) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f"at least {_number(low)}{unit}"
    if low is None:
        return f"at most {_number(high)}{unit}"
    return f"{_number(low)} to {_number(high)}{unit}"


def _number(value: float | None) -> str:
    # JSON schema writes whole bounds as 5.0 now and then.
    return f"{value:,.0f}" if value is not None and float(value).is_integer() else f"{value}"
