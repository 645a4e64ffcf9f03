"""The order of causes."""

import pytest

from daybook.compare.bridge_result import CauseName
from daybook.compare.causes import order_causes
from daybook.errors import DaybookError

ORDERS = CauseName("data", "orders", "data of orders")
RATES = CauseName("data", "rates", "data of rates")
ROUND = CauseName("definition", "round", "30 Round (changed)")
CAUSES = (ORDERS, RATES, ROUND)


def test_kinds_come_in_the_wanted_order_and_the_rest_as_usual() -> None:
    assert order_causes(CAUSES, ()) == CAUSES
    assert order_causes(CAUSES, ("definition",)) == (ROUND, ORDERS, RATES)
    assert order_causes(CAUSES, ("data:rates", "definition")) == (RATES, ROUND, ORDERS)


@pytest.mark.parametrize("word", ["defintion", "data:rate", "rates"])
def test_a_word_that_names_no_cause_is_refused(word: str) -> None:
    with pytest.raises(DaybookError) as found:
        order_causes(CAUSES, (word,))
    assert found.value.code == "RUN_078"
