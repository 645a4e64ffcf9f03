"""The table of all functions."""

from daybook.expression.functions import aggregates, conversions, dates, logic, numbers, texts, windows
from daybook.expression.functions.function import Function

FUNCTION_FAMILIES: dict[str, tuple[Function, ...]] = {
    "Conditions and NULL": logic.FUNCTIONS,
    "Numbers": numbers.FUNCTIONS,
    "Texts": texts.FUNCTIONS,
    "Dates and timestamps": dates.FUNCTIONS,
    "Conversions": conversions.FUNCTIONS,
    "Aggregates": aggregates.FUNCTIONS,
    "Windows": windows.FUNCTIONS,
}


def functions_by_name(families: dict[str, tuple[Function, ...]]) -> dict[str, Function]:
    """One table of all families; ValueError when a name is declared twice."""
    table: dict[str, Function] = {}
    for function in (member for family in families.values() for member in family):
        if function.name in table:
            raise ValueError(f"{function.name} is declared twice")
        table[function.name] = function
    return table


FUNCTIONS = functions_by_name(FUNCTION_FAMILIES)
