"""What `diff` and `bridge` have in common: the runs they take, and rows with what changed in them."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.terminal import (
    Cell,
    console,
    echo,
    echo_note,
    show_table,
    table_width,
)
from daybook.errors.render import one_line
from daybook.model.types import Value, value_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daybook.compare.compared_run import ComparedRun, RepeatedRowKeys


_RUN_HELP = "A run's id, or PROJECT@PERIOD for its last completed run."
RunA = Annotated[str, typer.Argument(metavar="A", help=f"{_RUN_HELP} The earlier run.")]
RunB = Annotated[str, typer.Argument(metavar="B", help=f"{_RUN_HELP} The later run.")]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        metavar="SEQ",
        help="Rows of this operation, 0 for loaded rows; by default of the last aggregate.",
        min=0,
    ),
]


def split_columns(text: str | None) -> tuple[str, ...]:
    """Columns as `--key` and `--by` take them: `region, product`."""
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))


def show_runs(a: "ComparedRun", b: "ComparedRun") -> None:
    for letter, run in (("A", a), ("B", b)):
        draft = ", draft" if run.is_draft else ""
        echo(f"{letter}  {run.run_id}  {run.project_id} version {run.project_version} for {run.period}{draft}")


def show_repeated_keys(repeated: "RepeatedRowKeys") -> None:
    if repeated.a or repeated.b:
        echo_note(
            f"keys that occur more than once: {repeated.a:,} in A, {repeated.b:,} in B; "
            "the rows of such a key are compared together"
        )


def values_text(values: "Mapping[str, Value] | None", names: list[str]) -> str:
    return "" if values is None else ", ".join(value_text(values[name]) for name in names)


def show_figures(titles: tuple[str, ...], rows: "list[tuple[Cell, ...]]", *, labels: int) -> None:
    """Numbers below titles; where that is too wide, the numbers of each row below each other, since none is cut."""
    texts = [[_cell_text(cell) for cell in row] for row in rows]
    if table_width(titles, texts) <= console().width:
        show_table(titles, rows, right=range(labels, len(titles)))
        return
    for row in rows:
        echo(one_line(", ".join(_named_labels(titles, row, labels))))
        cells = [(title, cell) for title, cell in zip(titles[labels:], row[labels:], strict=True)]
        show_table(("", ""), cells, right=(1,), is_uncut=True)


def show_rows(
    titles: tuple[str, ...], rows: "list[tuple[Cell, ...]]", *, labels: int, right: tuple[int, ...] = ()
) -> None:
    """Rows with what changed in them; where that is too wide, each in lines of its own."""
    texts = [[_cell_text(cell) for cell in row] for row in rows]
    if table_width(titles, texts) <= console().width:
        show_table(titles, rows, right=right)
        return
    for row in rows:
        echo(one_line(" ".join(_named_labels(titles, row, labels))))
        for title, cell in zip(titles[labels:], row[labels:], strict=True):
            if text := _cell_text(cell):
                echo(f"  {title} {one_line(text)}")


def _named_labels(titles: tuple[str, ...], row: "tuple[Cell, ...]", labels: int) -> list[str]:
    return [f"{title} {_cell_text(cell)}".strip() for title, cell in zip(titles[:labels], row[:labels], strict=True)]


def _cell_text(cell: "Cell") -> str:
    return cell if isinstance(cell, str) else cell[0]
