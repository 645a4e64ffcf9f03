"""Models back to text: canonical JSON for storing and comparing, YAML for people."""

import json
import re
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from daybook.model.definition import ADAPTERS, Kind

# Words that YAML 1.1 or 1.2 reads as something else, and texts that need no quotes otherwise.
_READ_OTHERWISE = frozenset({"", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_ ./()-]*(?<! )")


def canonical(model: BaseModel) -> dict[str, Any]:
    """The model as JSON-able values under the keys users write; what was left out stays out."""
    return {key: _jsonable(value) for key, value in model.model_dump(by_alias=True, exclude_defaults=True).items()}


def from_canonical(kind: Kind, data: dict[str, Any]) -> Any:
    """The model that `canonical` was made of."""
    return ADAPTERS[kind].validate_python(frozen(data))


def to_yaml(kind: Kind, model: BaseModel) -> str:
    """A document that loads again as the same definition."""
    return "\n".join(_lines({kind: canonical(model)}, 0)) + "\n"


def _jsonable(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [_jsonable(item) for item in value]
        case None | bool() | int() | str():
            return value
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)


def frozen(value: Any) -> Any:
    """Lists as the tuples that declarations are strict about."""
    match value:
        case dict():
            return {key: frozen(item) for key, item in value.items()}
        case list() | tuple():
            return tuple(frozen(item) for item in value)
        case _:
            return value


def _lines(value: Any, depth: int) -> list[str]:
    """A non-empty collection in block style."""
    indent = "  " * depth
    lines: list[str] = []
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, item in items:
        lead = f"{indent}{_key(key)}:" if key is not None else f"{indent}-"
        if not isinstance(item, dict | list) or not item:
            lines.append(f"{lead} {_scalar(item)}")
        elif key is None:
            first, *rest = _lines(item, depth + 1)
            lines += [f"{lead} {first.lstrip()}", *rest]
        else:
            lines += [lead, *_lines(item, depth + 1)]
    return lines


def _key(key: str) -> str:
    """`on` stays bare, as everyone writes it; YAML 1.2 reads it as text."""
    return key if key == "on" else _scalar(key)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and value.lower() not in _READ_OTHERWISE and _PLAIN.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)
