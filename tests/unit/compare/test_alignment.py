"""Which operation is which: by written id, by what it does, by type and name."""

from typing import Any

from daybook.compare.alignment import align_operations, operation_content, with_named_texts
from daybook.model.operation import UpdateOperation
from daybook.model.project import Project
from daybook.model.serialization import frozen


def update(
    seq: int, expression: str = "1", *, id_: str | None = None, name: str = "Set", **more: Any
) -> dict[str, Any]:
    assignments = [{"column": "x", "expression": expression}]
    return {
        "id": id_ or f"op-{seq}",
        "seq": seq,
        "name": name,
        "type": "update",
        "arguments": {"assignments": assignments},
        **more,
    }


def project(*operations: dict[str, Any], **selectors: str) -> Project:
    body = {
        "id": "p",
        "name": "p",
        "input": {"dataset_id": "d"},
        "operations": list(operations),
        "selectors": selectors,
    }
    return Project.model_validate(frozen(body))


def pairs(a: Project, b: Project) -> list[tuple[int | None, int | None]]:
    return [(each.a.seq if each.a else None, each.b.seq if each.b else None) for each in align_operations(a, b)]


def test_a_written_id_wins_over_what_the_operation_does() -> None:
    a = project(update(1, "1", id_="rate"), update(2, "2", id_="fee"))
    b = project(update(1, "2", id_="rate"), update(2, "1", id_="fee"))

    assert pairs(a, b) == [(1, 1), (2, 2)]


def test_without_ids_an_inserted_operation_moves_those_after_it() -> None:
    a = project(update(1, "1"), update(2, "2"))
    b = project(update(1, "1"), update(2, "9", name="New"), update(3, "2"))

    assert pairs(a, b) == [(1, 1), (None, 2), (2, 3)]


def test_what_changed_is_found_by_type_and_name() -> None:
    a = project(update(1, "1", name="Rate"), update(2, "2", name="Fee"))
    b = project(update(5, "3", name="Fee"))

    assert pairs(a, b) == [(2, 5), (1, None)]


def test_a_named_selector_counts_for_the_operations_that_use_it() -> None:
    uses = update(1, selector="{{ big }} AND x > 1")
    a, b = project(uses, big="x > 100"), project(uses, big="x > 200")

    assert operation_content(a.operations[0], a.selectors) != operation_content(b.operations[0], b.selectors)
    assert pairs(a, b) == [(1, 1)]


def test_named_texts_are_written_out_in_parentheses_but_not_inside_of_texts() -> None:
    operation = project(update(1, selector="{{a}} OR note = '{{a}}'")).operations[0]

    written = with_named_texts(operation, {"a": "{{b}} AND y", "b": "x > 1"})

    assert isinstance(written, UpdateOperation)
    assert written.selector == "((x > 1) AND y) OR note = '{{a}}'"


def test_the_place_an_output_writes_to_does_not_change_its_rows() -> None:
    outputs = [
        {
            "id": "out",
            "seq": 9,
            "name": "Out",
            "type": "output",
            "arguments": {"destination": {"location": path}, "mode": "replace"},
        }
        for path in ("a.csv", "b.csv")
    ]
    first, second = (project(each).operations[0] for each in outputs)

    assert operation_content(first, {}) == operation_content(second, {})
