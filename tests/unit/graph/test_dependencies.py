"""The graph of a close is derived from what projects read and write."""

from typing import Any

import pytest

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading import load_text
from daybook.definitions.loading.loaded_workspace import LoadedWorkspace
from daybook.graph import dependencies
from daybook.graph.dependencies import Dependency, ProjectGraph, cycle_errors, derive_graph
from tests.workspaces import Folder, assign, no_session, to_path, to_table


@pytest.fixture
def folder(tmp_path: Any) -> Folder:
    return Folder.new(tmp_path / "w", no_session)


def graph_of(folder: Folder) -> ProjectGraph:
    workspace: LoadedWorkspace = folder.load()
    projects = {each.id: each.model for each in workspace.definitions["project"].values()}
    return derive_graph(projects, definitions_of_files(workspace))


def pairs(folder: Folder) -> set[tuple[str, str, str]]:
    return {(each.maker, each.reader, each.dataset) for each in graph_of(folder).dependencies}


def test_a_registered_dataset_leads_to_who_registers_it(folder: Folder) -> None:
    folder.project(assign("x", "1"), to_table(register_as_dataset="booked"), id_="maker")
    folder.project(to_table("copy"), id_="reader", input_="booked")
    assert pairs(folder) == {("maker", "reader", "booked")}


def test_a_declared_dataset_leads_to_who_writes_its_table(folder: Folder) -> None:
    folder.dataset("sums", [{"name": "a", "type": "string"}], {"datasource_id": "lake", "table": "sums"})
    folder.project(assign("a", '"x"'), to_table("sums", columns=["a"]), id_="maker")
    folder.project(to_table("copy"), id_="reader", input_="sums")
    assert pairs(folder) == {("maker", "reader", "sums")}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("out/{{identifier}}.csv", "out/{{YYYY}}-{{MM}}.csv"),
        ("out/{{identifier}}.csv", "out/2026-01.csv"),
        ("./out/all.csv", "out/all.csv"),
        ("lake/sums", "lake/sums"),
    ],
)
def test_a_path_leads_to_who_writes_it(folder: Folder, written: str, read: str) -> None:
    location = {"path": read, "format": "csv"}
    folder.dataset("sums", [{"name": "order_id", "type": "string"}], location)
    folder.project(to_path({"path": written, "format": "csv"}, columns=["order_id"]), id_="maker")
    folder.project(to_table("copy"), id_="reader", input_="sums")
    assert pairs(folder) == {("maker", "reader", "sums")}


def test_other_paths_lead_nowhere(folder: Folder) -> None:
    folder.dataset("sums", [{"name": "order_id", "type": "string"}], {"path": "out/other.csv"})
    folder.project(to_path("out/{{identifier}}/x.csv", columns=["order_id"]), id_="maker")
    folder.project(to_table("copy"), id_="reader", input_="sums")
    assert pairs(folder) == set()


def test_joins_and_appends_count_like_the_input(folder: Folder) -> None:
    folder.project(assign("x", "1"), to_table(register_as_dataset="booked"), id_="maker")
    join = {"alias": "b", "dataset_id": "booked", "on": "orders.order_id = b.order_id"}
    assignment = [{"column": "y", "expression": "b.x"}]
    folder.project(
        {"type": "update", "arguments": {"joins": [join], "assignments": assignment}}, to_table("j"), id_="joins"
    )
    folder.project({"type": "append", "arguments": {"source": {"dataset_id": "booked"}}}, to_table("a"), id_="appends")
    assert pairs(folder) == {("maker", "joins", "booked"), ("maker", "appends", "booked")}


def test_a_view_leads_to_who_makes_what_it_views(folder: Folder) -> None:
    folder.define("dataset", {"id": "before", "view": {"of": "booked", "window": "previous"}})
    folder.project(assign("x", "1"), to_table(register_as_dataset="booked"), id_="maker")
    folder.project(to_table("copy"), id_="reader", input_="before")
    (found,) = graph_of(folder).dependencies
    assert (found.maker, found.reader, found.dataset, found.looks_back) == ("maker", "reader", "before", True)


def project(id_: str) -> Any:
    text = f"project: {{id: {id_}, input: {{dataset_id: d}}, operations: [{{type: delete, arguments: {{}}}}]}}"
    (definition,) = load_text(text, "p.yaml")
    return definition.model


def graph(*dependencies: Dependency) -> ProjectGraph:
    ids = {each for dependency in dependencies for each in (dependency.maker, dependency.reader)}
    return ProjectGraph({id_: project(id_) for id_ in sorted(ids)}, dependencies)


def view(window: Any) -> tuple[Any, ...]:
    (definition,) = load_text(f"dataset: {{id: v, view: {{of: d, window: {window}}}}}", "v.yaml")
    return (definition.model.view,)


def test_projects_that_wait_for_each_other_are_an_error_with_their_path() -> None:
    found = list(cycle_errors(graph(Dependency("a", "b", "x"), Dependency("b", "c", "y"), Dependency("c", "a", "z"))))
    assert [error.code for error in found] == ["PROJECT_044"]
    assert all(name in found[0].message for name in "abc")


def test_a_cycle_that_looks_back_is_none() -> None:
    assert list(cycle_errors(graph(Dependency("a", "b", "x"), Dependency("b", "a", "y", view("previous"))))) == []


def test_a_project_may_read_its_own_earlier_periods_and_no_others() -> None:
    assert list(cycle_errors(graph(Dependency("a", "a", "x", view("{offset: -12}"))))) == []
    assert [error.code for error in cycle_errors(graph(Dependency("a", "a", "x", view("{last: 2}"))))] == [
        "PROJECT_044"
    ]


def test_a_view_of_later_periods_inside_a_cycle_is_an_error() -> None:
    ahead = Dependency("b", "a", "y", view("{offset: 1}"))
    assert [error.code for error in cycle_errors(graph(Dependency("a", "b", "x", view("previous")), ahead))] == [
        "PROJECT_044"
    ]


def test_what_is_needed_and_what_needs() -> None:
    found = graph(Dependency("b", "a", "x"), Dependency("c", "b", "y"), Dependency("d", "a", "z"))
    assert found.upstream(["c"]) == {"a", "b", "c"}
    assert found.downstream(["b"]) == {"b", "c"}
    assert found.downstream(["a"]) == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("written", "read"),
    [("out/{{identifier}}/sums", "out/all/{{identifier}}"), ("{{YYYY}}-{{MM}}/sums", "2026-01/sums"), ("o{{MM}}", "o")],
)
def test_tokens_stand_for_any_text_within_a_name(folder: Folder, written: str, read: str) -> None:
    folder.dataset("sums", [{"name": "order_id", "type": "string"}], {"path": read, "format": "csv"})
    folder.project(to_path({"path": written, "format": "csv"}, columns=["order_id"]), id_="maker")
    folder.project(to_path({"path": f"deep/{written}", "format": "csv"}, columns=["order_id"]), id_="other")
    folder.project(to_table("copy"), id_="reader", input_="sums")
    assert pairs(folder) == {("maker", "reader", "sums")}


def test_a_reader_is_compared_with_what_is_written_below_its_folder(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        location = {"path": f"data/s{number}/{{{{identifier}}}}.csv"}
        folder.dataset(f"s{number}", [{"name": "order_id", "type": "string"}], location)
        target = {"path": f"out/t{number}/{{{{identifier}}}}.csv", "format": "csv"}
        folder.project(to_path(target, columns=["order_id"]), id_=f"p{number}", input_=f"s{number}")
    compared: list[tuple[str, str]] = []
    monkeypatch.setattr(dependencies, "_may_be_same", lambda one, other: compared.append((one, other)))
    assert pairs(folder) == set()
    assert compared == []
