"""Which measures and controls a dataset may name."""

from decimal import Decimal

import pytest

from daybook.definitions.loading.definition_texts import load_text
from daybook.errors import DaybookError, flatten
from daybook.model.dataset import Dataset

DATASET = """
dataset:
  id: lines
  {extra}
  main_table:
    name: lines
    {mode}
    columns:
      - {{name: id, type: string}}
      - {{name: amount, type: "decimal(18,2)"}}
"""


def load(extra: str, mode: str = "") -> Dataset:
    (definition,) = load_text(DATASET.format(extra=extra, mode=mode), "lines.yaml")
    assert isinstance(definition.model, Dataset)
    return definition.model


@pytest.mark.parametrize(
    ("extra", "code", "line"),
    [
        ("measures: [amuont]", "TOTALS_001", 4),
        ("measures: [id]", "TOTALS_002", 4),
        ("measures: [amount, amount]", "TOTALS_003", 4),
        ("control: {totals: {id: 3}}", "TOTALS_004", 4),
        ("control: {totals: {other: 3}}", "TOTALS_004", 4),
        ("control: {}", "TOTALS_005", 4),
        ("control: {path: a.csv, rows: 3}", "TOTALS_005", 4),
        ("control: {rows: 3, tolerance: -1}", "TOTALS_005", 4),
        ('control: {totals: {amount: "many"}}', "TOTALS_005", 4),
    ],
)
def test_what_is_wrong_is_said_at_its_line(extra: str, code: str, line: int) -> None:
    with pytest.raises(DaybookError) as raised:
        load(extra)
    (error,) = flatten(raised.value)
    assert error.code == code
    assert error.span is not None
    assert error.span.line == line


def test_fixed_figures_need_data_that_is_the_same_for_all_periods() -> None:
    with pytest.raises(DaybookError) as raised:
        load("control: {rows: 3}", "temporal_mode: period")
    assert raised.value.code == "TOTALS_006"


def test_figures_are_exact() -> None:
    control = load("control: {rows: 1203, totals: {amount: 10452.17}, tolerance: 0.01}").control
    assert control is not None
    assert (control.rows, control.totals, control.tolerance) == (1203, {"amount": Decimal("10452.17")}, Decimal("0.01"))


def test_a_control_is_the_same_after_the_store() -> None:
    from daybook.model.serialization import from_canonical, to_canonical

    dataset = load("measures: [amount]\n  control: {rows: 3, totals: {amount: 10.50}}")
    assert from_canonical("dataset", to_canonical(dataset)) == dataset
