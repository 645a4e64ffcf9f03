"""Writes actual rows into the expectation of a scenario."""

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from daybook.definitions.loading import compose_documents, read_text
from daybook.model.source_map import DocumentNode, ListNode, MappingNode
from daybook.model.types import value_text
from daybook.scenarios.run_scenarios import ScenarioResult


def updated_scenario_text(result: ScenarioResult) -> str | None:
    """The file with the rows that were computed in place of those expected; None where there is nothing to put."""
    if result.actual is None or not result.differences:
        return None
    text = read_text(result.file)
    document = compose_documents(text, result.file.as_posix()).documents[0]
    replacements = [
        (node, result.actual.get(difference.output, ()))
        for difference in result.differences
        if (node := _expected_rows_node(document, difference.output)) is not None
    ]
    for node, rows in sorted(replacements, key=lambda pair: pair[0].start, reverse=True):
        text = text[: node.start] + _yaml_rows(text, node, rows) + text[node.end :]
    return text


def write_scenario(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _expected_rows_node(document: DocumentNode, output: str) -> ListNode | None:
    expect = document.get("expect") if isinstance(document, MappingNode) else None
    if not isinstance(expect, MappingNode):
        return None
    outputs = expect.get("outputs")
    node = outputs.get(output) if isinstance(outputs, MappingNode) else expect.get("rows")
    return node if isinstance(node, ListNode) else None


def _yaml_rows(text: str, node: ListNode, rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows in the columns that were named before, laid out like the list they replace."""
    named = dict.fromkeys(key for item in node.items if isinstance(item, MappingNode) for key in item.entries)
    columns = list(named) or [name for row in rows[:1] for name in row if not name.startswith("_")]
    written = ["{" + ", ".join(f"{name}: {yaml_value(row.get(name))}" for name in columns) + "}" for row in rows]
    if not rows or text[node.start] == "[":
        return f"[{', '.join(written)}]"
    indent = node.start - (text.rfind("\n", 0, node.start) + 1)
    tail = text[node.start : node.end]
    ending = "\n" if tail.endswith("\n") else ""
    return ("\n" + " " * indent).join(f"- {row}" for row in written) + ending


def yaml_value(value: Any) -> str:
    """A value in YAML: numbers exactly, texts and dates in quotes."""
    if isinstance(value, str | datetime.date):
        return json.dumps(value_text(value), ensure_ascii=False)
    return value_text(value, null="null")
