"""Runs of several periods commit to one table and register it in any order: no slice is ever missing for a reader."""

import datetime
import itertools
import operator
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from daybook.io.registry import format_named
from daybook.io.storage import PROVIDER_STORAGE
from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.resolve.location import Location
from daybook.runs.attempt.recorder import newest_pin
from daybook.runs.lifecycle.registration import register_output
from daybook.store.records import Registration
from tests.workspaces import Folder, no_session

NOW = datetime.datetime(2026, 4, 1, tzinfo=datetime.UTC)
PERIODS = ("2026-01", "2026-02", "2026-03")
COMMIT, REGISTER = "commit", "register"


def interleavings() -> Iterator[tuple[tuple[str, str], ...]]:
    """Every order of three commits and three registrations in which each run commits before it registers.

    No period differs from another, so that the order of the commits is always the same one.
    """
    steps = [(period, step) for period in PERIODS for step in (COMMIT, REGISTER)]
    for order in itertools.permutations(steps):
        commits = [order.index((period, COMMIT)) for period in PERIODS]
        registrations = [order.index((period, REGISTER)) for period in PERIODS]
        if commits == sorted(commits) and all(map(operator.lt, commits, registrations)):
            yield order


def commit(uri: str, period: str) -> TableVersion:
    rows = pa.table({"amount": [1], "_run_period": [period]})
    write_deltalake(uri, rows, mode="append", partition_by=["_run_period"])
    return TableVersion("delta", str(DeltaTable(uri).version()))


def periods_at(pin: RegisteredDataPin) -> set[str]:
    table = DeltaTable(pin.uri, version=int(pin.version.token))
    return set(table.to_pyarrow_table().column("_run_period").to_pylist())


def test_in_every_order_the_latest_version_holds_all_slices_that_are_registered(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    orders = list(interleavings())
    assert len(orders) == 15
    declared = folder.load().definitions["dataset"]["orders"].model
    with folder.around() as environment:
        for number, order in enumerate(orders):
            dataset = declared.model_copy(update={"id": f"booked-{number}"})
            uri = f"{tmp_path}/lake/{number}"
            committed: dict[str, TableVersion] = {}
            registered: set[str] = set()
            for period, step in order:
                if step == COMMIT:
                    committed[period] = commit(uri, period)
                    continue
                with environment.store.write() as transaction:
                    known, location = RegisteredDataPin(uri, committed[period]), Location("delta", uri=uri)
                    pin = newest_pin(known, location, tmp_path, PROVIDER_STORAGE)
                    registration = Registration("p", f"{number}-{period}", 1, pin)
                    register_output(transaction, dataset, registration, now=NOW)
                registered.add(period)
                with environment.store.read() as transaction:
                    latest = transaction.stored_definitions().declared(dataset.id)
                assert latest is not None
                assert latest.pin is not None
                assert registered <= periods_at(latest.pin), order


def test_a_table_that_is_gone_keeps_the_version_that_was_committed(tmp_path: Path) -> None:
    known = TableVersion("delta", "4")
    assert format_named("delta").newest_version(Location("delta", uri=f"{tmp_path}/none"), known, tmp_path) == known


def test_an_older_reading_of_a_table_never_takes_a_version_back(tmp_path: Path) -> None:
    commit(f"{tmp_path}/t", "2026-01")
    known = TableVersion("delta", "4")
    assert format_named("delta").newest_version(Location("delta", uri=f"{tmp_path}/t"), known, tmp_path) == known
