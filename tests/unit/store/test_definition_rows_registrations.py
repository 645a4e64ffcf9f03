"""Projects that read what other projects register, in every order of commands; nothing runs on Spark here."""

import datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.model.dataset import Dataset
from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.recorder import registered_dataset
from daybook.runs.attempt.run_request import RunRequest
from daybook.store.records import Registration
from daybook.workspace.findings import check_workspace
from daybook.workspace.lifecycle import activate_project, apply_changes, plan_changes
from daybook.workspace.open_workspace import open_workspace
from tests.prepared_runs import prepare_runs
from tests.workspaces import COLUMNS, Folder, assign, no_session, to_table

NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
ORDERS = tuple(permutations(("apply", "activate make", "activate read", "register")))
# Each command is first, second, third and last, before and after each other one.
ROTATIONS = [ORDERS[0][number:] + ORDERS[0][:number] for number in range(4)]
DECLARED = [{"name": "order_id", "type": "string"}, {"name": "tax", "type": "decimal(38,2)"}]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder.new(tmp_path, no_session)


def make(folder: Folder, column: str = "tax") -> None:
    """The project `make` registers `made`, with a column that it computes."""
    columns = ["order_id", column]
    folder.project(assign(column, "amount * 1"), to_table(columns=columns, register_as_dataset="made"), id_="make")


def read(folder: Folder, column: str = "tax", **reference: Any) -> None:
    """The project `read` reads a column of `made`."""
    reading = {"dataset_id": "made", **reference}
    folder.project(assign("twice", f"{column} * 2"), to_table("twice"), id_="read", input=reading)


def prepared_run(folder: Folder, project: str) -> PreparedRun:
    """Everything a run does before it exists."""
    workspace = folder.load()
    with folder.around(workspace) as environment:
        (prepared,) = prepare_runs(workspace, environment, RunRequest(project, "2026-01"))
    return prepared


def registers(folder: Folder, run: str) -> int:
    """What a run of `make` does to the store; the version it registers."""
    prepared = prepared_run(folder, "make")
    output = prepared.outputs[-1]
    pin = RegisteredDataPin(f"{folder.root}/lake/result", TableVersion("delta", "1"))
    with folder.around() as environment, environment.store.write() as transaction:
        registration = Registration("make", run, output.step.seq, pin)
        return transaction.definitions.register(registered_dataset(output, prepared), registration, now=NOW)


def errors(folder: Folder) -> list[str]:
    return sorted({error.code for error in check_workspace(folder.load()).errors})


def activated(folder: Folder, project: str) -> list[str]:
    return [notice.code for notice in activate_project(open_workspace(folder.root), project).notices]


def test_a_project_is_activated_before_what_it_reads_was_registered(folder: Folder) -> None:
    make(folder)
    read(folder)
    for project in ("read", "make"):
        assert activated(folder, project) == []
    assert errors(folder) == []
    apply_changes(open_workspace(folder.root))
    with folder.around() as environment, environment.store.read() as transaction:
        assert transaction.projects.get("read").status == "active"


def test_a_renamed_column_is_found_with_a_store_as_without(folder: Folder) -> None:
    make(folder)
    read(folder)
    apply_changes(open_workspace(folder.root))
    registers(folder, "run-1")
    for project in ("make", "read"):
        activated(folder, project)
    make(folder, "duty")
    assert errors(folder) == ["STORE_025", "UPDATE_006"]
    (effect,) = [each for each in plan_changes(open_workspace(folder.root)).effects if each.project_id == "read"]
    # Nothing is broken yet, and it will be.
    assert (effect.after, effect.findings, effect.makers) == ("active", (), ("make",))
    assert {error.code for error in effect.expected} == {"STORE_025", "UPDATE_006"}
    with pytest.raises(DaybookError) as refused:
        activated(folder, "read")
    assert refused.value.code == "UPDATE_006"
    # Whoever activates the cause learns of it.
    assert activated(folder, "make") == ["STORE_033"]


def test_a_project_that_was_adapted_waits_for_the_run_before_it(folder: Folder) -> None:
    make(folder)
    read(folder)
    apply_changes(open_workspace(folder.root))
    registers(folder, "run-1")
    make(folder, "duty")
    read(folder, "duty")
    assert errors(folder) == []
    for project in ("make", "read"):
        activated(folder, project)
    apply_changes(open_workspace(folder.root))
    with folder.around() as environment, environment.store.read() as transaction:
        assert transaction.projects.get("read").status == "active"
    with pytest.raises(DaybookError) as early:
        prepared_run(folder, "read")
    assert early.value.code == "STORE_034"
    assert registers(folder, "run-2") == 2
    apply_changes(open_workspace(folder.root))
    assert prepared_run(folder, "read").snapshot.source("input").dataset_id == "made"


def test_a_version_that_no_run_has_registered_says_what_to_run_first(folder: Folder) -> None:
    make(folder)
    read(folder, dataset_version=1)
    (error,) = check_workspace(folder.load()).errors
    assert error.code == "PROJECT_021"
    assert error.hint == "project make registers made: run `daybook run make --period PERIOD` first"
    read(folder)
    with pytest.raises(DaybookError) as early:
        prepared_run(folder, "read")
    assert (early.value.code, early.value.hint) == ("PROJECT_020", error.hint)


def test_what_cannot_be_registered_is_found_before_anything_is_written(folder: Folder) -> None:
    folder.project(to_table(columns=["_row_id"], register_as_dataset="bare"), id_="make")
    assert errors(folder) == ["OUTPUT_007"]
    folder.project(to_table("period", register_as_dataset="bare"), id_="make")
    assert errors(folder) == ["OUTPUT_022"]


@pytest.mark.parametrize(
    ("declared", "difference"),
    [
        (
            {"columns": [{"name": "tax", "type": "date"}]},
            "tax is date in the declaration and decimal(20,2) in the output",
        ),
        ({"columns": [{"name": "vat", "type": "date"}]}, "vat is not written"),
        ({"columns": DECLARED, "temporal_mode": "bitemporal"}, "its temporal_mode is bitemporal, which the output"),
        ({"columns": DECLARED, "location": {"path": "data/made.csv"}}, "it has another location"),
    ],
)
def test_a_declaration_that_the_output_does_not_keep_is_an_error_with_both_schemas(
    folder: Folder, declared: dict[str, Any], difference: str
) -> None:
    make(folder)
    folder.define("dataset", {"id": "made", "main_table": {"name": "made", **declared}})
    (error,) = check_workspace(folder.load()).errors
    assert error.code == "OUTPUT_023"
    assert str(error.parameters["difference"]).startswith(difference)
    assert error.parameters["written"] == "order_id string, tax decimal(20,2)"
    assert error.span is not None


def test_a_run_brings_the_declaration_of_what_it_registers_with_it(folder: Folder) -> None:
    make(folder)
    folder.dataset("made", DECLARED, None, temporal_mode="period")
    assert registers(folder, "run-1") == 2
    folder.dataset("made", [{"name": "vat", "type": "date"}], None)
    with pytest.raises(DaybookError) as refused:
        prepared_run(folder, "make")
    assert refused.value.code == "OUTPUT_023"


def test_a_view_is_not_registered(folder: Folder) -> None:
    make(folder)
    folder.define("dataset", {"id": "made", "view": {"of": "orders", "window": "previous"}})
    assert errors(folder) == ["OUTPUT_023"]


@pytest.mark.parametrize(
    "order",
    [pytest.param(order, marks=() if order in ROTATIONS else pytest.mark.slow) for order in ORDERS],
    ids=" ".join,
)
@pytest.mark.parametrize("is_declared_late", [False, True])
def test_no_order_of_commands_makes_a_declared_and_registered_dataset_unusable(
    folder: Folder, order: tuple[str, ...], is_declared_late: bool
) -> None:
    make(folder)
    read(folder)

    def declare() -> None:
        folder.dataset("made", DECLARED, None, temporal_mode="period")

    def execute(step: str, number: int) -> None:
        match step.split():
            case ["apply"]:
                apply_changes(open_workspace(folder.root))
            case ["activate", project]:
                activated(folder, project)
            case _:
                registers(folder, f"run-{number}")

    if not is_declared_late:
        declare()
    for number, step in enumerate(order):
        execute(step, number)
    declare()
    for number, step in enumerate((*order, *reversed(order)), 10):
        execute(step, number)
    assert errors(folder) == []
    with folder.around() as environment, environment.store.read() as transaction:
        found = transaction.stored_definitions().declared("made")
        assert found is not None
        assert isinstance(found.dataset, Dataset)
        assert found.pin is not None
        assert [str(column.type) for column in found.dataset.main_table.columns] == ["string", "decimal(38,2)"]
        assert transaction.projects.get("read").status == "active"
    assert prepared_run(folder, "read").snapshot.source("input").dataset_id == "made"


def test_a_declaration_that_is_taken_back_releases_the_dataset(folder: Folder) -> None:
    make(folder)
    folder.dataset("made", [{"name": "vat", "type": "date"}], None)
    apply_changes(open_workspace(folder.root))
    assert errors(folder) == ["OUTPUT_023"]
    (folder.root / "definitions" / "dataset-made.yaml").unlink()
    apply_changes(open_workspace(folder.root), prune=True)
    assert errors(folder) == []
    assert registers(folder, "run-1") == 2
    read(folder)
    assert errors(folder) == []
    activated(folder, "read")


def test_null_is_not_allowed_where_it_never_was(folder: Folder) -> None:
    folder.project(to_table(register_as_dataset="made"), id_="make")
    apply_changes(open_workspace(folder.root))
    registers(folder, "run-1")
    with folder.around() as environment, environment.store.read() as transaction:
        found = transaction.stored_definitions().dataset("made")
        assert found is not None
        nullable = {column.name: column.nullable for column in found.dataset.main_table.columns}
    assert nullable == {"order_id": False, "region": True, "amount": True}
    assert {column["name"] for column in COLUMNS if column.get("nullable") is False} == {"order_id"}


@pytest.mark.parametrize(
    "operation",
    [
        assign("order_id", 'NULLIF(order_id, "O-1")'),
        {
            "type": "aggregate",
            "arguments": {"group_by": ["region"], "aggregations": [{"column": "n", "expression": "COUNT(*)"}]},
        },
        {"type": "append", "arguments": {"source": {"dataset_id": "more"}}},
    ],
    ids=["update", "aggregate", "append"],
)
def test_what_an_operation_may_make_null_is_nullable(folder: Folder, operation: dict[str, Any]) -> None:
    folder.dataset("more", [{**COLUMNS[0], "nullable": True}, *COLUMNS[1:]], {"path": "data/more.csv"})
    folder.project(operation, to_table(register_as_dataset="made"), id_="make")
    apply_changes(open_workspace(folder.root))
    registers(folder, "run-1")
    with folder.around() as environment, environment.store.read() as transaction:
        found = transaction.stored_definitions().dataset("made")
        assert found is not None
        assert all(column.nullable for column in found.dataset.main_table.columns)
