"""A run as a notebook shows it."""

import re
from dataclasses import replace

from daybook.runs.run_result import name_operations
from daybook.workspace.report_page import run_html
from tests.unit.cli.test_run_results import RESULT


def test_operations_are_told_as_on_the_command_line() -> None:
    page = run_html(
        replace(RESULT, operations=name_operations(RESULT.operations, {**RESULT.names, 20: "<i>Remove</i>"}))
    )
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]
    assert ["", "Read the input", "", "1,000 read", ""] in rows
    assert ["10", "Convert", "1,000", "400 changed", ""] in rows
    assert ["20", "&lt;i&gt;Remove&lt;/i&gt;", "1,000", "100 deleted", ""] in rows
    assert ["50", "Write it", "915", "3 written", "1.2 s"] in rows
