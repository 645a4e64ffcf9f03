"""Errors as people read them: every sentence once, the hint last."""

from daybook.errors import DaybookError, DaybookErrors, Span, render
from daybook.runs.run_result import RunFailedError

PLACE = Span("SUM(amout)", 4, 9, "close.yaml", 23, 41)
UNKNOWN = DaybookError("EXPR_012", span=PLACE, hint="did you mean amount?", name="amout")


def test_a_cause_in_the_same_words_is_not_said_again() -> None:
    error = DaybookError("AGGREGATE_004", span=PLACE, causes=(UNKNOWN,), name="amout")
    assert render(error) == (
        "[AGGREGATE_004] Unknown column amout\n"
        "  at close.yaml:23:45\n"
        "    SUM(amout)\n"
        "        ^^^^^\n"
        "  hint: did you mean amount?"
    )


def test_a_cause_in_other_words_says_why_and_its_hint_comes_once() -> None:
    error = DaybookError("OUTPUT_001", span=PLACE, causes=(UNKNOWN,))
    assert render(error) == (
        "[OUTPUT_001] Invalid selector expression\n"
        "  at close.yaml:23:45\n"
        "    SUM(amout)\n"
        "        ^^^^^\n"
        "  because [EXPR_012] Unknown column amout\n"
        "  hint: did you mean amount?"
    )


def test_the_place_of_a_cause_is_shown_where_the_error_has_none() -> None:
    repeated = DaybookError("AGGREGATE_004", causes=(UNKNOWN,), name="amout")
    assert render(repeated).splitlines()[1] == "  at close.yaml:23:45"
    wrapped = DaybookError("OUTPUT_001", causes=(UNKNOWN,))
    assert render(wrapped).splitlines()[1:3] == ["  because [EXPR_012] Unknown column amout", "    at close.yaml:23:45"]


def test_different_hints_are_both_shown() -> None:
    error = DaybookError("OUTPUT_001", causes=(UNKNOWN,), hint="leave it out")
    assert [line for line in render(error).splitlines() if "hint" in line] == [
        "    hint: did you mean amount?",
        "  hint: leave it out",
    ]


def test_the_causes_of_a_repeated_sentence_are_kept() -> None:
    middle = DaybookError("AGGREGATE_004", causes=(UNKNOWN,), name="total")
    error = DaybookError("OUTPUT_002", causes=(middle,), name="total")
    assert render(error).splitlines()[:2] == [
        "[OUTPUT_002] Unknown column total",
        "  because [EXPR_012] Unknown column amout",
    ]


def test_the_way_out_of_the_only_cause_is_that_of_the_error() -> None:
    assert DaybookError("OUTPUT_001", causes=(UNKNOWN,)).hint == "did you mean amount?"
    assert DaybookError("OUTPUT_001", causes=(UNKNOWN, UNKNOWN)).hint is None


def test_a_notebook_shows_what_the_command_line_shows() -> None:
    error = DaybookErrors([UNKNOWN, DaybookError("OUTPUT_001")])
    assert error._render_traceback_() == render(error).splitlines()
    failed = RunFailedError("r-1", "failed", UNKNOWN, ())
    assert failed._render_traceback_() == [*render(UNKNOWN).splitlines(), "run r-1 failed"]
