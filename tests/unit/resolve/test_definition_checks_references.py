"""What only several definitions together get wrong."""

from pathlib import Path

import pytest

from daybook.definitions.loading import load_workspace
from daybook.resolve.definition_checks import check_references

LAKE = "datasource: {id: lake, type: delta, options: {path: lake}}\n"
ORDERS = (
    "dataset:\n"
    "  id: orders\n"
    "  main_table:\n"
    "    name: orders\n"
    "    columns: [{name: a, type: string}]\n"
    "    location: {datasource_id: lake, table: orders}\n"
)
RESOLVER = "resolver: {id: r, rules: [{name: x, strategy: {type: path, datasource_id: lake, path: x}}]}\n"


def findings(root: Path, *documents: str) -> list[tuple[str, dict[str, object]]]:
    (root / "daybook.yaml").write_text("name: test\n")
    (root / "all.yaml").write_text("---\n".join(documents))
    return [(error.code, dict(error.parameters)) for error in check_references(load_workspace(root))]


def project(body: str) -> str:
    return f"project:\n  id: p\n  {body}\n"


def test_a_workspace_that_fits_together(tmp_path: Path) -> None:
    whole = project(
        "input: {dataset_id: orders}\n"
        "  calendar_id: gregorian\n"
        "  resolver_overrides: {orders: r}\n"
        "  operations:\n"
        "    - {type: append, arguments: {source: {dataset_id: made}}}\n"
        "    - {type: output, arguments: {destination: {datasource_id: lake, table: out}}}"
    )
    maker = (
        "project:\n  id: q\n  input: {dataset_id: orders}\n  operations:\n"
        "    - {type: output, arguments: {destination: {datasource_id: lake, table: m}, register_as_dataset: made}}\n"
    )
    assert findings(tmp_path, LAKE, ORDERS, RESOLVER, whole, maker) == []


@pytest.mark.parametrize(
    ("document", "kind", "id_"),
    [
        (ORDERS.replace("id: orders\n", "id: x\n", 1).replace("lake", "leak"), "datasource", "leak"),
        (
            "dataset: {id: x, resolver_id: rr, main_table: {name: t, columns: [{name: a, type: string}]}}\n",
            "resolver",
            "rr",
        ),
        (RESOLVER.replace("id: r,", "id: s,").replace("lake", "leak"), "datasource", "leak"),
    ],
)
def test_references_to_nothing(tmp_path: Path, document: str, kind: str, id_: str) -> None:
    assert findings(tmp_path, LAKE, ORDERS, RESOLVER, document) == [("MODEL_061", {"kind": kind, "id": id_})]


def test_ids_of_the_sandbox(tmp_path: Path) -> None:
    (one,) = findings(tmp_path, LAKE, ORDERS.replace("id: orders\n", "id: sandbox.orders\n", 1))
    assert one[0] == "MODEL_028"


def test_two_default_resolvers(tmp_path: Path) -> None:
    first = RESOLVER.replace("id: r,", "id: r, is_default: true,")
    second = RESOLVER.replace("id: r,", "id: s, is_default: true,")
    assert findings(tmp_path, LAKE, first, second) == [("MODEL_062", {"first": "r", "second": "s"})]
