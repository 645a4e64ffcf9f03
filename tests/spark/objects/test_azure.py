"""Commits of tables and single files in a container of Azure's, on an emulator: once, or not at all."""

from collections.abc import Iterator
from decimal import Decimal

import pytest

from daybook.errors import DaybookError
from daybook.io.filesystem import arrow_path, list_files
from daybook.io.formats.delta.table import open_table, read_rows
from daybook.io.formats.delta.writer import DeltaWriter
from daybook.io.registry import writer_for
from tests.azure_store import (
    ACCOUNT,
    ACCOUNT_VARIABLE,
    SECRET,
    AzureStore,
    Container,
    azurite_program,
    running_azure_store,
)
from tests.spark.objects.by_hand import csv_target, delta_target, rows, stage_csv, stage_delta


@pytest.fixture(scope="session")
def azure_store() -> Iterator[AzureStore]:
    if azurite_program() is None:
        pytest.skip("Azurite is not here: tools/azurite")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(ACCOUNT_VARIABLE, f"{ACCOUNT}:{SECRET}")
        with running_azure_store() as store:
            yield store


@pytest.fixture
def container(azure_store: AzureStore, monkeypatch: pytest.MonkeyPatch) -> Container:
    monkeypatch.setenv(ACCOUNT_VARIABLE, f"{ACCOUNT}:{SECRET}")
    return azure_store.new_container()


def commit(container: Container, run_id: str, amount: str) -> None:
    target = delta_target(container, run_id)
    DeltaWriter().commit(stage_delta(target, rows(amount)), target)


def amounts(container: Container) -> list[Decimal]:
    amounts: list[Decimal] = read_rows(f"{container.uri}/lake/t", storage=container.storage)["amount"].to_pylist()
    return amounts


def version(container: Container) -> int:
    table = open_table(f"{container.uri}/lake/t", storage=container.storage)
    assert table is not None
    return table.version()


def test_one_file_is_put_whole_and_once(container: Container) -> None:
    target = csv_target(container, "now")
    staged = stage_csv(target, "id,amount\n1,2.00\n", 1)
    assert writer_for("csv").commit(staged, target).rows == 1
    assert writer_for("csv").commit(staged, target).is_repeat
    at = arrow_path(target.uri, container.storage)
    with at.system.open_input_stream(at.path) as stream:
        assert stream.read() == b"id,amount\n1,2.00\n"
    writer_for("csv").discard(target)
    assert [file.path for file in list_files(f"{container.uri}/out", storage=container.storage)] == [target.uri]


def test_a_slice_is_replaced_once(container: Container) -> None:
    commit(container, "before", "1.00")
    target = delta_target(container, "now")
    staged = stage_delta(target, rows("2.00"))
    assert DeltaWriter().commit(staged, target).rows == 3
    assert DeltaWriter().commit(staged, target).is_repeat
    assert (version(container), amounts(container)) == (1, [Decimal("2.00")] * 3)


def test_two_puts_of_one_version_make_one(container: Container) -> None:
    """Right before the first writer puts its version, the second one commits it."""
    commit(container, "before", "1.00")
    target = delta_target(container, "late")
    staged = stage_delta(target, rows("2.00"))
    others = iter(["first"])

    def commit_another(_: object) -> None:
        for run_id in others:
            commit(container, run_id, "3.00")

    with pytest.raises(DaybookError) as refused:
        DeltaWriter().commit(staged, target, commit_another)
    assert refused.value.code == "IO_024"
    assert (version(container), amounts(container)) == (1, [Decimal("3.00")] * 3)
