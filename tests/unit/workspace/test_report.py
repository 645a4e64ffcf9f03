"""The report of a run: one file that needs nothing else, shows what the run did, and replaces nothing but a report."""

import datetime
import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest

import daybook
from daybook.compare.bridge_result import BridgeResult, Cause, CauseName, RowCounts
from daybook.compare.compared_run import ComparedRows, ComparedRun
from daybook.compare.diff import DiffRequest
from daybook.compare.diff_result import ColumnTotal, DiffCounts, DiffResult, RowChange
from daybook.errors import DaybookError
from daybook.workspace import report as report_module
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.report import ReportRequest, write_report
from tests.workspaces import Folder, assign, no_session, to_path, to_table
from tests.written_runs import write_run

COLUMNS = ["order_id", "region", "amount"]


def orders(*rows: tuple[str, str | None, str]) -> pa.Table:
    amounts = pa.array([Decimal(row[2]) for row in rows], pa.decimal128(18, 2))
    ids, regions = [row[0] for row in rows], pa.array([row[1] for row in rows], pa.string())
    return pa.table({"order_id": ids, "region": regions, "amount": amounts})


JANUARY = orders(("O-2", None, "-5000.25"), ("O-1", "EMEA", "1234567.10"), ("O-3", "APAC", "0.10"))


class Page(HTMLParser):
    """What a reader sees and what a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._is_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._is_style = tag == "style"

    def handle_data(self, data: str) -> None:
        if not self._is_style:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder.new(tmp_path / "w", no_session)


def report(folder: Folder, run: str, **given: Any) -> Page:
    path = folder.root.parent / "report.html"
    daybook.Workspace(folder.root).report(run, path, **{"differences": False, **given})
    return Page(path.read_text(encoding="utf-8"))


def test_numbers_steps_sources_and_definition(folder: Folder) -> None:
    folder.project(assign("region", "UPPER(region)", name="Tidy up"), to_table(columns=COLUMNS), name="Month end")
    run_id = write_run(folder, {2: JANUARY})
    page = report(folder, run_id)
    for shown in (
        "Month end for 2026-01",
        run_id,
        "1,234,567.10",
        "\N{MINUS SIGN}5,000.25",
        # 1234567.10 - 5000.25 + 0.10
        "1,229,566.95",
        "3 rows written to lake.result",
        "Tidy up",
        "orders",
        "data/orders.csv",
        "expression: UPPER(region)",
        "The project has no checks.",
    ):
        assert shown in page.text
    # Rows in the order of their key, since the project sorts nothing.
    assert page.text.index("O-1") < page.text.index("O-2") < page.text.index("O-3")


def test_the_file_needs_nothing_else(folder: Folder) -> None:
    folder.project(to_table(columns=COLUMNS))
    page = report(folder, write_run(folder, {1: JANUARY}))
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    fetched = [value for _, found in page.tags for key, value in found.items() if key in ("src", "href", "action")]
    assert all(str(value).startswith("#") for value in fetched)
    anchors = {found["id"] for _, found in page.tags if "id" in found}
    assert {str(value)[1:] for value in fetched} <= anchors
    (policy,) = [found["content"] for tag, found in page.tags if found.get("http-equiv")]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    style = (folder.root.parent / "report.html").read_text().partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme: dark" in style


HOSTILE = '<script>alert("x")</script>'


def test_texts_of_data_and_definitions_are_text(folder: Folder) -> None:
    folder.project(to_table(columns=COLUMNS), name=HOSTILE, description=f"</pre>{HOSTILE}")
    page = report(folder, write_run(folder, {1: orders((HOSTILE, "\u202eEMEA", "1.00"))}))
    assert not [tag for tag, _ in page.tags if tag == "script"]
    assert page.text.count(HOSTILE) >= 3
    assert "\u202e" not in page.text
    assert "\\u202eEMEA" in page.text


def test_totals_never_add_details_and_summaries(folder: Folder) -> None:
    total = {"column": "amount", "expression": "SUM(amount)"}
    grouped = {"group_by": ["region"], "aggregations": [total]}
    by_region = {"type": "aggregate", "name": "By region", "arguments": grouped}
    folder.project(by_region, to_table(columns=[*COLUMNS, "_operation_seq"]))
    rows = orders(("O-1", "EMEA", "100.00"), ("O-2", "EMEA", "50.00"), ("", "EMEA", "150.00"))
    page = report(folder, write_run(folder, {2: rows.append_column("_operation_seq", pa.array([0, 0, 1]))}))
    assert "loaded rows , 2 rows" in page.text.replace("rows,", "rows ,")
    assert "By region , 1 row" in page.text.replace("region,", "region ,")
    assert "150.00" in page.text
    assert "300.00" not in page.text
    assert "_operation_seq" not in page.text.partition("Steps")[0]


def test_only_the_first_rows_are_shown_and_that_is_said(folder: Folder) -> None:
    folder.project(to_table(columns=COLUMNS))
    many = orders(*((f"O-{number:03}", "EMEA", "1.00") for number in range(500)))
    page = report(folder, write_run(folder, {1: many}), limit=20)
    assert "The first 20 rows of 500; totals are of all rows." in page.text
    assert "O-019" in page.text
    assert "O-020" not in page.text
    assert "500.00" in page.text


def test_rows_that_are_gone_are_an_error_in_their_place(folder: Folder) -> None:
    folder.project(to_path("out/x.csv", columns=COLUMNS))
    first = write_run(folder, {1: JANUARY})
    write_run(folder, {1: orders(("O-9", "EMEA", "7.00"))})
    page = report(folder, first)
    assert "RUN_084" in page.text
    assert "7.00" not in page.text


def test_checks_and_failures(folder: Folder) -> None:
    check = {"type": "check", "name": "No loss", "arguments": {"condition": "amount >= 0"}}
    folder.project(check, to_table(columns=COLUMNS))
    run_id = write_run(folder, {}, error=DaybookError("PROJECT_052", operation_seq=1, **_check_values()))
    page = report(folder, run_id)
    assert "Why it did not complete" in page.text
    assert "PROJECT_052" in page.text
    assert re.search(r"No loss\s+amount >= 0\s+all\s+failed", page.text)
    assert "The run committed nothing." in page.text


def _check_values() -> dict[str, Any]:
    from daybook.errors.codes import CODES

    names = re.findall(r"\{(\w+)", CODES["PROJECT_052"].message + (CODES["PROJECT_052"].hint or ""))
    return dict.fromkeys(names, "x")


def test_lineage_is_drawn_and_listed(folder: Folder) -> None:
    folder.project(assign("net", "amount * 0.9", selector="region = 'EMEA'"), to_table(columns=["order_id", "net"]))
    rows = pa.table({"order_id": ["O-1"], "net": pa.array([Decimal("9.000")], pa.decimal128(21, 3))})
    page = report(folder, write_run(folder, {2: rows}))
    lines = [found for tag, found in page.tags if tag == "g" and "edge" in (found.get("class") or "")]
    ends = {(found["data-from"], found["data-to"]) for found in lines if "edge direct" in (found.get("class") or "")}
    assert ends == {("orders.order_id", "output 2.order_id"), ("orders.amount", "output 2.net")}
    dashed = {(found["data-from"], found["data-to"]) for found in lines if "indirect" in (found.get("class") or "")}
    assert ("orders.region", "output 2.net") in dashed


def found_difference(a: str, b: str) -> DiffResult:
    change = RowChange({"order_id": "O-1"}, {"amount": Decimal("1.00")}, {"amount": Decimal("3.50")})
    return DiffResult(
        ComparedRun(a, "p", 1, "2026-01"),
        ComparedRun(b, "p", 1, "2026-01"),
        "lake.result",
        ComparedRows(0, 0, "loaded rows"),
        ("order_id",),
        "natural_key",
        DiffCounts(2, 3, 1, 0, 1, 1),
        (ColumnTotal("amount", Decimal("10.00"), Decimal("12.50"), Decimal("2.50")),),
        (change,),
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[DiffRequest]:
    """The comparisons that were asked for, which Spark would compute."""
    requests: list[DiffRequest] = []

    def diff(_: object, request: DiffRequest) -> DiffResult:
        requests.append(request)
        return found_difference(request.a, request.b)

    monkeypatch.setattr(report_module, "diff_runs", diff)
    return requests


def test_differences_to_the_run_before(folder: Folder, asked: list[DiffRequest]) -> None:
    folder.project(to_table(columns=COLUMNS))
    first = write_run(folder, {1: JANUARY})
    write_run(folder, {1: JANUARY}, "2026-02")
    second = write_run(folder, {1: JANUARY})
    page = report(folder, second, differences=True)
    assert [(each.a, each.b) for each in asked] == [(first, second)]
    assert f"Compared with run {first}" in page.text
    assert "1 row added, 0 removed, 1 changed, 1 the same; matched by order_id." in page.text
    assert re.search(r"amount\s+10.00\s+12.50\s+2.50", page.text)
    assert re.search(r"O-1\s+amount\s+1.00\s+3.50", page.text)


def test_without_a_run_of_the_period_the_last_one_before_it(folder: Folder, asked: list[DiffRequest]) -> None:
    folder.project(to_table(columns=COLUMNS))
    january = write_run(folder, {1: JANUARY})
    february = write_run(folder, {1: JANUARY}, "2026-02")
    report(folder, february, differences=True)
    assert [(each.a, each.b) for each in asked] == [(january, february)]
    page = report(folder, january, differences=True)
    assert len(asked) == 1
    assert "No completed run of p came before this one." in page.text
    report(folder, january, differences=True, against="p@2026-02")
    assert (asked[-1].a, asked[-1].b) == (february, january)


def test_a_comparison_that_fails_is_told_in_its_place(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> DiffResult:
        raise DaybookError("RUN_062", run_id="x", status="failed")

    monkeypatch.setattr(report_module, "diff_runs", refuse)
    folder.project(to_table(columns=COLUMNS))
    write_run(folder, {1: JANUARY})
    page = report(folder, write_run(folder, {1: JANUARY}), differences=True)
    assert "RUN_062" in page.text
    assert "1,229,566.95" in page.text


def test_a_report_whose_spark_fails_leaves_no_file(folder: Folder) -> None:
    def fail() -> NoReturn:
        raise DaybookError("RUN_030")

    folder.project(to_table(columns=COLUMNS))
    earlier = write_report(
        open_workspace(folder.root), ReportRequest(write_run(folder, {1: JANUARY})), folder.root / "report.html"
    )
    shown = earlier.path.read_text(encoding="utf-8")
    run_id = write_run(folder, {1: JANUARY})
    workspace = open_workspace(folder.root, session=fail)
    for name in ("report.html", "new.html"):
        with pytest.raises(DaybookError) as caught:
            write_report(workspace, ReportRequest(run_id, measures=("amount",)), folder.root / name)
        assert caught.value.code == "RUN_030"
    assert earlier.path.read_text(encoding="utf-8") == shown
    assert [path.name for path in folder.root.glob("*.html*")] == ["report.html"]


def test_why_a_total_moved(folder: Folder, asked: list[DiffRequest], monkeypatch: pytest.MonkeyPatch) -> None:
    folder.project(to_table(columns=COLUMNS))
    first, second = write_run(folder, {1: JANUARY}), write_run(folder, {1: JANUARY})
    found = found_difference(first, second)
    cause = CauseName("data", "orders", "orders")
    moved = BridgeResult(
        found.a,
        found.b,
        "lake.result",
        found.operation,
        "amount",
        Decimal("10.00"),
        Decimal("12.50"),
        Decimal(0),
        (cause,),
        (Cause((cause,), Decimal("2.50"), RowCounts(1, 0, 2)),),
    )
    monkeypatch.setattr(report_module, "bridge_runs", lambda *_: moved)
    page = report(folder, second, differences=True, measures=["amount"])
    assert "Why amount moved" in page.text
    assert re.search(r"orders\s+\+1 ~2 rows\s+\+2.50", page.text)
    assert len([found for tag, found in page.tags if tag == "svg"]) == 2


def test_a_run_by_project_and_period(folder: Folder) -> None:
    folder.project(to_table(columns=COLUMNS))
    write_run(folder, {1: JANUARY})
    last = write_run(folder, {1: JANUARY})
    written = daybook.Workspace(folder.root).report("p@2026-01", folder.root / "r.html", differences=False)
    assert (written.run_id, written.project_id, written.period, written.compared_with) == (last, "p", "2026-01", None)
    assert written.size == (folder.root / "r.html").stat().st_size < 100_000


def code_of(folder: Folder, path: Path) -> str:
    with pytest.raises(DaybookError) as caught:
        daybook.Workspace(folder.root).report("p@2026-01", path, differences=False)
    return caught.value.code


def test_nothing_but_a_report_is_replaced(folder: Folder) -> None:
    folder.project(to_table(columns=COLUMNS))
    write_run(folder, {1: JANUARY})
    opened, path = daybook.Workspace(folder.root), folder.root / "report.html"
    opened.report("p@2026-01", path, differences=False)
    write_run(folder, {1: orders(("O-9", "EMEA", "77.00"))})
    opened.report("p@2026-01", path, differences=False)
    assert "77.00" in path.read_text(encoding="utf-8")
    notes = folder.root / "notes.html"
    notes.write_text("<!doctype html>\nmy notes")
    for other in (notes, folder.root / "daybook.yaml", folder.root):
        assert code_of(folder, other) == "RUN_086"
    assert notes.read_text() == "<!doctype html>\nmy notes"
    assert code_of(folder, folder.root / "nowhere" / "r.html") == "RUN_087"
    assert [each.name for each in folder.root.glob(".*.html*")] == []


def test_the_time_it_was_made_is_that_of_the_clock(folder: Folder) -> None:
    folder.project(to_table(columns=COLUMNS))
    page = report(folder, write_run(folder, {1: JANUARY}))
    assert f"Made by Daybook on {datetime.datetime.now(datetime.UTC):%Y-%m-%d}" in page.text
