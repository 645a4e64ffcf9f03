"""Values of parameters through a run, its snapshot, explain, replay, and what a build takes for fresh."""

from decimal import Decimal

import pytest

from daybook.errors import DaybookError
from daybook.graph.close import read_close
from daybook.graph.nodes import Node
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from tests.workspaces import Folder, to_path

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
    with folder.around(workspace) as around, read_close(workspace, around.store, parameters={"p": given}) as close:
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
    deleted = project.explain(first.run_id, "small", {"region": "EMEA"}).rows
    assert [row["order_id"] for row in deleted.rows] == ["O-2"]
    assert project.explain(second.run_id, "small").rows.count == 3


def test_a_wrong_value_is_refused_before_anything_is_written(project: Folder) -> None:
    for parameters, code in (({"least": "1.005"}, "RUN_048"), ({"last": "1"}, "RUN_047")):
        with pytest.raises(DaybookError) as caught:
            project.run(parameters=parameters)
        assert caught.value.code == code
    assert project.all_runs() == ()
