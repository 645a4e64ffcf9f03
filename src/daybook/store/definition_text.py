"""Definitions as the store keeps them: canonical JSON, and digests that show what changed."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from daybook.errors import DaybookError
from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset
from daybook.model.datasource import DataSource, Resolver
from daybook.model.definition import DefinitionKind
from daybook.model.project import Project
from daybook.model.serialization import from_canonical, to_canonical
from daybook.model.view import View

DefinitionModel: TypeAlias = Dataset | View | DataSource | Resolver | Calendar | Project


def stored_json(text: str) -> Any:
    """The value of a JSON text in the store; STORE_041 when it is not what was written."""
    try:
        return json.loads(text)
    except ValueError as damage:
        reason = f"a stored text is not valid JSON ({damage})"
        raise DaybookError("STORE_041", place="the address in daybook.yaml", reason=reason) from damage


@dataclass(frozen=True, slots=True)
class DefinitionText:
    """`structure_digest` leaves out what is only said about a definition: names, descriptions, accepted warnings."""

    body: str
    text_digest: str
    structure_digest: str


def encode_filled(kind: DefinitionKind, written: DefinitionModel, filled: DefinitionModel) -> DefinitionText:
    """The text of what is stored, under the digests of what the file says."""
    return replace(encode_definition(kind, written), body=encode_definition(kind, filled).body)


def encode_definition(kind: DefinitionKind, model: DefinitionModel) -> DefinitionText:
    content = to_canonical(model)
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return DefinitionText(body, _digest(content), _digest(structural_content(kind, content)))


def decode_definition(kind: DefinitionKind, body: str) -> Any:
    return from_canonical(kind, stored_json(body))


def structural_content(kind: DefinitionKind, content: dict[str, Any]) -> dict[str, Any]:
    """What makes a version when it changes."""
    bare: dict[str, Any] = _without_descriptions({key: value for key, value in content.items() if key != "name"})
    if kind == "dataset":
        # How changes are found out changes nothing of what is read.
        bare.pop("freshness", None)
    if kind == "project":
        bare["operations"] = [
            {key: value for key, value in operation.items() if key not in ("name", "accept")}
            for operation in bare["operations"]
        ]
        if "parameters" in bare:
            bare["parameters"] = {name: _without_descriptions(each) for name, each in bare["parameters"].items()}
    return bare


# Free-form maps of the user, in which `description` is a value like any other.
_FREE_FORM_FIELDS = frozenset(
    {"options", "selectors", "expressions", "parameters", "params", "headers", "resolver_overrides"}
)


def _without_descriptions(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: item if key in _FREE_FORM_FIELDS else _without_descriptions(item)
                for key, item in value.items()
                if key != "description"
            }
        case list():
            return [_without_descriptions(item) for item in value]
        case _:
            return value


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
