"""Previews and recomputations as JSON."""

from typing import TYPE_CHECKING

from daybook.model.types import value_text
from daybook.workspace.json.results import JsonObject, notice_as_json

if TYPE_CHECKING:
    from daybook.runs.recomputation import Recomputation, RecomputedOutput
    from daybook.workspace.preview import Preview, PreviewedOutput


def preview_as_json(preview: "Preview") -> JsonObject:
    return {
        "project_id": preview.project_id,
        "period": preview.period,
        "as_of": preview.as_of,
        "parameters": dict(preview.parameters),
        "input_rows": preview.input_rows,
        "operations": [
            {"seq": each.seq, "id": each.id, "type": each.type, "picked": each.picked, "added": each.added}
            for each in preview.operations
        ],
        "outputs": [_previewed_output(each) for each in preview.outputs],
        "checks": dict(preview.checks),
        "notices": [notice_as_json(notice) for notice in preview.notices],
    }


def _previewed_output(output: "PreviewedOutput") -> JsonObject:
    return {
        "operation_seq": output.operation_seq,
        "operation_id": output.operation_id,
        "destination": output.destination,
        "columns": dict(output.columns),
        "row_count": output.row_count,
        "rows": [dict(zip(output.columns, row, strict=True)) for row in output.rows],
        "totals": {name: None if total is None else value_text(total) for name, total in output.totals.items()},
    }


def recomputation_as_json(recomputation: "Recomputation") -> JsonObject:
    return {
        "run_id": recomputation.run_id,
        "project_id": recomputation.project_id,
        "period": recomputation.period,
        "is_same": recomputation.is_same,
        "keys": dict(recomputation.keys),
        "outputs": [_recomputed_output(each) for each in recomputation.outputs],
    }


def _recomputed_output(output: "RecomputedOutput") -> JsonObject:
    return {
        "operation_seq": output.operation_seq,
        "operation_id": output.operation_id,
        "destination": output.destination,
        "is_same": output.is_same,
        "rows_written": output.rows_written,
        "rows_computed": output.rows_computed,
        "cells": output.cells,
        "differing_cells": output.count,
        "differences": [
            {
                "row": each.cell.row,
                "column": each.cell.column,
                "written": each.cell.written,
                "computed": each.cell.computed,
                "operation_seq": each.operation_seq,
                "operation": each.operation,
                "expression": each.expression,
            }
            for each in output.differences
        ],
        "not_compared": list(output.not_compared),
        "problem": output.problem,
    }
