"""Runs the code cells of a notebook one after the other, as a notebook does with a session it brings along."""

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"


def run_notebook(file: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The names that its cells leave behind; the last value of each cell is shown as a notebook shows it."""
    names: dict[str, Any] = {"__name__": "__main__", **given}
    for cell in json.loads(file.read_text())["cells"]:
        if cell["cell_type"] == "code":
            _run_cell("".join(cell["source"]), f"{file.name}, {cell['id']}", names)
    return names


def _run_cell(source: str, label: str, names: dict[str, Any]) -> None:
    tree = ast.parse(source, label)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, label, "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), label, "eval"), names)
        show = getattr(value, "_repr_html_", None)
        if show is not None:
            show()
