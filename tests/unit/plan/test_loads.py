"""References to views: what a registered dataset allows is known when it is planned."""

import pytest

from tests.unit.plan.planned import BUDGET, CUSTOMERS, ORDERS, OUTPUT, codes, datasets

APPEND = "- {type: append, arguments: {source: {dataset_id: before}}}\n"
VALID = CUSTOMERS.replace("name: customers\n", "name: customers\n    temporal_mode: bitemporal\n")


def view_of(dataset: str, window: str) -> str:
    return f"dataset: {{id: before, view: {{of: {dataset}, window: {window}}}}}"


@pytest.mark.parametrize(
    ("viewed", "window", "expected"),
    [
        ("customers", "previous", ["MODEL_084"]),
        ("valid", "{last: 2}", ["MODEL_085"]),
        ("budget", "previous", []),
        ("budget", "{last: 2}", []),
    ],
)
def test_a_view_of_a_registered_dataset_looks_at_what_it_has(viewed: str, window: str, expected: list[str]) -> None:
    texts = {"customers": CUSTOMERS, "valid": VALID, "budget": BUDGET}
    view = view_of("customers" if viewed == "valid" else viewed, window)
    assert codes(APPEND + OUTPUT, definitions=datasets(ORDERS, texts[viewed], view)) == expected
