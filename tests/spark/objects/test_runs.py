"""Runs whose sources, tables, files and state are on an object store."""

import datetime
import io
import json
from dataclasses import replace
from decimal import Decimal

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daybook.errors import DaybookError
from daybook.errors.render import render
from daybook.io.formats.delta.writer import DeltaWriter
from daybook.runs.run_result import RunFailedError
from daybook.workspace.maintenance import apply_retention, examine
from daybook.workspace.numbers import NumbersRequest, read_numbers
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from tests.object_store import KEY
from tests.spark.objects.folder import ObjectFolder, csv_text
from tests.workspaces import ORDERS, dump, to_path


def opened(folder: ObjectFolder) -> OpenedWorkspace:
    return open_workspace(folder.root, session=folder.session)


def test_a_run_is_repeated_replayed_explained_and_shown(folder: ObjectFolder) -> None:
    result = folder.run("2026-01")
    amounts = {row["order_id"]: row["amount"] for row in folder.table()}
    assert amounts == {"O-1": Decimal("200.00"), "O-2": Decimal("100.00"), "O-3": Decimal("0.00")}
    folder.run("2026-02")
    assert folder.ids() == [("2026-01", "O-1"), ("2026-01", "O-2"), ("2026-01", "O-3"), ("2026-02", "O-4")]
    assert folder.replay(result.run_id).is_same
    explained = folder.explain(result.run_id, 1, {"order_id": "O-1"})
    assert "200.00" in str(explained)
    page = read_numbers(opened(folder), NumbersRequest(result.run_id))
    assert len(page.rows) == 3
    assert KEY.partition(":")[2] not in folder.snapshot(result.run_id).to_json()


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not_landed_twice(folder: ObjectFolder) -> None:
    folder.run("2026-01")
    folder.run("2026-01")
    assert len([key for key in folder.bucket.keys("state/landing/") if key.endswith("manifest.json")]) == 1
    folder.bucket.put("data/orders.csv", csv_text([{**ORDERS[0], "amount": "7.00"}]))
    folder.run("2026-01")
    assert [row["amount"] for row in folder.table()] == [Decimal("14.00")]
    assert len([key for key in folder.bucket.keys("state/landing/") if key.endswith("manifest.json")]) == 2


def test_one_file_of_each_format_is_put_whole(folder: ObjectFolder) -> None:
    uri = folder.bucket.uri
    outputs = [
        to_path(f"{uri}/out/{{{{identifier}}}}.{name}", columns=["order_id", "amount"], order_by=["order_id"])
        for name in ("csv", "json", "parquet", "xlsx")
    ]
    folder.project(*outputs)
    folder.run("2026-01")
    bucket = folder.bucket
    rows = [("O-1", "100.00"), ("O-2", "50.00"), ("O-3", "0.00")]
    assert bucket.read("out/2026-01.csv").decode().split() == ["order_id,amount", *map(",".join, rows)]
    lines = bucket.read("out/2026-01.json").decode().splitlines()
    assert [json.loads(line)["order_id"] for line in lines] == ["O-1", "O-2", "O-3"]
    stored = pq.read_table(io.BytesIO(bucket.read("out/2026-01.parquet"))).to_pylist()
    assert [(row["order_id"], str(row["amount"])) for row in stored] == rows
    sheet = openpyxl.load_workbook(io.BytesIO(bucket.read("out/2026-01.xlsx")))["Data"]
    assert [row[0] for row in sheet.iter_rows(min_row=2, values_only=True)] == ["O-1", "O-2", "O-3"]
    assert [key for key in bucket.keys("out/") if "daybook-" in key] == []


@pytest.mark.parametrize("format_", ["parquet", "json", "xlsx"])
def test_a_file_of_each_format_is_read(format_: str, folder: ObjectFolder) -> None:
    rows = [{"_period": "2026-01", "order_id": "O-1", "amount": Decimal("1.25")}]
    content = io.BytesIO()
    match format_:
        case "parquet":
            schema = pa.schema([("_period", pa.string()), ("order_id", pa.string()), ("amount", pa.decimal128(18, 2))])
            pq.write_table(pa.Table.from_pylist(rows, schema), content)
        case "json":
            content.write(b'{"_period": "2026-01", "order_id": "O-1", "amount": 1.25}\n')
        case _:
            book = openpyxl.Workbook()
            assert book.active is not None
            book.active.append(list(rows[0]))
            book.active.append(["2026-01", "O-1", 1.25])
            book.save(content)
    folder.bucket.put(f"given/März 2026/rows.{format_}", content.getvalue())
    columns = [{"name": "order_id", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    given = f"{folder.bucket.uri}/given/März 2026/rows.{format_}"
    folder.dataset("orders", columns, {"path": given}, temporal_mode="period")
    folder.run("2026-01")
    assert [(row["order_id"], row["amount"]) for row in folder.table()] == [("O-1", Decimal("2.50"))]


def test_folders_of_plain_files_are_refused(folder: ObjectFolder) -> None:
    folder.project(to_path({"path": f"{folder.bucket.uri}/out", "format": "csv"}))
    with pytest.raises(DaybookError) as refused:
        folder.run("2026-01")
    assert [cause.code for cause in refused.value.causes] == ["IO_025"]


def test_a_run_that_fails_at_its_commit_is_retried(folder: ObjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("the network is gone")

    with monkeypatch.context() as patched:
        patched.setattr(DeltaWriter, "commit", refuse)
        with pytest.raises(RunFailedError):
            folder.run("2026-01")
    assert folder.bucket.keys("lake/result/_delta_log/") == []
    folder.retry(folder.last_run().id)
    assert folder.ids() == [("2026-01", "O-1"), ("2026-01", "O-2"), ("2026-01", "O-3")]


def test_doctor_and_gc_find_what_was_left_there(folder: ObjectFolder) -> None:
    folder.run("2026-01")
    folder.run("2026-01")
    bucket = folder.bucket
    bucket.client.create_multipart_upload(Bucket=bucket.name, Key="state/landing/half.parquet")
    assert bucket.uploads() == ["state/landing/half.parquet"]
    found = {finding.subject: finding for finding in examine(opened(folder)).findings}
    assert found[f"Bucket {bucket.uri}"].detail == "commits are atomic"
    assert found["Data source lake"].state == "ok"
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=400)
    workspace = replace(opened(folder), clock=lambda: later)
    before = len(bucket.keys("lake/result/"))
    collected = apply_retention(workspace)
    assert f"{bucket.uri}/state/landing/half.parquet" in collected.files
    assert bucket.uploads() == []
    assert len(bucket.keys("lake/result/")) <= before
    assert folder.ids() == [("2026-01", "O-1"), ("2026-01", "O-2"), ("2026-01", "O-3")]


def test_doctor_says_what_is_wrong_with_a_bucket(folder: ObjectFolder) -> None:
    nowhere = "s3://nowhere-at-all"
    storage = {folder.bucket.uri: folder.bucket.settings, nowhere: folder.bucket.settings}
    state = f"{folder.bucket.uri}/state"
    (folder.root / "daybook.yaml").write_text(dump({"name": "tests", "state": state, "storage": storage}))
    found = {finding.subject: finding for finding in examine(opened(folder)).findings}
    assert found[f"Bucket {nowhere}"].state == "problem"


def test_a_draft_writes_to_a_sandbox_in_the_bucket(folder: ObjectFolder) -> None:
    settings = (folder.root / "daybook.yaml").read_text()
    (folder.root / "daybook.yaml").write_text(f"{settings}sandbox: {folder.bucket.uri}/sandbox\n")
    folder.run("2026-01", is_draft=True)
    assert folder.bucket.keys("lake/") == []
    assert folder.bucket.keys("sandbox/lake/result/_delta_log/") != []


def test_a_wrong_key_is_refused_with_a_code_and_is_not_shown(
    folder: ObjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAYBOOK_TEST_S3_KEY", "close:not-the-secret")
    with pytest.raises(DaybookError) as refused:
        folder.run("2026-01")
    assert [cause.code for cause in refused.value.causes] == ["IO_073"]
    assert "not-the-secret" not in render(refused.value)
