import pytest

from daybook.errors import DaybookError
from daybook.expression import cast_sql, common_type, fits
from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, NULL, STRING, TIMESTAMP, ColumnType, DecimalType

_KINDS: list[ColumnType] = [STRING, INTEGER, DecimalType(18, 2), FLOAT, BOOLEAN, DATE, TIMESTAMP]
_NUMBERS: list[ColumnType] = [INTEGER, DecimalType(18, 2), FLOAT]


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([], NULL),
        ([NULL, NULL], NULL),
        ([NULL, DATE], DATE),
        ([INTEGER, INTEGER], INTEGER),
        ([DecimalType(1, 1), DecimalType(2, 2)], DecimalType(2, 2)),
        ([DecimalType(18, 2), DecimalType(5, 4)], DecimalType(20, 4)),
        ([INTEGER, DecimalType(18, 2)], DecimalType(22, 2)),
        ([DecimalType(38, 0), DecimalType(38, 38)], DecimalType(38, 38)),
        ([INTEGER, FLOAT], FLOAT),
        ([DecimalType(38, 10), FLOAT, INTEGER], FLOAT),
        ([STRING, INTEGER], None),
        ([DATE, TIMESTAMP], None),
        ([BOOLEAN, INTEGER], None),
        ([STRING, NULL, DATE, NULL], None),
    ],
)
def test_the_common_type_holds_all_values(types: list[ColumnType], expected: ColumnType | None) -> None:
    assert common_type(types) == expected
    assert common_type(reversed(types)) == expected


@pytest.mark.parametrize("source", _KINDS, ids=str)
@pytest.mark.parametrize("target", _KINDS, ids=str)
def test_only_numbers_fit_other_types(source: ColumnType, target: ColumnType) -> None:
    expected = source == target or (source in _NUMBERS and target in _NUMBERS)
    assert fits(source, target) is expected
    if not expected:
        with pytest.raises(DaybookError) as refusal:
            cast_sql("x", source, target)
        assert refusal.value.code == "EXPR_029"
        assert refusal.value.parameters == {"source": source, "target": target}


@pytest.mark.parametrize("target", _KINDS, ids=str)
def test_null_fits_everything(target: ColumnType) -> None:
    assert fits(NULL, target)


def test_what_fits_as_it_is_stays_as_it_is() -> None:
    assert cast_sql("`amount`", DecimalType(18, 2), DecimalType(18, 2)) == "`amount`"
