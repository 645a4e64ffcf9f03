"""Values of parameters through a run, its snapshot, explain, replay, and what a build takes for fresh."""

from decimal import Decimal

import pytest

from daybook.errors import DaybookError
from daybook.graph.build import NodeResult, build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.graph.close import read_close
from daybook.graph.nodes import Node
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from daybook.resolve.project_files import CheckedFiles
from tests.workspaces import Folder, assign, to_path, to_table

PARAMETERS = {"least": {"type": "decimal(18,2)", "default": 60}, "region": {"type": "string", "default": "EMEA"}}
JANUARY = period_of("2026-01", GREGORIAN)


@pytest.fixture
def project(folder: Folder) -> Folder:
    folder.project(
        {"type": "delete", "selector": "amount < param.least OR region <> param.region", "id": "small"},
        to_path("out.csv", columns=["order_id", "amount"], order_by=["order_id"]),
        parameters=PARAMETERS,
    )
    folder.apply()
    folder.activate()
    return folder


def written(folder: Folder) -> list[str]:
    return (folder.root / "out.csv").read_text().splitlines()[1:]


def reasons(folder: Folder, **given: object) -> tuple[str, ...]:
    workspace = folder.load()
    with (
        folder.around(workspace) as around,
        read_close(CheckedFiles(workspace), around.store, parameters={"p": given}) as close,
    ):
        return close.freshness(Node("p", JANUARY)).reasons


def test_a_run_uses_and_records_what_it_is_given_and_past_runs_keep_it(project: Folder) -> None:
    first = project.run()
    assert written(project) == ["O-1,100.00"]
    assert first.parameters == {"least": "60", "region": "EMEA"}
    assert reasons(project) == ()
    assert reasons(project, least="60.00") == ()
    (reason,) = reasons(project, least=Decimal(1))
    assert reason == f"parameter least is 1, the run used {first.parameters['least']}"

    second = project.run(parameters={"least": "0", "region": "EMEA' OR TRUE OR region = 'x"}, allow_empty=True)
    assert written(project) == []
    third = project.run(parameters={"least": Decimal(0)})
    assert written(project) == ["O-1,100.00", "O-2,50.00"]
    assert reasons(project) == (f"parameter least is {first.parameters['least']}, the run used 0",)
    assert reasons(project, least=0) == ()

    assert project.replay(third.run_id).is_same
    explained = project.explain(first.run_id, "small", {"region": "EMEA"})
    assert explained.parameters == {"least": "60", "region": "EMEA"}
    deleted = explained.rows
    assert [row["order_id"] for row in deleted.rows] == ["O-2"]
    assert project.explain(second.run_id, "small").rows.count == 3


def test_a_wrong_value_is_refused_before_anything_is_written(project: Folder) -> None:
    for parameters, code in (({"least": "1.005"}, "RUN_048"), ({"last": "1"}, "RUN_047")):
        with pytest.raises(DaybookError) as caught:
            project.run(parameters=parameters)
        assert caught.value.code == code
    assert project.all_runs() == ()


@pytest.fixture
def chain(folder: Folder) -> Folder:
    """A ledger that leaves out small orders, and a list that multiplies what it booked by a rate."""
    folder.project(
        {"type": "delete", "selector": "amount < param.least"},
        to_table("ledger", columns=["order_id", "amount"]),
        id_="ledger",
        parameters={"least": {"type": "decimal(18,2)", "default": 60}},
    )
    columns = [{"name": "order_id", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    folder.dataset("booked", columns, {"datasource_id": "lake", "table": "ledger"}, temporal_mode="period")
    folder.project(
        assign("amount", "amount * param.rate"),
        to_path("list.csv", columns=["order_id", "amount"], order_by=["order_id"]),
        id_="list",
        input_="booked",
        parameters={"rate": {"type": "decimal(9,4)"}},
    )
    folder.apply()
    folder.activate("ledger")
    folder.activate("list")
    return folder


def built(folder: Folder, **parameters: dict[str, object]) -> dict[str, NodeResult]:
    workspace = folder.load()
    with folder.around(workspace) as around:
        result = build(CheckedFiles(workspace), around, BuildRequest("2026-01", parameters=parameters), BuildListener())
    return {each.node.project: each for each in result.nodes}


def listed(folder: Folder) -> list[str]:
    return (folder.root / "list.csv").read_text().splitlines()[1:]


def used(folder: Folder, run_id: str | None) -> dict[str, str]:
    return dict(folder.snapshot(str(run_id)).parameters)


def test_a_build_gives_each_project_its_values_and_runs_what_they_change(chain: Folder) -> None:
    first = built(chain, list={"rate": "2"}, ledger={"least": "50"})
    assert [each.result for each in first.values()] == ["ran", "ran"]
    assert listed(chain) == ["O-1,200.00", "O-2,100.00"]
    assert used(chain, first["ledger"].run) == {"least": "50"}
    assert used(chain, first["list"].run) == {"rate": "2"}

    again = built(chain, list={"rate": "2.0"}, ledger={"least": "50.00"})
    assert [each.result for each in again.values()] == ["fresh", "fresh"]

    other_rate = built(chain, list={"rate": "3"}, ledger={"least": "50"})
    assert [each.result for each in other_rate.values()] == ["fresh", "ran"]
    assert listed(chain) == ["O-1,300.00", "O-2,150.00"]

    # Without a value the default counts, so the ledger would run, and then the list, which has none.
    before = len(chain.all_runs())
    with pytest.raises(DaybookError) as caught:
        built(chain)
    assert (caught.value.code, caught.value.parameters["name"]) == ("RUN_049", "rate")
    assert len(chain.all_runs()) == before
    assert [each.result for each in built(chain, list={"rate": "3"}).values()] == ["ran", "ran"]
    assert listed(chain) == ["O-1,300.00"]
    # Nothing has to run, so nothing is needed.
    assert [each.result for each in built(chain).values()] == ["fresh", "fresh"]


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"list": {"rate": "1.00001"}}, "RUN_048"),
        ({"list": {"rat": "1"}}, "RUN_047"),
        ({"lists": {"rate": "1"}}, "RUN_001"),
        ({}, "RUN_049"),
    ],
)
def test_a_build_with_wrong_or_missing_values_runs_nothing(
    chain: Folder, parameters: dict[str, dict[str, object]], code: str
) -> None:
    with pytest.raises(DaybookError) as caught:
        built(chain, **parameters)
    assert caught.value.code == code
    assert chain.all_runs() == ()
