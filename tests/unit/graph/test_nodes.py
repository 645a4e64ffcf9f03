"""Nodes of a close: levels, spans of days and edges to other periods, counted by hand."""

from typing import Any

import pytest

from daybook.definitions.loading import load_text
from daybook.errors import DaybookError
from daybook.graph.dependencies import Dependency, ProjectGraph
from daybook.graph.nodes import CloseGraph, Node, in_order, parse_span
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from tests.unit.resolve.definitions import in_memory


def project(id_: str, level: str | None = None) -> Any:
    body = f"id: {id_}, input: {{dataset_id: d}}, operations: [{{type: delete, arguments: {{}}}}]"
    (definition,) = load_text(f"project: {{{body}{f', level: {level}' if level else ''}}}", "p.yaml")
    return definition.model


def view(window: str, missing: str = "error") -> tuple[Any, ...]:
    text = f"dataset: {{id: v, view: {{of: d, window: {window}, missing: {missing}}}}}"
    (definition,) = load_text(text, "v.yaml")
    return (definition.model.view,)


def close(*dependencies: Dependency, levels: dict[str, str] | None = None, span_level: str = "month") -> CloseGraph:
    ids = {each for dependency in dependencies for each in (dependency.maker, dependency.reader)}
    projects = {id_: project(id_, (levels or {}).get(id_)) for id_ in sorted(ids)}
    return CloseGraph(ProjectGraph(projects, dependencies), in_memory(), {}, span_level)


def node(text: str) -> Node:
    project_id, _, period = text.partition("@")
    return Node(project_id, period_of(period, GREGORIAN))


def makers(found: CloseGraph, text: str) -> list[str]:
    return [edge.maker.name for edge in found.edges_of(node(text))]


def test_without_a_view_the_same_period_is_read() -> None:
    assert makers(close(Dependency("b", "a", "x")), "b@2026-03") == ["a@2026-03"]


@pytest.mark.parametrize(
    ("completed", "together", "maker"),
    [
        ({"2026-02", "2026-04"}, [], "a@2026-02"),
        ({"2026-04", "2026-05"}, [], "a@2026-04"),
        ({"2026-02", "2026-03"}, [], "a@2026-03"),
        (set(), [], "a@2026-03"),
        ({"2026-02"}, ["a@2026-03"], "a@2026-03"),
    ],
)
def test_what_has_no_time_is_read_from_the_nearest_period_that_completed(
    completed: set[str], together: list[str], maker: str
) -> None:
    """Of March; a node that is going to run beside it gives March's own."""
    dependency = Dependency("b", "a", "x", reads_nearest=True)
    graph = ProjectGraph({id_: project(id_) for id_ in ("a", "b")}, (dependency,))
    nodes = CloseGraph(graph, in_memory(), {}, "month", {"a": frozenset(completed)})
    edges = nodes.edges_of(node("b@2026-03"), [node(name) for name in together])
    assert [edge.maker.name for edge in edges] == [maker]


def test_a_view_leads_to_other_periods() -> None:
    assert makers(close(Dependency("a", "a", "x", view("previous"))), "a@2026-01") == ["a@2025-12"]
    assert makers(close(Dependency("b", "a", "x", view("{to_date: year}"))), "b@2026-03") == [
        "a@2026-01",
        "a@2026-02",
        "a@2026-03",
    ]


def test_a_quarter_needs_its_months_and_a_month_its_quarter() -> None:
    coarse = close(Dependency("b", "a", "x"), levels={"b": "quarter", "a": "month"})
    assert makers(coarse, "b@2026-Q1") == ["a@2026-01", "a@2026-02", "a@2026-03"]
    fine = close(Dependency("b", "a", "x"), levels={"b": "month", "a": "quarter"})
    assert makers(fine, "b@2026-02") == ["a@2026-Q1"]


def test_a_span_is_days_and_each_project_has_its_own_periods_in_it() -> None:
    found = close(Dependency("b", "a", "x"), levels={"b": "quarter"})
    span = parse_span("2026-01..2026-04", ())
    assert [each.name for each in found.nodes_in(span, ["a", "b"])] == [
        "a@2026-01",
        "b@2026-Q1",
        "a@2026-02",
        "a@2026-03",
        "a@2026-04",
    ]
    assert found.left_out(parse_span("2026-01", ()), ["a", "b"]) == ("b",)


def test_a_span_that_ends_before_it_begins_is_refused_with_the_way_out() -> None:
    with pytest.raises(DaybookError) as raised:
        parse_span("2026-03..2026-01", ())
    assert (raised.value.code, raised.value.hint) == ("RESOLVE_002", "write 2026-01..2026-03")


def test_makers_come_before_readers() -> None:
    found = close(Dependency("b", "a", "x"), Dependency("a", "a", "y", view("previous", "empty")))
    nodes = [node(text) for text in ("b@2026-01", "a@2026-02", "a@2026-01", "b@2026-02")]
    edges = {each: found.edges_of(each) for each in nodes}
    names = [each.name for each in in_order(nodes, edges)]
    assert names.index("a@2026-01") < names.index("b@2026-01")
    assert names.index("a@2026-01") < names.index("a@2026-02") < names.index("b@2026-02")
