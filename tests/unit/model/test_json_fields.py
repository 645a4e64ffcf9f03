"""How fields of results stand in JSON and in its schema; expected values are written by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import computed_field

from daybook.model.json_fields import (
    ExactNumber,
    ExactValues,
    Hidden,
    Merged,
    ShownAs,
    UnlessEmpty,
    UnlessNone,
    as_objects,
    named,
)
from daybook.workspace.result_json import as_json, json_schemas


class NotForJson:
    """Pydantic knows nothing of it."""


@dataclass(frozen=True, slots=True)
class Owner:
    name: str
    number: Annotated[int, named("no")]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_first(self) -> bool:
        return self.number == 1


def _upper(text: str) -> str:
    return text.upper()


@dataclass(frozen=True, slots=True)
class Result:
    owner: Merged[Owner]
    helper: Merged[Owner | None]
    amount: ExactNumber
    code: Annotated[str, ShownAs(_upper, str)]
    values: ExactValues
    versions: Annotated[tuple[tuple[str, int], ...], as_objects("id", "version")]
    secret: Hidden[NotForJson]
    notes: UnlessEmpty[tuple[str, ...]] = ()
    reason: UnlessNone[str | None] = None
    # A user's key is never taken for something of ours.
    details: Mapping[str, Any] | None = None


FULL = Result(
    Owner("ann", 1),
    None,
    Decimal("1E+2"),
    "a",
    {"n": 2, "ok": True, "t": None, "x": Decimal("0.10")},
    (("orders", 3),),
    NotForJson(),
    ("note",),
    "",
    {"owner": {"name": "bob"}},
)


def test_fields_stand_in_their_order() -> None:
    assert list(as_json(FULL).items()) == [
        ("name", "ann"),
        ("no", 1),
        ("is_first", True),
        ("amount", "100"),
        ("code", "A"),
        ("values", {"n": "2", "ok": True, "t": None, "x": "0.10"}),
        ("versions", [{"id": "orders", "version": 3}]),
        ("notes", ["note"]),
        ("reason", ""),
        ("details", {"owner": {"name": "bob"}}),
    ]


def test_keys_of_nothing_are_missing() -> None:
    shown = as_json(Result(Owner("ann", 2), None, 1, "", {}, (), NotForJson()))
    assert shown.keys() == {"name", "no", "is_first", "amount", "code", "values", "versions", "details"}


def test_the_schema_describes_what_is_written() -> None:
    schemas, definitions = json_schemas([Result], "#/{model}")
    assert schemas[Result] == {"$ref": "#/Result"}
    described = definitions["Result"]
    assert list(described["properties"]) == [
        *("name", "no", "is_first", "amount", "code", "values", "versions", "notes", "reason", "details"),
    ]
    assert set(described["required"]) == {"name", "no", "is_first", "amount", "code", "values", "versions", "details"}
    assert described["properties"]["amount"]["type"] == "string"
    assert described["additionalProperties"] is False
