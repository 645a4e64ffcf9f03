"""Errors as JSON, and what is told of them when they were kept with a run."""

import json

import pytest

from daybook.errors import (
    DaybookError,
    DaybookErrors,
    Span,
    as_data,
    kept_findings,
    render,
    render_data,
    to_keep,
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
    kept = json.loads(json.dumps(to_keep(error)))
    (finding,) = kept_findings(kept)
    excerpt = ("SUM(amout)", "^^^^^")
    lines = [line for line in render(error).splitlines() if line.strip() not in excerpt]
    assert render_data(finding).splitlines() == lines
    assert finding == json.loads(json.dumps(as_data(error)))


def test_every_finding_is_kept() -> None:
    kept = to_keep(DaybookErrors([UNKNOWN, FILE]))
    assert kept["code"] == "EXPR_012"
    assert kept_findings(kept) == [as_data(UNKNOWN), as_data(FILE)]


def test_what_was_kept_with_less_has_all_keys() -> None:
    (finding,) = kept_findings({"code": "ValueError", "message": "oops"})
    assert finding.keys() == as_data(FILE).keys()
    assert render_data(finding) == "[ValueError] oops"
