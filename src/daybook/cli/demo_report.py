"""The demonstration as people read it: what happened, the numbers, where they are, what to try."""

import shlex
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daybook.cli.places import near
from daybook.cli.run_report import seconds, show_effects
from daybook.cli.terminal import console, remark, say, show_table
from daybook.cli.variance_chart import ASCII, BLOCKS, Bar, chart

if TYPE_CHECKING:
    from daybook.demo.headline import Line
    from daybook.runs.result import RunResult

_CHART_WIDTH = 78


def as_data(lines: "Iterable[Line]") -> list[dict[str, Any]]:
    return [
        {"account_type": line.account_type, "actual": line.actual, "budget": line.budget, "variance": line.variance}
        for line in lines
    ]


def show_runs(results: "Iterable[RunResult]") -> None:
    for result in results:
        say(f"\n{result.project_id} for {result.period} in {seconds(result.duration_ms)}\n")
        show_effects(result.operations, result.names)


def show_headline(lines: "Sequence[Line]", period: str) -> None:
    """The table, then the variances as bars."""
    from rich.table import Table

    screen = console()
    say(f"\nActual versus budget {period}, in euro: income positive, costs negative\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  account type", no_wrap=True)
    for heading in ("actual", "budget", "variance", "%"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for line in lines:
        table.add_row(*_cells(line), style="bold" if line.is_result else None)
    show_table(table)
    bars = [Bar(line.account_type, line.variance) for line in lines if not line.is_result]
    if bars:
        say("\nVariance: bars to the right are good for the result\n")
        glyphs = ASCII if screen.options.ascii_only else BLOCKS
        for text in chart(bars, width=min(screen.width, _CHART_WIDTH), glyphs=glyphs):
            screen.print(text)


def show_files(results: "Iterable[RunResult]") -> None:
    outputs = [output for result in results for output in result.outputs]
    width = max(len(near(output.place)) for output in outputs)
    say("\nWhere the numbers are; tables collect the months, files are one month each\n")
    for output in outputs:
        kind = "Delta table" if output.format == "delta" else output.format.upper()
        say(f"  {near(output.place):<{width}}  {kind}")
    for output in outputs:
        if output.dataset_id:
            say(f"\n  The second project read the first table, as dataset {output.dataset_id}.")


def show_next(folder: Path, results: "Sequence[RunResult]") -> None:
    """Commands that work as they stand, inside the workspace."""
    run_id = results[0].run_id
    commands = (
        ("daybook run close -p 2026-02", "February; January stays"),
        ("daybook run close -p 2026-01 --as-of 2026-01-31", "the corrected dollar rate"),
        (f"daybook show run {run_id}", "what ran, on which data"),
        (f"daybook explain {run_id} 110", "the rows behind the numbers"),
        (f"daybook replay {run_id} --verify", "compute again and compare"),
        ("daybook test", "the tests of the close"),
    )
    remark("\nWhat to try next\n")
    remark(f"  cd {shlex.quote(folder.as_posix())}")
    width = max(len(command) for command, _ in commands)
    for command, meaning in commands:
        remark(f"  {command:<{width}}  # {meaning}")
    remark("\nThen break something: in projects/close.yaml, operation 20, write the expression")
    remark("ROUND(amout * rates.rate, 2), and run `daybook validate`. Or change what it")
    remark("computes: `daybook run close -p 2026-01 --draft` tries that out in the sandbox,")
    remark("and `daybook activate close` makes it count.")


def _cells(line: "Line") -> tuple[str, ...]:
    percent = "" if line.percent is None else f"{line.percent:+,.1f}"
    return (
        f"  {line.account_type}",
        *map(_euro, (line.actual, line.budget, line.variance)),
        percent,
        line.remark or "",
    )


def _euro(amount: Decimal) -> str:
    return f"{amount:,.2f}"
