"""A period is sealed, verified from its file, and attacked in its tables."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from daybook.errors import DaybookError
from daybook.model.settings import RetentionSettings
from daybook.proof.certificate import read_certificate
from daybook.proof.envelope import read_private_key
from daybook.proof.seal import record_seal, sign_period
from daybook.proof.sealable_period import SealRequest, find_sealable
from daybook.proof.verification import Verification
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.garbage import collect_garbage
from daybook.workspace.certificates import (
    PeriodSeal,
    VerifyRequest,
    certificate_text,
    list_seals,
    make_key,
    prove_row,
    seal_period,
    verify_certificates,
)
from daybook.workspace.close import build_close
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.log import show_log, verify_log
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.periods import lock_period, reopen_period
from daybook.workspace.report import ReportRequest, write_report
from tests.workspaces import ORDERS, Folder, assign, to_path, to_table

Row = dict[str, Any]
TABLE = "p@2026-01:lake.result"


OPERATIONS: tuple[dict[str, Any], ...] = (
    assign("note", 'IF(order_id = "O-1", NULL, "")'),
    {"type": "check", "name": "amounts", "arguments": {"condition": "amount >= 0"}},
    to_table(),
    to_path("out/{{identifier}}.csv"),
)


class Close:
    """Orders into a Delta table that collects months and a CSV file per month; the first order has no region."""

    def __init__(self, folder: Folder, *operations: dict[str, Any], **project: Any) -> None:
        self.folder = folder
        self.keys = make_key("controlling", folder.root / "keys")
        if operations:
            folder.project(*operations, **project)
        else:
            folder.project(*OPERATIONS, measures=["amount"])
        self.workspace = open_workspace(folder.root, session=folder.session)
        activate_projects(self.workspace)

    def build(self, period: str) -> None:
        from daybook.graph.build_plan import BuildRequest

        build_close(self.workspace, BuildRequest(period))

    def close(self, period: str, name: str | None = None, **options: Any) -> PeriodSeal:
        self.build(period)
        lock_period(self.workspace, period)
        return self.seal(period, name, **options)

    def seal(self, period: str, name: str | None = None, **options: Any) -> PeriodSeal:
        key = f"file://{self.keys.private_key.resolve()}"
        return seal_period(self.workspace, period, key=key, out=self.file(name or period), **options)

    def file(self, name: str) -> Path:
        return self.folder.root.parent / f"{name}.json"

    def verify(self, *names: str, root: Path | None = None, **options: Any) -> tuple[Verification, ...]:
        files = tuple(self.file(name) for name in names)
        request = VerifyRequest(files=files, key=self.keys.public_key, **options)
        return verify_certificates(request, around=open_workspace(root or self.folder.root))

    def states(self, name: str = "2026-01") -> dict[str, str]:
        (verification,) = self.verify(name, data=True)
        assert verification.is_valid == all(subject.data == "same" for subject in verification.subjects)
        return {subject.name: subject.data for subject in verification.subjects}


@pytest.fixture
def close(folder: Folder) -> Close:
    return Close(folder)


def code(act: Callable[[], object]) -> str:
    with pytest.raises(DaybookError) as raised:
        act()
    return raised.value.code


def test_a_sealed_month_is_verified_without_its_store(close: Close, tmp_path: Path) -> None:
    seal = close.close("2026-01")
    assert [(subject.name, subject.rows) for subject in seal.subjects] == [
        (TABLE, 3),
        ("p@2026-01:out/2026-01.csv", 3),
    ]
    content = read_certificate(json.loads(close.file("2026-01").read_text()), Path("x"))
    (run,) = content.close.runs
    assert run.checks[0].name == "amounts"
    assert run.totals is not None
    assert run.totals["measures"][0]["column"] == "amount"
    assert str(close.folder.root) not in content.signed.payload.decode()
    report = write_report(close.workspace, ReportRequest("p@2026-01", has_differences=False), tmp_path / "r.html")
    assert seal.digest in report.path.read_text()
    # The auditor has a copy without the store.
    copy = tmp_path / "copy"
    shutil.copytree(close.folder.root, copy)
    for path in (copy / ".daybook").glob("store.db*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (verification,) = close.verify("2026-01", root=copy, data=True, recompute=True)
    assert verification.problems == ()
    assert {(subject.data, subject.recomputed) for subject in verification.subjects} == {("same", "same")}
    # Without the data there is nothing to compare.
    for name in ("lake", "out", "data", ".daybook/landing"):
        shutil.rmtree(copy / name)
    (verification,) = close.verify("2026-01", root=copy, data=True, recompute=True)
    assert {(subject.data, subject.recomputed) for subject in verification.subjects} == {("missing", "missing")}
    assert not verification.is_valid


def _change_amount(rows: list[Row]) -> None:
    rows[0]["amount"] += Decimal("0.01")


def _add_row(rows: list[Row]) -> None:
    rows.append(rows[0] | {"order_id": "O-9"})


def _repeat_row(rows: list[Row]) -> None:
    rows.append(rows[0])


def _remove_row(rows: list[Row]) -> None:
    rows.pop(0)


def _swap_amounts(rows: list[Row]) -> None:
    rows[0]["amount"], rows[1]["amount"] = rows[1]["amount"], rows[0]["amount"]


def _fill_null(rows: list[Row]) -> None:
    rows[0]["note"] = ""


def _empty_to_null(rows: list[Row]) -> None:
    rows[1]["note"] = None


def _reverse(rows: list[Row]) -> None:
    rows.reverse()


def test_a_table_that_was_changed_is_different(close: Close) -> None:
    close.close("2026-01")
    close.build("2026-02")
    # The slice of another month is not what was sealed.
    assert close.states()[TABLE] == "same"
    uri = str(close.folder.root / "lake" / "result")
    table = DeltaTable(uri).to_pyarrow_table()
    original = sorted(table.to_pylist(), key=lambda row: str(row["order_id"]))

    def write(rows: Sequence[Row], schema: pa.Schema = table.schema) -> None:
        content = pa.Table.from_pylist(list(rows), schema=schema)
        write_deltalake(uri, content, mode="overwrite", schema_mode="overwrite", partition_by=["_run_period"])

    for change in (
        _change_amount, _add_row, _repeat_row, _remove_row, _swap_amounts, _fill_null, _empty_to_null,
    ):  # fmt: skip
        rows = [dict(row) for row in original]
        change(rows)
        write(rows)
        assert close.states()[TABLE] == "different", change
    for unchanged in (_reverse,):
        rows = [dict(row) for row in original]
        unchanged(rows)
        write(rows)
        assert close.states()[TABLE] == "same"
    place = table.schema.get_field_index("amount")
    write(original, table.schema.set(place, pa.field("amount", pa.decimal128(19, 3))))
    assert close.states()[TABLE] == "different"
    shutil.rmtree(uri)
    assert close.states()[TABLE] == "missing"


def test_a_file_that_was_changed_is_different(close: Close) -> None:
    close.close("2026-01")
    file = close.folder.root / "out" / "2026-01.csv"
    content = file.read_text()
    for changed in (content.replace("100.00", "100.0"), content.replace("50.00", "50.01"), content + "\n"):
        assert changed != content
        file.write_text(changed)
        assert close.states()["p@2026-01:out/2026-01.csv"] == "different"
    file.write_text(content)
    assert close.states()["p@2026-01:out/2026-01.csv"] == "same"


def test_a_source_that_was_changed_cannot_be_computed_again(close: Close) -> None:
    close.close("2026-01")
    landing = close.folder.root / ".daybook" / "landing"
    shutil.rmtree(landing)
    # Computed from the file itself, also where it was copied without its time, and nothing is written beside it.
    copy = close.folder.root.parent / "copy"
    shutil.copytree(close.folder.root, copy, copy_function=shutil.copyfile)
    os.utime(copy / "data" / "orders.csv", (0, 0))
    for root in (close.folder.root, copy):
        (verification,) = close.verify("2026-01", root=root, recompute=True)
        assert {subject.recomputed for subject in verification.subjects} == {"same"}
        assert not (root / ".daybook" / "landing").exists()
    close.folder.write_csv("data/orders.csv", ORDERS[:2])
    (verification,) = close.verify("2026-01", recompute=True)
    assert {subject.recomputed for subject in verification.subjects} == {"missing"}
    assert any("its files have changed" in problem for problem in verification.problems)


def test_only_a_finished_and_locked_period_is_sealed(close: Close) -> None:
    assert code(lambda: close.seal("2026-01")) == "PROOF_005"
    close.build("2026-01")
    assert code(lambda: close.seal("2026-01")) == "PROOF_004"
    assert code(lambda: close.seal("2026-01..2026-02")) == "PROOF_007"
    assert code(lambda: close.seal("2026-01-15")) == "PROOF_007"
    assert close.file("2026-01").exists() is False
    refused = [(line.act, line.subject, line.refused) for line in show_log(close.workspace).lines if line.refused]
    assert refused == [("seal", "2026-01", "PROOF_004"), ("seal", "2026-01", "PROOF_005")]
    close.file("2026-01").write_text("kept")
    lock_period(close.workspace, "2026-01")
    assert code(lambda: close.seal("2026-01")) == "PROOF_003"
    assert close.file("2026-01").read_text() == "kept"


def test_a_locked_node_that_is_out_of_date_is_sealed_only_with_a_reason(close: Close) -> None:
    close.build("2026-01")
    lock_period(close.workspace, "2026-01")
    close.folder.write_csv("data/orders.csv", [*ORDERS, ORDERS[0] | {"order_id": "O-5"}])
    assert code(lambda: close.seal("2026-01")) == "PROOF_005"
    assert code(lambda: close.seal("2026-01", accept_stale=["p"])) == "PROOF_006"
    assert code(lambda: close.seal("2026-01", accept_stale=["q"], reason="late")) == "PROOF_006"
    seal = close.seal("2026-01", accept_stale=["p@2026-01"], reason="the invoice belongs to February")
    assert [(stale.node, stale.reason) for stale in seal.accepted_stale] == [
        ("p@2026-01", "the invoice belongs to February")
    ]
    (verification,) = close.verify("2026-01", data=True, recompute=True)
    assert verification.is_valid
    assert code(lambda: close.seal("2026-01", "again", accept_stale=["p", "p@2026-02"], reason="x")) == "PROOF_006"


def test_certificates_follow_and_replace_each_other(close: Close) -> None:
    january = close.close("2026-01")
    february = close.close("2026-02")
    assert (january.follows, february.follows) == (None, january.digest)
    reopen_period(close.workspace, "2026-01", reason="late invoice")
    close.folder.write_csv("data/orders.csv", [*ORDERS, ORDERS[0] | {"order_id": "O-5"}])
    again = close.close("2026-01", "again")
    assert again.replaces == january.digest
    first, second, third = close.verify("2026-01", "2026-02", "again")
    assert first.is_valid
    assert second.is_valid
    assert third.is_valid
    assert first.replaced_by == again.digest
    assert close.states("again")[TABLE] == "same"
    assert close.states("2026-01")[TABLE] == "different"
    listed = list_seals(close.workspace, period="2026-01")
    assert [(seal.digest, seal.replaced_by) for seal in listed] == [
        (january.digest, again.digest),
        (again.digest, None),
    ]
    assert certificate_text(close.workspace, again.digest) == close.file("again").read_text()
    assert code(lambda: certificate_text(close.workspace, "0" * 64)) == "PROOF_017"
    (run,) = [run for run in close.folder.all_runs() if run.period == "2026-02"]
    assert [seal.digest for seal in list_seals(close.workspace, run=run.id)] == [february.digest]
    acts = [line for line in show_log(close.workspace).lines if line.act == "seal"]
    assert [line.details["payload"] for line in acts] == [again.digest, february.digest, january.digest]
    # The head of the log at the time of the seal is in the certificate, so that a cut end would show.
    sealed = read_certificate(json.loads(again.text), Path("x"))
    assert verify_log(close.workspace, head=sealed.close.log_head).is_valid


@pytest.mark.slow
def test_what_was_sealed_is_kept(close: Close) -> None:
    close.close("2026-01")
    (run,) = close.folder.all_runs()
    reopen_period(close.workspace, "2026-01", reason="late invoice")
    for amount in ("1.00", "2.00", "3.00"):
        close.folder.write_csv("data/orders.csv", [*ORDERS, ORDERS[0] | {"order_id": "O-5", "amount": amount}])
        close.build("2026-01")
    with close.workspace.open_run_environment() as environment:
        collected = collect_garbage(environment, RetentionSettings(runs="0h", versions=1))
    assert collected.runs
    assert run.id not in collected.runs
    (verification,) = close.verify("2026-01", recompute=True)
    assert {subject.recomputed for subject in verification.subjects} == {"same"}


@pytest.mark.slow
def test_a_period_that_changes_while_it_is_sealed_is_not_sealed(close: Close) -> None:
    close.build("2026-01")
    lock_period(close.workspace, "2026-01")
    request = SealRequest(period="2026-01")
    key = read_private_key(f"file://{close.keys.private_key.resolve()}", close.folder.root)
    with close.workspace.open_run_environment() as environment:
        sealable = find_sealable(environment, CheckedFiles(close.workspace.read_definitions()), request)
        certificate = sign_period(environment, sealable, request, key, user="anna", workspace="tests")

        def record() -> None:
            with environment.store.write() as transaction:
                record_seal(transaction, sealable, certificate)

        reopen_period(close.workspace, "2026-01", reason="late invoice")
        assert code(record) == "PROOF_015"
        close.folder.write_csv("data/orders.csv", ORDERS[:2])
        close.build("2026-01")
        lock_period(close.workspace, "2026-01")
        assert code(record) == "PROOF_015"
        close.seal("2026-01")
        assert code(record) == "PROOF_015"
    assert len(list_seals(close.workspace)) == 1


def test_a_table_that_was_changed_before_is_not_sealed(folder: Folder) -> None:
    folder.datasource("books", "sqlite", path="books.db")
    close = Close(folder, to_table(datasource="books"))
    close.build("2026-01")
    lock_period(close.workspace, "2026-01")
    with closing(sqlite3.connect(folder.root / "books.db")) as database, database:
        database.execute("DELETE FROM result WHERE order_id = 'O-1'")
    assert code(lambda: close.seal("2026-01")) == "PROOF_008"
    assert not close.file("2026-01").exists()


def test_one_row_is_proven_from_the_certificate(close: Close) -> None:
    close.close("2026-01")
    certificate = close.file("2026-01")
    proof = prove_row(close.workspace, certificate, "lake.result", {"order_id": "O-2"}, out=close.file("proof"))
    assert proof.row["amount"] == "50.00"
    (verification,) = close.verify("proof", data=True)
    assert verification.is_valid
    assert [(subject.name, subject.data) for subject in verification.subjects] == [(TABLE, "same")]

    def prove(output: str, keys: dict[str, str | None]) -> object:
        return prove_row(close.workspace, certificate, output, keys, out=close.file("other"))

    assert code(lambda: prove("lake.other", {"order_id": "O-2"})) == "PROOF_011"
    assert code(lambda: prove(TABLE, {"order": "O-2"})) == "RUN_080"
    assert code(lambda: prove(TABLE, {"order_id": "O-7"})) == "PROOF_012"
    assert code(lambda: prove(TABLE, {"region": "EMEA"})) == "PROOF_012"
    assert not close.file("other").exists()


def test_a_certificate_that_nobody_could_verify_is_not_made(close: Close, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daybook.proof.seal.MOST_BYTES", 100)
    assert code(lambda: close.close("2026-01")) == "PROOF_014"
    assert list_seals(close.workspace) == ()


def test_rows_of_every_type_are_the_same_in_every_format(folder: Folder) -> None:
    """Sealed by Spark, read again in plain Python, and computed again; a row is there twice, and one is empty."""
    types = {
        "id": "integer",
        "name": "string",
        "amount": "decimal(20,4)",
        "ratio": "float",
        "is_open": "boolean",
        "day": "date",
        "at": "timestamp",
    }
    values = [
        ("1", "ä日本 \U0001f4b6", "0.0005", "2.5", "true", "2026-01-31", "2026-01-31T23:59:59.123456Z"),
        ("2", "it's", "-1234567890123456.7891", "1e-7", "false", "1970-01-01", "1969-12-31T00:00:00Z"),
        ("-7", "x", "12345678.1", "-12345678.9", "true", "9999-12-31", "2026-01-01T00:00:00.5Z"),
        *[("", "", "", "", "", "", "")] * 2,
    ]
    folder.write_csv("data/all.csv", [dict(zip(types, row, strict=True)) for row in values])
    folder.dataset("all", [{"name": name, "type": type_} for name, type_ in types.items()], {"path": "data/all.csv"})
    folder.datasource("files", "parquet", path="files")
    folder.datasource("books", "sqlite", path="books.db")
    folder.datasource("texts", "json", path="texts")
    folder.datasource(
        "ice", "iceberg", catalog="sql", uri=f"sqlite:///{folder.root}/ice.db", warehouse=str(folder.root / "ice")
    )
    close = Close(
        folder,
        *(to_table(datasource=name) for name in ("lake", "files", "books", "texts", "ice")),
        to_table("emptied", selector="FALSE"),
        to_path("out/all.csv"),
        to_path({"path": "out/safe.csv", "options": {"spreadsheet_safe": True}}),  # type: ignore[dict-item]
        to_path("out/all.jsonl"),
        to_path("out/all.parquet"),
        to_path("out/all.xlsx", columns=["id", "name", "is_open", "day", "at"]),
        to_path({"path": "out/parts", "format": "csv"}),
        input_="all",
    )
    seal = close.close("2026-01")
    assert len(seal.subjects) == 12
    (verification,) = close.verify("2026-01", data=True, recompute=True)
    states = {subject.name: (subject.data, subject.recomputed) for subject in verification.subjects}
    # A workbook does not give empty rows back.
    assert states.pop("p@2026-01:out/all.xlsx") == ("same", "missing")
    assert set(states.values()) == {("same", "same")}
    assert {subject.name: subject.rows for subject in seal.subjects if subject.rows != 5} == {
        "p@2026-01:lake.emptied": 0,
        "p@2026-01:out/all.xlsx": None,
        "p@2026-01:out/safe.csv": None,
    }
