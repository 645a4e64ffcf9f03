"""The natural key that an output gives the dataset it registers."""

import pytest

from daybook.model.dataset import Dataset
from daybook.model.source_map import SourceMap
from daybook.plan.registered_datasets import registered_dataset, registration_errors
from tests.unit.plan.planned import UPDATE, WORLD, aggregate, codes, output, plan_of


def registered(operations: str) -> Dataset:
    plan = plan_of(operations)
    return registered_dataset(plan, plan.outputs[-1])


def registering(more: str = "", selector: str = "") -> str:
    return output(f", register_as_dataset: sums{more}", selector)


ONLY_TOTALS = "_operation_seq = 1"
UPDATE_REGION = UPDATE.replace("column: x", "column: region") % ("amount > 0", "UPPER(region)")


@pytest.mark.parametrize(
    ("operations", "key"),
    [
        (aggregate("[region, _period]") + registering(selector=ONLY_TOTALS), ("region",)),
        (aggregate() + "- {type: delete, selector: _operation_seq = 0}\n" + registering(), ("region",)),
        (aggregate() + registering(), ()),
        (aggregate() + registering(", columns: [x]", ONLY_TOTALS), ()),
        (aggregate() + UPDATE_REGION + registering(selector=ONLY_TOTALS), ()),
        (aggregate() + registering(", mode: append", ONLY_TOTALS), ()),
        (aggregate() + registering(", natural_key_columns: [x, region]", ONLY_TOTALS), ("x", "region")),
        (registering(", natural_key_columns: [order_id]"), ("order_id",)),
        (registering(), ()),
    ],
)
def test_the_key_of_a_registered_dataset_is_written_or_that_of_its_only_aggregate(
    operations: str, key: tuple[str, ...]
) -> None:
    assert registered(operations).natural_key_columns == key


def test_a_written_key_is_among_the_columns_and_belongs_to_a_registration() -> None:
    for more in (", columns: [region], natural_key_columns: [amount]", ", natural_key_columns: [_period]"):
        (error,) = registration_errors(plan_of(registering(more)), SourceMap.empty(), WORLD)
        assert error.code == "OUTPUT_026"
    assert codes(registering(", natural_key_columns: [region, region]")) == ["OUTPUT_011"]
    assert codes(output(", natural_key_columns: [region]")) == ["OUTPUT_025"]
