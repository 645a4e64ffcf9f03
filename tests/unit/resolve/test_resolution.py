"""Where the data of a dataset lies for a period."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.model.calendar import Period
from daybook.model.dataset import View
from daybook.model.definition import DatasetVersion, RegisteredDataPin, TableVersion, view_version
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.calendar_checks import checked_calendar
from daybook.resolve.calendars.periods import period_of
from daybook.resolve.resolution import resolve_dataset
from tests.unit.resolve.calendars import fiscal
from tests.unit.resolve.definitions import in_memory, orders, resolver, source


def period(identifier: str) -> Period:
    return period_of(identifier, GREGORIAN)


def path_rule(path: str, **more: Any) -> dict[str, Any]:
    return {"name": "files", "strategy": {"type": "path", "datasource_id": "lake", "path": path}, **more}


LAKE = source("lake", "parquet", path="lake")


def test_an_inline_location_lies_in_the_workspace(tmp_path: Path) -> None:
    found = resolve_dataset(orders(location={"path": "data/orders.csv"}), period("2026-01"), in_memory(), root=tmp_path)
    assert [(each.format, each.uri, each.root, each.period) for each in found.locations] == [
        ("csv", f"{tmp_path}/data/orders.csv", str(tmp_path), None)
    ]
    assert found.periods == ("2026-01",)
    assert (found.resolver_id, found.rule) == (None, None)


def test_a_table_of_a_folder_is_its_subfolder(tmp_path: Path) -> None:
    catalog = in_memory([source("lake", "delta", path="warehouse")])
    found = resolve_dataset(
        orders(location={"datasource_id": "lake", "table": "orders"}), period("2026-01"), catalog, root=tmp_path
    )
    assert [(each.format, each.uri, each.root) for each in found.locations] == [
        ("delta", f"{tmp_path}/warehouse/orders", f"{tmp_path}/warehouse")
    ]


def test_a_rule_names_the_files_of_the_period(tmp_path: Path) -> None:
    catalog = in_memory([LAKE], [resolver("monthly", path_rule("{{YYYY}}/{{MM}}/{{table_name}}"), version=3)])
    found = resolve_dataset(orders(resolver_id="monthly"), period("2026-02"), catalog, root=tmp_path)
    assert [(each.uri, each.period) for each in found.locations] == [
        (f"{tmp_path}/lake/2026/02/orders", period("2026-02"))
    ]
    assert (found.resolver_id, found.resolver_version, found.rule) == ("monthly", 3, "files")


def test_finer_data_is_read_period_by_period(tmp_path: Path) -> None:
    catalog = in_memory([LAKE], [resolver("r", path_rule("{{YYYY}}-{{MM}}.parquet", data_level="month"))])
    found = resolve_dataset(orders(resolver_id="r"), period("2024-Q1"), catalog, root=tmp_path)
    assert [(each.uri, each.period) for each in found.locations] == [
        (f"{tmp_path}/lake/2024-{month}.parquet", period(f"2024-{month}")) for month in ("01", "02", "03")
    ]
    assert found.periods == ("2024-01", "2024-02", "2024-03")


def test_one_file_of_several_periods_is_read_once_and_belongs_to_none(tmp_path: Path) -> None:
    catalog = in_memory([LAKE], [resolver("r", path_rule("{{YYYY}}.parquet", data_level="month"))])
    found = resolve_dataset(orders(resolver_id="r"), period("2024-Q1"), catalog, root=tmp_path)
    assert [(each.uri, each.period) for each in found.locations] == [(f"{tmp_path}/lake/2024.parquet", None)]
    assert found.periods == ("2024-01", "2024-02", "2024-03")


def test_coarser_data_is_that_of_the_period_around(tmp_path: Path) -> None:
    catalog = in_memory([LAKE], [resolver("r", path_rule("{{YYYY}}/budget", data_level="year"))])
    found = resolve_dataset(orders(resolver_id="r"), period("2026-03"), catalog, root=tmp_path)
    assert [(each.uri, each.period) for each in found.locations] == [(f"{tmp_path}/lake/2026/budget", period("2026"))]
    assert found.periods == ("2026",)


def test_an_override_comes_before_the_dataset_and_the_dataset_before_the_default(tmp_path: Path) -> None:
    """BR-008a."""
    catalog = in_memory(
        [LAKE],
        [
            resolver("own", path_rule("own")),
            resolver("other", path_rule("other")),
            resolver("default", path_rule("default"), is_default=True),
        ],
    )

    def uri(resolver_id: str | None, overrides: dict[str, str]) -> str | None:
        dataset = orders(resolver_id=resolver_id)
        found = resolve_dataset(dataset, period("2026-01"), catalog, root=tmp_path, overrides=overrides)
        return found.locations[0].uri

    assert uri("own", {"orders": "other"}) == f"{tmp_path}/lake/other"
    assert uri("own", {"customers": "other"}) == f"{tmp_path}/lake/own"
    assert uri(None, {}) == f"{tmp_path}/lake/default"


def test_an_own_location_comes_before_the_default(tmp_path: Path) -> None:
    catalog = in_memory([LAKE], [resolver("default", path_rule("default"), is_default=True)])
    found = resolve_dataset(orders(location={"path": "own.csv"}), period("2026-01"), catalog, root=tmp_path)
    assert found.locations[0].uri == f"{tmp_path}/own.csv"


def test_a_registered_version_is_the_table_as_it_was(tmp_path: Path) -> None:
    catalog = in_memory([source("lake", "delta", path="lake")])
    uri = f"{tmp_path}/lake/orders"
    dataset = orders(
        location={"datasource_id": "lake", "table": "orders"}, pin=RegisteredDataPin(uri, TableVersion("delta", "7"))
    )
    found = resolve_dataset(dataset, period("2026-01"), catalog, root=tmp_path)
    assert [(each.format, each.uri, each.root, each.version) for each in found.locations] == [
        ("delta", uri, f"{tmp_path}/lake", TableVersion("delta", "7"))
    ]


def test_every_period_of_a_registered_version_has_a_pin_of_its_own_where_it_has_a_path(tmp_path: Path) -> None:
    def at(month: str, version: str, *others: RegisteredDataPin) -> RegisteredDataPin:
        return RegisteredDataPin(f"{tmp_path}/out/{month}", TableVersion("delta", version), others)

    location = {"path": "out/{{identifier}}", "format": "delta"}
    dataset = orders(location=location, pin=at("2026-02", "0", at("2026-01", "3")))

    def found(month: str) -> list[tuple[str | None, TableVersion | None]]:
        resolution = resolve_dataset(dataset, period(month), in_memory(), root=tmp_path)
        return [(each.uri, each.version) for each in resolution.locations]

    assert found("2026-01") == [(f"{tmp_path}/out/2026-01", TableVersion("delta", "3"))]
    assert found("2026-02") == [(f"{tmp_path}/out/2026-02", TableVersion("delta", "0"))]
    assert found("2026-03") == [(f"{tmp_path}/out/2026-03", None)]


@pytest.mark.parametrize(
    ("resolver_id", "code", "parameters"),
    [
        (None, "RESOLVE_040", {"dataset": "orders"}),
        ("montly", "RESOLVE_041", {"resolver": "montly"}),
        ("off", "RESOLVE_042", {"resolver": "off"}),
        ("nowhere", "RESOLVE_043", {"datasource": "lake-2"}),
        ("closed", "RESOLVE_044", {"datasource": "closed"}),
    ],
)
def test_what_is_missing_or_disabled(
    tmp_path: Path, resolver_id: str | None, code: str, parameters: dict[str, str]
) -> None:
    nowhere = {"name": "x", "strategy": {"type": "path", "datasource_id": "lake-2", "path": "x"}}
    closed = {"name": "x", "strategy": {"type": "table", "datasource_id": "closed", "table": "x"}}
    catalog = in_memory(
        [LAKE, source("closed", "sqlite", path="x.db")],
        [
            replace(resolver("off", path_rule("x")), status="disabled"),
            resolver("nowhere", nowhere),
            resolver("closed", closed),
        ],
        disabled=frozenset({"closed"}),
    )
    with pytest.raises(DaybookError) as caught:
        resolve_dataset(orders(resolver_id=resolver_id), period("2026-01"), catalog, root=tmp_path)
    assert (caught.value.code, caught.value.parameters) == (code, parameters)


def test_a_level_the_calendar_does_not_have(tmp_path: Path) -> None:
    dataset = orders(location={"path": "x.csv", "data_level": "week"})
    with pytest.raises(DaybookError) as caught:
        resolve_dataset(dataset, period("2026-01"), in_memory(), root=tmp_path)
    assert (caught.value.code, caught.value.parameters) == ("RESOLVE_004", {"level": "week", "calendar": "gregorian"})


def test_the_first_rule_that_matches_wins(tmp_path: Path) -> None:
    rules = (
        path_rule("old", name="old", when='period.end_date < DATE("2026-01-01")'),
        path_rule("unknown", name="unknown", when="table.name = NULL"),
        path_rule("new", name="new", when='table.name = "orders"'),
        path_rule("rest", name="rest"),
    )
    catalog = in_memory([LAKE], [resolver("r", *rules)])
    dataset = orders(resolver_id="r")
    assert resolve_dataset(dataset, period("2025-12"), catalog, root=tmp_path).rule == "old"
    assert resolve_dataset(dataset, period("2026-01"), catalog, root=tmp_path).rule == "new"


def test_no_rule_matches(tmp_path: Path) -> None:
    rules = (
        path_rule("x", name="years", when='period.level = "year"'),
        path_rule("x", name="nulls", when="table.name = NULL"),
    )
    catalog = in_memory([LAKE], [resolver("r", *rules)])
    with pytest.raises(DaybookError) as caught:
        resolve_dataset(orders(resolver_id="r"), period("2026-01"), catalog, root=tmp_path)
    assert caught.value.code == "RESOLVE_045"
    assert caught.value.parameters == {
        "resolver": "r",
        "table": "orders",
        "period": "2026-01",
        "answers": 'years (period.level = "year") gave FALSE; nulls (table.name = NULL) gave NULL',
    }


def test_a_fiscal_quarter_reads_its_civil_months(tmp_path: Path) -> None:
    calendar = fiscal(4)
    rule = path_rule("{{YYYY}}/{{MM}}", data_level="month")
    catalog = in_memory([LAKE], [resolver("r", rule)], [calendar])
    quarter = period_of("FY2026-Q4", checked_calendar(calendar))
    found = resolve_dataset(orders(resolver_id="r"), quarter, catalog, root=tmp_path)
    assert [place.uri for place in found.locations] == [f"{tmp_path}/lake/2026/0{month}" for month in (1, 2, 3)]
    assert found.periods == ("FY2026-P10", "FY2026-P11", "FY2026-P12")


def view_of_orders(window: str) -> DatasetVersion:
    view = View.model_validate({"id": "earlier", "name": "Earlier", "view": {"of": "orders", "window": window}})
    return view_version(view, 1, orders(resolver_id="r"))


@pytest.mark.parametrize(
    ("window", "identifier", "code"),
    [
        # 2023 has no 29 February.
        ("same_last_year", "2024-02-29", "RESOLVE_092"),
        # A path for each period does not say which periods exist.
        ("all", "2024-02", "RESOLVE_094"),
    ],
)
def test_a_window_without_periods_to_read(tmp_path: Path, window: str, identifier: str, code: str) -> None:
    catalog = in_memory([LAKE], [resolver("r", path_rule("{{YYYY}}/{{MM}}/orders"))])
    with pytest.raises(DaybookError) as caught:
        resolve_dataset(view_of_orders(window), period(identifier), catalog, root=tmp_path)
    assert caught.value.code == code
