"""Where data comes from and goes to, checked before anything runs."""

from dataclasses import replace

import pytest

from daybook.definitions.value import Definitions, LatestVersion
from daybook.errors import DaybookError
from daybook.model.datasource import DataSource, FolderOptions, FolderSource, PostgresqlOptions, PostgresqlSource
from tests.unit.plan.planned import CUSTOMERS, ORDERS, OUTPUT, append, codes, datasets, findings, join

LOCATED = ORDERS + "    location: {path: data/orders.csv}\n"


def test_data_that_nothing_leads_to() -> None:
    found = findings(join() + append() + OUTPUT, with_locations=True)
    assert [(error.code, error.operation_seq) for error in found] == [
        ("PROJECT_026", None),
        ("PROJECT_026", 1),
        ("APPEND_007", 2),
    ]


def test_an_output_needs_its_data_source() -> None:
    located = ORDERS + "    location: {path: data/orders.csv}\n"
    target = "- {type: output, arguments: {destination: {datasource_id: lake, table: t}}}\n"
    assert codes(target, definitions=datasets(located), with_locations=True) == ["OUTPUT_020"]


LAKE = FolderSource(id="lake", name="Lake", type="delta", options=FolderOptions(path="lake"))
POSTGRESQL = PostgresqlSource(id="pg", name="PostgreSQL", type="postgresql", options=PostgresqlOptions(database="d"))


def with_datasource(datasource: DataSource, *texts: str) -> Definitions:
    return replace(datasets(*texts), datasources={datasource.id: LatestVersion.of(datasource)})


@pytest.mark.parametrize("table", ["a/b", "../evil", "t{{MM}}"])
def test_an_output_into_a_folder_has_a_name_that_a_folder_can_have(table: str) -> None:
    located = ORDERS + "    location: {path: data/orders.csv}\n"
    target = f'- {{type: output, arguments: {{destination: {{datasource_id: lake, table: "{table}"}}}}}}\n'
    (found,) = findings(target, definitions=with_datasource(LAKE, located), with_locations=True)
    assert (found.code, found.parameters["table"]) == ("RESOLVE_038", table)


def test_names_that_postgresql_would_cut_are_refused() -> None:
    located = ORDERS + "    location: {path: data/orders.csv}\n"
    table, column = "t" * 64, "c" * 64
    operations = (
        f"- {{type: update, arguments: {{assignments: [{{column: {column}, expression: '1'}}]}}}}\n"
        f"- {{type: output, arguments: {{destination: {{datasource_id: pg, table: {table}}}}}}}\n"
    )
    found = findings(operations, definitions=with_datasource(POSTGRESQL, located), with_locations=True)
    assert [(each.code, each.parameters.get("table") or each.parameters["column"]) for each in found] == [
        ("RESOLVE_038", table),
        ("IO_060", column),
    ]
    assert (
        findings(operations.replace(table, "t").replace(column, "c"), definitions=with_datasource(POSTGRESQL, located))
        == []
    )


def test_a_project_may_not_read_what_it_writes() -> None:
    located = ORDERS + "    location: {path: data/orders.csv}\n"
    target = "- {type: output, arguments: {destination: {location: data/orders.csv}}}\n"
    assert codes(target, definitions=datasets(located)) == ["PROJECT_009"]


def test_each_join_of_a_dataset_that_nothing_leads_to_has_its_place() -> None:
    joins = [f"{{alias: {alias}, dataset_id: customers, on: 'customer_id = {alias}.id'}}" for alias in "ab"]
    located = ORDERS + "    location: {path: data/orders.csv}\n"
    operations = (
        f"- {{type: update, arguments: {{joins: [{', '.join(joins)}], "
        "assignments: [{column: x, expression: a.tier}, {column: y, expression: b.tier}]}}\n"
    )
    found = findings(operations + OUTPUT, definitions=datasets(located, CUSTOMERS), with_locations=True)
    spans = [error.span for error in found if error.span]
    assert [span.text[span.start : span.end] for span in spans] == joins


def found_at(error: DaybookError) -> str:
    assert error.span is not None
    return error.span.text[error.span.start : error.span.end]


@pytest.mark.parametrize(
    ("head", "code", "id_"),
    [("calendar_id: fiscal", "RESOLVE_003", "fiscal"), ("resolver_overrides: {orders: rr}", "MODEL_061", "rr")],
)
def test_calendars_and_resolvers_must_exist(head: str, code: str, id_: str) -> None:
    (found,) = findings(OUTPUT, head=f"{head}\n", definitions=datasets(LOCATED), with_locations=True)
    assert (found.code, found_at(found)) == (code, id_)


def test_an_override_is_for_a_dataset_that_exists() -> None:
    head = "resolver_overrides: {ordrs: rr}\n"
    first, second = findings(OUTPUT, head=head, definitions=datasets(LOCATED), with_locations=True)
    assert (first.parameters, first.hint) == ({"kind": "dataset", "id": "ordrs"}, "did you mean orders?")
    assert found_at(first) == "ordrs"
    assert second.parameters == {"kind": "resolver", "id": "rr"}


def test_a_view_has_a_window_that_the_calendar_knows() -> None:
    view = "dataset: {id: past, view: {of: orders, window: {to_date: decade}}}\n"
    operations = "- {type: append, arguments: {source: {dataset_id: past}}}\n" + OUTPUT
    (found,) = findings(operations, definitions=datasets(LOCATED, view), with_locations=True)
    assert (found.code, found_at(found)) == ("PROJECT_043", "{dataset_id: past}")


def test_the_built_in_calendar_needs_no_definition() -> None:
    assert codes(OUTPUT, head="calendar_id: gregorian\n", definitions=datasets(LOCATED), with_locations=True) == []


def test_everything_that_does_not_exist_is_reported_beside_a_missing_input() -> None:
    assert codes(append("nobody") + OUTPUT, definitions=datasets(CUSTOMERS)) == ["PROJECT_020", "APPEND_001"]
