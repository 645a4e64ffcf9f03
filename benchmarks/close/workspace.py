"""The close as a Daybook project."""

from pathlib import Path

DEFINITIONS = """
datasource: {id: ledger, name: Ledger, type: parquet, options: {path: LEDGER}}
---
datasource: {id: out, name: Results, type: delta, options: {path: out}}
---
resolver:
  id: by-month
  name: A folder per month
  rules:
    - name: months
      data_level: month
      strategy: {type: path, datasource_id: ledger, path: "journal/{{identifier}}"}
---
dataset:
  id: journal
  name: Journal lines
  resolver_id: by-month
  main_table:
    name: journal
    temporal_mode: period
    columns:
      - {name: line_id, type: string}
      - {name: journal_id, type: string}
      - {name: account, type: string}
      - {name: cost_centre, type: string}
      - {name: currency, type: string}
      - {name: amount, type: "decimal(18,2)"}
      - {name: quantity, type: integer}
      - {name: status, type: string}
      - {name: posted, type: date}
---
dataset:
  id: rates
  name: Exchange rates
  main_table:
    name: rates
    columns: [{name: currency, type: string}, {name: rate, type: "decimal(12,6)"}]
    location: {datasource_id: ledger, table: rates}
---
dataset:
  id: budgets
  name: Budgets
  main_table:
    name: budgets
    columns:
      - {name: account, type: string}
      - {name: cost_centre, type: string}
      - {name: amount, type: "decimal(18,2)"}
      - {name: budget_type, type: string}
    location: {datasource_id: ledger, table: budgets}
---
project:
  id: close
  name: Close
  input: {dataset_id: journal}
  selectors:
    lines: _operation_seq = 0
  operations:
    - seq: 1
      name: Convert to euro
      type: update
      arguments:
        joins: [{alias: fx, dataset_id: rates, on: journal.currency = fx.currency}]
        assignments: [{column: euro, expression: "ROUND(amount * fx.rate, 2)"}]
    - seq: 2
      name: Classify accounts
      type: update
      arguments:
        assignments:
          - {column: account_type, expression: 'IF(account < "5000", "revenue", IF(account < "6000", "cost", "other"))'}
    - seq: 3
      name: Turn costs
      type: update
      selector: account_type = "cost"
      arguments: {assignments: [{column: euro, expression: "0 - euro"}]}
    - seq: 4
      name: Park lines without a cost centre
      type: update
      selector: cost_centre IS NULL
      arguments: {assignments: [{column: cost_centre, expression: '"CC-none"'}]}
    - seq: 5
      name: Price per piece
      type: update
      selector: quantity > 0
      arguments: {assignments: [{column: unit_price, expression: "ROUND(euro / quantity, 4)"}]}
    - seq: 6
      name: Flag what is large
      type: update
      arguments: {assignments: [{column: is_large, expression: "ABS(euro) > 10000"}]}
    - seq: 7
      name: Remove reversed lines
      type: delete
      selector: status = "reversed"
    - seq: 8
      name: Actual by account and cost centre
      type: aggregate
      selector: "{{lines}}"
      arguments:
        group_by: [account, cost_centre]
        aggregations:
          - {column: actual, expression: SUM(euro)}
          - {column: line_count, expression: COUNT(*)}
          - {column: budget, expression: "SUM(euro) * 0"}
    - seq: 9
      name: Add approved budgets
      type: append
      arguments:
        source: {dataset_id: budgets}
        source_selector: budget_type = "approved"
        aggregation:
          group_by: [account, cost_centre]
          aggregations: [{column: budget, expression: SUM(amount)}]
    - seq: 10
      name: Actual by account type
      type: aggregate
      selector: "{{lines}}"
      arguments:
        group_by: [account_type, currency]
        aggregations:
          - {column: actual, expression: SUM(euro)}
          - {column: line_count, expression: COUNT(*)}
    - seq: 11
      name: Write the lines
      type: output
      selector: "{{lines}}"
      arguments:
        destination: {datasource_id: out, table: lines}
        columns: [line_id, account, cost_centre, currency, posted, euro, account_type, unit_price, is_large]
    - seq: 12
      name: Write the summary
      type: output
      selector: _operation_seq > 0
      arguments:
        destination: {datasource_id: out, table: summary}
        columns: [account, cost_centre, account_type, currency, actual, line_count, budget, _operation_seq]
"""


def write_workspace(root: Path, ledger: Path) -> Path:
    root.mkdir(parents=True)
    (root / "daybook.yaml").write_text("name: close-benchmark\n")
    (root / "close.yaml").write_text(DEFINITIONS.replace("LEDGER", str(ledger)))
    return root
