"""A small close of made-up sales that an idle warm engine computes, so that Java has compiled what commands need.

Its rules use what rules of users use: joins, windows, unions, groups, checks, and tables that other projects read. The
rows do not matter; the plans, and the code of Spark that handles them, do.
"""

import csv
import datetime
import itertools
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.execution import run_project
from daybook.workspace.explain import explain_number
from daybook.workspace.lifecycle import activate_projects, apply_changes
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from daybook.runs.explain.levels import NumberExplanation

_YEAR = 2026
_SALES_OF_A_MONTH = 40
_SHOPS = ("S-1", "S-2", "S-3", "S-4")
_REGIONS = ("North", "South")
_PRODUCTS = {"P-1": "Tools", "P-2": "Tools", "P-3": "Paint", "P-4": "Garden"}
_RATES = {"EUR": "1.0000", "USD": "0.9000"}
# The summed rows of the second project, whose rows are explained down to the sales.
_SUMMED_BY_FAMILY = "20"

_DEFINITIONS = """\
datasource:
  id: warehouse
  name: Warehouse
  type: delta
  options: {path: warehouse}
---
dataset:
  id: sales
  name: Sales
  natural_key_columns: [sale_id]
  main_table:
    name: sales
    temporal_mode: period
    columns:
      - {name: sale_id, type: string, nullable: false}
      - {name: sold_on, type: date, nullable: false}
      - {name: shop, type: string}
      - {name: product, type: string, nullable: false}
      - {name: currency, type: string, nullable: false}
      - {name: units, type: integer, nullable: false}
      - {name: price, type: "decimal(18,2)", nullable: false}
      - {name: note, type: string}
    location: {path: data/sales.parquet}
---
dataset:
  id: shops
  name: Shops
  natural_key_columns: [shop]
  main_table:
    name: shops
    columns:
      - {name: shop, type: string, nullable: false}
      - {name: region, type: string, nullable: false}
      - {name: served_by, type: string}
      - {name: staff, type: integer, nullable: false}
    location: {path: data/shops.csv}
---
dataset:
  id: products
  name: Products
  natural_key_columns: [product]
  main_table:
    name: products
    columns:
      - {name: product, type: string, nullable: false}
      - {name: family, type: string, nullable: false}
    location: {path: data/products.csv}
---
dataset:
  id: rates
  name: Rates
  main_table:
    name: rates
    temporal_mode: bitemporal
    columns:
      - {name: currency, type: string, nullable: false}
      - {name: rate, type: "decimal(12,4)", nullable: false}
    location: {path: data/rates.csv}
---
dataset:
  id: targets
  name: Targets
  main_table:
    name: targets
    temporal_mode: period
    columns:
      - {name: shop, type: string, nullable: false}
      - {name: family, type: string, nullable: false}
      - {name: amount, type: "decimal(18,2)", nullable: false}
    location: {path: data/targets.csv}
---
project:
  id: sales-by-shop
  name: Sales by shop
  input: {dataset_id: sales}
  selectors:
    loaded: _operation_seq = 0
    served: '_source_dataset_id = "shops"'
    compared: _operation_seq = 110
  operations:
    - seq: 10
      type: update
      arguments:
        assignments:
          - {column: shop, expression: UPPER(TRIM(shop))}
          - {column: note, expression: 'COALESCE(NULLIF(TRIM(note), ""), "none")'}
    - seq: 20
      type: update
      arguments:
        joins:
          - {alias: rates, dataset_id: rates, on: sales.currency = rates.currency}
        assignments:
          - {column: sold, expression: "ROUND(units * price * rates.rate, 2)"}
    - seq: 30
      type: update
      arguments:
        joins:
          - {alias: products, dataset_id: products, on: sales.product = products.product}
          - {alias: shops, dataset_id: shops, on: sales.shop = shops.shop}
        assignments:
          - {column: family, expression: products.family}
          - {column: region, expression: shops.region}
          - {column: served_by, expression: shops.served_by}
          - {column: staff, expression: shops.staff}
    - seq: 40
      type: update
      selector: "{{loaded}} AND region IS NULL"
      arguments:
        assignments:
          - {column: _labels, expression: 'CONCAT(_labels, "{unknown:", COALESCE(shop, "none"), "}")'}
          - {column: region, expression: '"Other"'}
          - {column: shop, expression: '"S-0"'}
    - seq: 45
      type: update
      selector: "{{loaded}}"
      arguments:
        assignments:
          - {column: share, expression: "ROUND(sold / SUM(sold) OVER (family), 4)"}
          - {column: position, expression: RANK() OVER (shop ORDER BY sold DESC)}
    - seq: 50
      type: delete
      selector: units = 0
    - seq: 60
      type: append
      arguments:
        source: {dataset_id: shops}
        source_selector: served_by IS NOT NULL
    - seq: 70
      type: update
      selector: "{{served}}"
      arguments:
        joins:
          - {alias: fee, dataset_id: sales, on: 'fee.shop = sales.served_by AND fee.note = "fee"'}
          - {alias: server, dataset_id: shops, on: sales.served_by = server.shop}
        assignments:
          - {column: family, expression: '"Service"'}
          - {column: sold, expression: "ROUND(fee.price * staff / server.staff, 2)"}
    - seq: 80
      type: delete
      selector: note = "fee"
    - seq: 90
      type: aggregate
      arguments:
        group_by: [family, shop]
        aggregations:
          - {column: sold, expression: SUM(sold)}
          - {column: target, expression: SUM(0.00)}
          - {column: sales, expression: COUNT(sale_id)}
    - seq: 100
      type: append
      arguments:
        source: {dataset_id: targets}
        aggregation:
          group_by: [family, shop]
          aggregations:
            - {column: target, expression: SUM(amount)}
    - seq: 110
      type: aggregate
      selector: _operation_seq IN (90, 100)
      arguments:
        group_by: [family, shop]
        aggregations:
          - {column: sold, expression: "COALESCE(SUM(sold), 0)"}
          - {column: target, expression: "COALESCE(SUM(target), 0)"}
          - {column: difference, expression: "COALESCE(SUM(sold), 0) - COALESCE(SUM(target), 0)"}
          - {column: sales, expression: "COALESCE(SUM(sales), 0)"}
    - seq: 120
      type: output
      selector: "{{compared}}"
      arguments:
        destination: {datasource_id: warehouse, table: sales_by_shop}
        columns: [family, shop, sold, target, difference, sales]
        register_as_dataset: sales-by-shop
    - seq: 130
      type: output
      selector: "{{compared}}"
      arguments:
        destination: {location: "out/sales-{{identifier}}.csv"}
        columns: [family, shop, sold, target, difference]
        order_by: [family, shop]
---
project:
  id: sales-by-family
  name: Sales by family
  input: {dataset_id: sales-by-shop}
  operations:
    - seq: 10
      type: update
      arguments:
        joins:
          - {alias: shops, dataset_id: shops, on: sales_by_shop.shop = shops.shop}
        assignments:
          - {column: region, expression: 'COALESCE(shops.region, "Other")'}
    - seq: 20
      type: aggregate
      arguments:
        group_by: [family]
        aggregations:
          - {column: sold, expression: SUM(sold)}
          - {column: target, expression: SUM(target)}
    - seq: 30
      type: output
      selector: _operation_seq = 20
      arguments:
        destination: {location: {path: out/sales_by_family, format: parquet}}
        columns: [family, sold, target]
"""

_PROJECTS = ("sales-by-shop", "sales-by-family")


def sample_months(first: int, end: int) -> Iterator[str]:
    """The months of rounds with these numbers; every round computes another one."""
    return (_months()[number % 12] for number in range(first, end))


def create_sample_close(folder: Path, session: "SparkSession") -> OpenedWorkspace:
    """Write the workspace and its rows into a new folder, and activate its projects."""
    (folder / "data").mkdir(parents=True)
    (folder / "daybook.yaml").write_text("name: sample\n", encoding="utf-8")
    (folder / "definitions.yaml").write_text(_DEFINITIONS, encoding="utf-8")
    _write_sales(folder / "data" / "sales.parquet")
    shops = [
        (shop, _REGIONS[number % 2], None if number == 3 else "S-4", number + 2) for number, shop in enumerate(_SHOPS)
    ]
    _write_csv(folder / "data" / "shops.csv", ("shop", "region", "served_by", "staff"), shops)
    _write_csv(folder / "data" / "products.csv", ("product", "family"), _PRODUCTS.items())
    rates = [(currency, rate, "2025-01-01", None) for currency, rate in _RATES.items()]
    _write_csv(folder / "data" / "rates.csv", ("currency", "rate", "_valid_from", "_valid_to"), rates)
    targets = [
        (shop, family, "100.00", month)
        for shop, family, month in itertools.product(_SHOPS, sorted(set(_PRODUCTS.values())), _months())
    ]
    _write_csv(folder / "data" / "targets.csv", ("shop", "family", "amount", "_period"), targets)
    workspace = open_workspace(folder, session=lambda: session)
    apply_changes(workspace)
    activate_projects(workspace, _PROJECTS)
    return workspace


def compute_month(workspace: OpenedWorkspace, month: str) -> "NumberExplanation":
    """Run both projects and explain a number of the second, down to the sales."""
    for project in _PROJECTS:
        result = run_project(workspace, RunRequest(project, month))
        if result.failure is not None:
            raise result.failure
    return explain_number(workspace, f"{_PROJECTS[-1]}@{month}", _SUMMED_BY_FAMILY, {"family": "Tools"})


def _months() -> list[str]:
    return [f"{_YEAR}-{month:02}" for month in range(1, 13)]


def _write_sales(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {
            "sale_id": f"{month}-{number}",
            "sold_on": datetime.date(_YEAR, int(month[-2:]), number % 28 + 1),
            # The last one is a fee that the fourth shop distributes.
            "shop": None if number % 13 == 5 else _SHOPS[-1 if number == _SALES_OF_A_MONTH - 1 else number % 4],
            "product": list(_PRODUCTS)[number % len(_PRODUCTS)],
            "currency": list(_RATES)[number % 3 == 0],
            "units": number % 7,
            "price": Decimal(f"{number * 3}.50"),
            "note": "fee" if number == _SALES_OF_A_MONTH - 1 else " " if number % 2 else None,
            "_period": month,
        }
        for month in _months()
        for number in range(_SALES_OF_A_MONTH)
    ]
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("sale_id", "shop", "product", "currency", "note", "_period")),
            ("sold_on", pa.date32()),
            ("units", pa.int32()),
            ("price", pa.decimal128(18, 2)),
        ]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema), path)


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
