"""Lineage across projects: registered datasets, views, locations, and projects that read their own past."""

from typing import Any

import pytest

from daybook.definitions.files import definitions_of_files
from daybook.graph.column_lineage import CloseLineage, WrittenColumn
from daybook.graph.dependencies import derive_graph
from daybook.plan.expected import as_expected
from daybook.plan.lineage import InputColumn
from daybook.plan.plan_cache import PlanCache
from daybook.workspace.lineage import draw_lineage
from tests.workspaces import Folder, assign, no_session, to_path, to_table


@pytest.fixture
def folder(tmp_path: Any) -> Folder:
    return Folder.new(tmp_path / "w", no_session)


def lineage_of(folder: Folder) -> CloseLineage:
    workspace = folder.load()
    projects, plans = workspace.definitions["project"], PlanCache()
    base = definitions_of_files(workspace)
    graph = derive_graph({key: each.model for key, each in projects.items()}, base)
    return CloseLineage(projects, graph, as_expected(base, projects.values(), plans), plans)


def origins(folder: Folder, project: str, column: str) -> set[tuple[str, str, tuple[int, ...]]]:
    """The inputs of a column of a project's last output that nothing else computes."""
    close = lineage_of(folder)
    lineage = close.project(project)
    found = close.from_start(lineage.column(max(seq for seq, _ in lineage.columns), column))
    return {(f"{each.dataset_id}.{each.column}", each.how, each.operations) for each in found.inputs}


def total(column: str = "total", expression: str = "SUM(amount)", group: str = "region") -> dict[str, Any]:
    arguments = {"group_by": [group], "aggregations": [{"column": column, "expression": expression}]}
    return {"type": "aggregate", "arguments": arguments}


def test_a_column_goes_through_a_registered_dataset_to_its_source(folder: Folder) -> None:
    folder.project(assign("net", "amount * 2"), to_table(register_as_dataset="booked"), id_="maker")
    folder.project(assign("doubled", "net"), to_table("copy"), id_="reader", input_="booked")
    assert origins(folder, "reader", "doubled") == {("orders.amount", "transformation", (1,))}
    assert origins(folder, "reader", "region") == {("orders.region", "identity", ())}


def test_what_decides_in_an_earlier_project_decides_in_a_later_one(folder: Folder) -> None:
    folder.project({"type": "delete", "selector": "amount = 0"}, to_table(register_as_dataset="booked"), id_="maker")
    folder.project(to_table("copy"), id_="reader", input_="booked")
    assert origins(folder, "reader", "region") == {
        ("orders.region", "identity", ()),
        ("orders.amount", "selector", ()),
    }


def test_counting_rows_depends_on_what_the_project_before_left_of_them(folder: Folder) -> None:
    folder.project({"type": "delete", "selector": "amount = 0"}, to_table(register_as_dataset="booked"), id_="maker")
    selector = "_operation_seq = 1"
    output = {**to_table("copy", columns=["n"]), "selector": selector}
    folder.project(total("n", "COUNT(*)"), output, id_="reader", input_="booked")
    assert origins(folder, "reader", "n") == {
        ("orders.amount", "selector", (1,)),
        ("orders.region", "group_by", (1,)),
        # Where a region comes from, the rows of the maker decide, too.
        ("orders.amount", "group_by", (1,)),
    }


def test_rows_that_the_project_before_deleted_are_not_seen(folder: Folder) -> None:
    output = to_table(register_as_dataset="booked", include_deleted=True)
    folder.project({"type": "delete", "selector": "amount = 0"}, output, id_="maker")
    folder.project(to_table("copy", columns=["region"]), id_="reader", input_="booked")
    assert origins(folder, "reader", "region") == {
        ("orders.region", "identity", ()),
        ("orders.amount", "selector", ()),
        ("orders._deleted", "selector", ()),
    }


def test_an_indirect_use_makes_everything_before_it_indirect(folder: Folder) -> None:
    folder.project(assign("net", "amount * 2"), to_table(register_as_dataset="booked"), id_="maker")
    folder.project(assign("kind", 'IF(net > 100, "large", "small")'), to_table("copy"), id_="reader", input_="booked")
    assert origins(folder, "reader", "kind") == {("orders.amount", "condition", (1,))}


def test_a_view_leads_to_the_project_that_makes_what_it_views(folder: Folder) -> None:
    folder.define("dataset", {"id": "before", "view": {"of": "booked", "window": "previous"}})
    folder.project(assign("net", "amount * 2"), to_table(register_as_dataset="booked"), id_="maker")
    folder.project(to_table("copy"), id_="reader", input_="before")
    assert origins(folder, "reader", "net") == {("orders.amount", "transformation", ())}


def test_a_view_of_data_that_nothing_computes_is_that_data(folder: Folder) -> None:
    folder.define("dataset", {"id": "before", "view": {"of": "orders", "window": "previous"}})
    folder.project(to_table("copy"), id_="reader", input_="before")
    assert origins(folder, "reader", "amount") == {("orders.amount", "identity", ())}


def test_a_location_that_another_project_writes_leads_to_it(folder: Folder) -> None:
    columns = [{"name": "region", "type": "string"}, {"name": "net", "type": "decimal(38,2)"}]
    folder.dataset("sums", columns, {"path": "out/all.csv"})
    folder.project(assign("net", "amount * 2"), to_path("out/all.csv", columns=["region", "net"]), id_="maker")
    folder.project(to_table("copy", columns=["net"]), id_="reader", input_="sums")
    assert origins(folder, "reader", "net") == {("orders.amount", "transformation", ())}


def test_balances_that_roll_forward_come_from_what_moves_them(folder: Folder) -> None:
    """opening + movement = closing; the opening is the closing of the period before."""
    columns = [{"name": "region", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    folder.dataset("closing", columns, {"datasource_id": "lake", "table": "closing"}, temporal_mode="period")
    folder.define("dataset", {"id": "opening", "view": {"of": "closing", "window": "previous", "missing": "empty"}})
    output = {**to_table("closing", columns=["region", "amount"], register_as_dataset="closing")}
    folder.project(
        {"type": "append", "arguments": {"source": {"dataset_id": "opening"}}},
        total("amount"),
        {**output, "selector": "_operation_seq = 2"},
        id_="roll",
    )
    # Balances of earlier periods have the same inputs, which the append and the total pass on.
    assert origins(folder, "roll", "amount") == {
        ("orders.amount", "aggregation", (1, 2)),
        ("orders.region", "group_by", (1, 2)),
    }


def test_a_project_with_errors_is_data_that_nothing_computes(folder: Folder) -> None:
    columns = [{"name": "region", "type": "string"}]
    folder.dataset("sums", columns, {"datasource_id": "lake", "table": "sums"})
    folder.project(assign("region", "unknown"), to_table("sums", columns=["region"]), id_="maker")
    folder.project(to_table("copy"), id_="reader", input_="sums")
    assert origins(folder, "reader", "region") == {("sums.region", "identity", ())}


def downstream(folder: Folder, dataset: str, column: str) -> set[tuple[str, str, str]]:
    found = lineage_of(folder).downstream([InputColumn(dataset, column)])
    return {(written.project_id, str(written.column), how) for written, hows in found.items() for how in hows}


def test_downstream_goes_through_all_projects_that_follow(folder: Folder) -> None:
    folder.project(
        assign("net", "amount * 2"), to_table(register_as_dataset="booked", columns=["net", "region"]), id_="maker"
    )
    output = {**to_table("copy", columns=["total", "region"]), "selector": "_operation_seq = 1"}
    folder.project(total(expression="SUM(net)"), output, id_="reader", input_="booked")
    assert downstream(folder, "orders", "amount") == {
        ("maker", "net", "transformation"),
        ("reader", "total", "aggregation"),
    }
    assert downstream(folder, "booked", "net") == {("reader", "total", "aggregation")}
    assert downstream(folder, "orders", "region") == {
        ("maker", "region", "identity"),
        ("reader", "region", "identity"),
        ("reader", "region", "group_by"),
        ("reader", "total", "group_by"),
    }


def test_downstream_finds_what_upstream_names(folder: Folder) -> None:
    """Two walks in opposite directions over the same edges."""
    folder.project(
        {"type": "delete", "selector": "amount = 0"},
        assign("net", "amount * 2"),
        to_table(register_as_dataset="booked"),
        id_="maker",
    )
    folder.define("dataset", {"id": "before", "view": {"of": "booked", "window": "previous"}})
    folder.project(total(expression="SUM(net)"), to_table("copy"), id_="reader", input_="before")
    close = lineage_of(folder)
    upstream = {
        (WrittenColumn(project, seq, column), each.how)
        for project in ("maker", "reader")
        for seq, column in close.project(project).columns
        for each in close.from_start(close.project(project).column(seq, column)).inputs
        if (each.dataset_id, each.column) == ("orders", "amount")
    }
    found = close.downstream([InputColumn("orders", "amount")])
    assert {(written, how) for written, hows in found.items() for how in hows} == upstream


def test_the_picture_joins_the_projects_at_what_one_reads_of_the_other(folder: Folder) -> None:
    folder.project(assign("net", "amount * 2"), to_table(register_as_dataset="booked"), id_="maker")
    folder.project(assign("doubled", "net"), to_table("copy"), id_="reader", input_="booked")
    close = lineage_of(folder)
    picture = draw_lineage(close, [("reader", 2, "doubled")], to_start=True)
    names = {
        node.number: (node.role, node.project_id, node.column, node.text or node.dataset_id) for node in picture.nodes
    }
    assert {(names[edge.source], names[edge.target], edge.how) for edge in picture.edges} == {
        (("input", None, "amount", "orders"), ("value", "maker", "net", "amount * 2"), "transformation"),
        (("value", "maker", "net", "amount * 2"), ("output", "maker", "net", None), "identity"),
        (("output", "maker", "net", None), ("value", "reader", "doubled", "net"), "identity"),
        (("value", "reader", "doubled", "net"), ("output", "reader", "doubled", None), "identity"),
    }
