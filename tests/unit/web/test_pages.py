"""The pages without a browser: what they show, and what they say where there is nothing."""

import re
from decimal import Decimal
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest

import daybook
from daybook.errors import DaybookError
from tests.page import RUN, client, page_folder, record_run
from tests.workspaces import COLUMNS, Folder, assign, no_session, to_table
from tests.written_runs import write_run


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return page_folder(tmp_path)


def text_of(folder: Folder, path: str) -> str:
    answer = client(folder).get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_an_empty_close_says_what_to_do(folder: Folder) -> None:
    assert "daybook build --period PERIOD" in text_of(folder, "/close")
    assert "daybook run PROJECT --period PERIOD" in text_of(folder, "/runs")
    assert "No such runs" in text_of(folder, "/runs?project=q")


def test_a_failed_run_says_why_and_the_way_out(folder: Folder) -> None:
    cause = DaybookError("IO_002", file="b.csv", column="x", hint="look there")
    record_run(folder, status="failed", error=DaybookError("APPEND_008", causes=(cause,), dataset_id="budgets"))
    shown = text_of(folder, f"/runs/{RUN}")
    assert "APPEND_008" in shown
    assert "IO_002" in shown
    assert "look there" in shown


def test_a_page_that_is_not_there_is_a_page(folder: Folder) -> None:
    answer = client(folder).get("/runs/nothing")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "STORE_014" in answer.text


def test_commands_and_names_in_messages_are_code_and_nothing_else_is_markup(folder: Folder) -> None:
    answer = client(folder).get("/nothing%60%3Cb%3E%60")
    assert answer.status_code == 404
    assert "start at the page <code>close</code>" in answer.text
    assert "<b>" not in answer.text


def test_the_login_leads_to_no_page_that_needs_it(folder: Folder) -> None:
    shown = client(folder, token=None).get("/login").text
    assert 'href="/runs"' not in shown
    assert 'name="token"' in shown


def test_texts_of_users_are_escaped(folder: Folder) -> None:
    record_run(folder)
    shown = text_of(folder, "/runs?project=%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE")
    assert "<script>alert" not in shown
    assert "\u202e" not in shown


def test_a_large_output_is_summed_up_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(to_table(columns=["order_id", "amount"]))
    amounts = pa.array([Decimal("100.00"), Decimal("0.50"), Decimal("7.00")], pa.decimal128(18, 2))
    run_id = write_run(folder, {1: pa.table({"order_id": ["O-1", "O-2", "O-3"], "amount": amounts})})
    browser = client(folder)
    place = f"/runs/{run_id}/outputs/1"
    assert "107.50" in browser.get(place).text
    monkeypatch.setattr("daybook.workspace.numbers._MOST_SUMMED_ROWS", 2)
    short = browser.get(place, params={"sort": "-amount"}).text
    assert "107.50" not in short
    (way,) = re.findall(r'href="([^"]*totals=true)"', short)
    assert "107.50" in browser.get(unescape(way)).text


def test_the_numbers_of_a_draft_are_there_where_nothing_else_is(folder: Folder) -> None:
    record_run(folder, is_draft=True)
    shown = text_of(folder, "/numbers")
    assert f"/runs/{RUN}/outputs/2" in shown
    assert '<span class="tag">draft</span>' in shown
    record_run(folder, "20260302-093000-abcdef")
    assert f"/runs/{RUN}/outputs/2" not in text_of(folder, "/numbers")


def test_places_in_the_workspace_are_shown_from_its_folder(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(to_table(columns=["order_id"]))
    run_id = write_run(folder, {1: pa.table({"order_id": ["O-1"]})})
    for path in (f"/runs/{run_id}", f"/runs/{run_id}/outputs/1", "/numbers"):
        assert str(tmp_path) not in text_of(folder, path)


def test_a_run_says_what_its_parameters_were(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    rate = {"type": "decimal(4,2)", "default": "0.90"}
    folder.project(
        assign("net", "amount * param.rate"), to_table(columns=["order_id", "net"]), parameters={"rate": rate}
    )
    amounts = pa.array([Decimal("90.0000")], pa.decimal128(22, 4))
    run = write_run(folder, {2: pa.table({"order_id": ["O-1"], "net": amounts})})
    assert "<dt>Parameter rate</dt><dd>0.90</dd>" in text_of(folder, f"/runs/{run}")
    report = daybook.Workspace(folder.root).report(run, tmp_path / "report.html", differences=False)
    assert "<dt>Parameter rate</dt><dd>0.90</dd>" in report.path.read_text()


def test_what_is_not_up_to_date_is_listed_by_period_and_then_by_project(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    for project in ("b", "a"):
        folder.project(to_table(f"of_{project}", columns=["order_id"]), id_=project)
        folder.apply()
        folder.activate(project)
        for period in ("2026-02", "2026-01"):
            write_run(folder, {1: pa.table({"order_id": ["O-1"]})}, period, project=project)
    folder.dataset("orders", COLUMNS, {"path": "data/moved.csv"}, temporal_mode="period")
    shown = text_of(folder, "/close")
    why = shown[shown.index("What is not up to date") :]
    found = re.findall(r'/definitions/project/(\w)">\w</a></td><td><a href="/periods/(2026-\d\d)"', why)
    assert found == [("a", "2026-01"), ("b", "2026-01"), ("a", "2026-02"), ("b", "2026-02")]


def test_the_close_says_which_files_it_leaves_out(folder: Folder) -> None:
    record_run(folder)
    (folder.root / "definitions" / "broken.yaml").write_text("project: {id: q, inputt: {}}\n")
    shown = text_of(folder, "/close")
    assert "MODEL_089" in shown
    assert "broken.yaml" in shown


def test_a_run_lists_what_it_read_once_with_the_steps_that_used_it(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    again = {"type": "append", "arguments": {"source": {"dataset_id": "orders"}}}
    folder.project(again, again, to_table(columns=["order_id"]))
    run = write_run(folder, {3: pa.table({"order_id": ["O-1"]})})
    shown = text_of(folder, f"/runs/{run}")
    assert shown.count('href="/definitions/dataset/orders?version=1"') == 1
    assert '<td class="wrap">input, 1, 2</td>' in shown


def test_a_log_without_actions_says_how_to_start_one(folder: Folder) -> None:
    assert "--allow-actions" in text_of(folder, "/actions")
    allowed = client(folder, allows_actions=True).get("/actions").text
    assert "--allow-actions" not in allowed
    assert 'href="/periods">close a period' in allowed
