"""Errors as JSON, and what is shown of them when they were kept with a run."""

import json

import pytest

from daybook.errors import (
    DaybookError,
    DaybookErrors,
    Span,
    error_to_json,
    error_to_record,
    findings_of_record,
    notice,
    render,
    render_finding,
    render_notice,
)

PLACE = Span("SUM(amout)", 4, 9, "close.yaml", 23, 41)
UNKNOWN = DaybookError("EXPR_012", span=PLACE, hint="did you mean amount?", name="amout")
FILE = DaybookError("MODEL_064", path="a.csv")

ERRORS = {
    "alone": UNKNOWN,
    "with a cause": DaybookError("OUTPUT_001", span=PLACE, causes=(UNKNOWN,)),
    "with a cause in the same words": DaybookError("AGGREGATE_004", span=PLACE, causes=(UNKNOWN,), name="amout"),
    "with hints of their own": DaybookError("APPEND_008", hint="look there", causes=(UNKNOWN, FILE), dataset_id="d"),
    "without a place": FILE,
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_a_kept_error_reads_like_the_error(error: DaybookError) -> None:
    kept = json.loads(json.dumps(error_to_record(error)))
    (finding,) = findings_of_record(kept)
    assert render_finding(finding) == render(error)
    assert finding == json.loads(json.dumps(error_to_json(error)))


def test_an_error_kept_before_excerpts_were_is_still_read() -> None:
    kept = {key: value for key, value in error_to_json(UNKNOWN).items() if key != "excerpt"}
    (finding,) = findings_of_record(kept)
    assert render_finding(finding).splitlines() == [
        "[EXPR_012] Unknown column amout",
        "  at close.yaml:23:45",
        "  hint: did you mean amount?",
    ]


def test_a_notice_reads_like_an_error() -> None:
    error = DaybookError("MODEL_064", span=PLACE, path="a.csv")
    assert render_notice(notice("MODEL_064", span=PLACE, path="a.csv")) == render(error)


def test_every_finding_is_kept() -> None:
    kept = error_to_record(DaybookErrors([UNKNOWN, FILE]))
    assert kept["code"] == "EXPR_012"
    assert findings_of_record(kept) == [error_to_json(UNKNOWN), error_to_json(FILE)]


def test_what_was_kept_with_less_has_all_keys() -> None:
    (finding,) = findings_of_record({"code": "ValueError", "message": "oops"})
    assert finding.keys() == error_to_json(FILE).keys()
    assert render_finding(finding) == "[ValueError] oops"
