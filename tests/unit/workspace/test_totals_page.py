"""The totals of a run as HTML; the figures are made up by hand."""

import xml.etree.ElementTree as ET

from daybook.runs.totals import (
    MadeBy,
    MeasureTotals,
    OperationTotals,
    OutputTotals,
    RunTotals,
    SourceRowCounts,
    SourceTotals,
)
from daybook.workspace.totals import ProducedInformation, TotalsOfRun, balance_sentences
from daybook.workspace.totals_page import render_totals

INFORMATION = ProducedInformation(
    project="p",
    version=1,
    digest="d",
    period="2026-01",
    as_of="2026-01-31",
    parameters={},
    status="completed",
    run_by="ann",
    host="h",
    run_at="2026-02-02",
    commit=None,
    is_clean=None,
    daybook="1",
    checks=(),
)


def totals_of(loaded: str, deleted: str, after: str) -> TotalsOfRun:
    def of_input(text: str) -> tuple[MadeBy, ...]:
        return (MadeBy(0, text),)

    source = SourceTotals("orders", "data/orders.csv", SourceRowCounts(3, 0, 3), {"amount": loaded}, None)
    drop = OperationTotals(1, "Drop", "delete", 1, of_input(loaded), (), of_input(deleted), (), of_input(after))
    written = OutputTotals(2, "lake.result", 2, of_input(after), (), ())
    measure = MeasureTotals("amount", (drop,), (written,), is_approximate=True)
    return TotalsOfRun(RunTotals("r", (source,), (measure,)), INFORMATION)


def test_a_total_that_is_no_number_has_a_table_and_no_picture() -> None:
    totals = totals_of("nan", "nan", "0.2")
    page = render_totals(totals, str)
    assert "nan" in page
    assert "<svg" not in page
    assert "no finite numbers" in page
    assert not [*balance_sentences(totals)]


def test_a_total_of_more_digits_than_python_has_is_drawn_with_all_of_them() -> None:
    totals = totals_of("12345678901234567890123456789012345.67", "0.01", "12345678901234567890123456789012345.66")
    page = render_totals(totals, str)
    ET.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")])
    # What is left of the stream is worked out for the picture.
    assert page.count("12,345,678,901,234,567,890,123,456,789,012,345.66") >= 3
    (sentence,) = balance_sentences(totals)
    assert sentence.endswith("= 12,345,678,901,234,567,890,123,456,789,012,345.66 written")
