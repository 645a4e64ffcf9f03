"""Errors as JSON, and what is told of them when they were kept with a run."""

import json

import pytest

from daybook.errors import (
    DaybookError,
    DaybookErrors,
    Span,
    error_to_json,
    error_to_record,
    findings_of_record,
    render,
    render_finding,
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
def test_a_kept_error_reads_like_the_error_without_its_excerpt(error: DaybookError) -> None:
    kept = json.loads(json.dumps(error_to_record(error)))
    (finding,) = findings_of_record(kept)
    excerpt = ("SUM(amout)", "^^^^^")
    lines = [line for line in render(error).splitlines() if line.strip() not in excerpt]
    assert render_finding(finding).splitlines() == lines
    assert finding == json.loads(json.dumps(error_to_json(error)))


def test_every_finding_is_kept() -> None:
    kept = error_to_record(DaybookErrors([UNKNOWN, FILE]))
    assert kept["code"] == "EXPR_012"
    assert findings_of_record(kept) == [error_to_json(UNKNOWN), error_to_json(FILE)]


def test_what_was_kept_with_less_has_all_keys() -> None:
    (finding,) = findings_of_record({"code": "ValueError", "message": "oops"})
    assert finding.keys() == error_to_json(FILE).keys()
    assert render_finding(finding) == "[ValueError] oops"
