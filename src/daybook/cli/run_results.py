"""Shows results of runs, failures, dry runs and replays as text."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from daybook.cli.terminal import (
    echo,
    echo_json,
    echo_note,
    shorten_path,
    show_error,
    show_notice,
    show_table,
)

if TYPE_CHECKING:
    from daybook.runs.replay import ReplayResult
    from daybook.runs.run_result import OutputResult, RunFailedError, RunResult
    from daybook.store.records import OperationResult
    from daybook.workspace.execution import DryRun, DryRunSource, RangeResult
    from daybook.workspace.runs import SourceRead


def show_run_result(result: "RunResult", *, is_quiet: bool) -> None:
    """The run, what each operation did and what was written where; warnings have been shown while it ran."""
    draft = " as a draft" if result.is_draft else ""
    echo(f"{result.project_id} for {result.period}: {result.status}{draft} in {format_seconds(result.duration_ms)}")
    if not is_quiet:
        from daybook.runs.run_result import as_of_text

        as_of = as_of_text(result.as_of, result.own_as_of)
        echo(f"run {result.run_id}, as of {as_of}, project version {result.project_version}")
        _show_parameters(result.parameters)
        if result.accepted:
            echo(f"{result.accepted} warning{'' if result.accepted == 1 else 's'} accepted")
        for slice_ in result.slices:
            echo(f"read {slice_.dataset_id} {slice_.period}: {slice_.origin}, run {slice_.run_id}")
        echo("")
        show_effects(result.operations, result.names)
        echo("")
    show_outputs(result.outputs)


def _show_parameters(parameters: Mapping[str, str], lead: str = "") -> None:
    if parameters:
        echo(f"{lead}parameters {', '.join(f'{name} = {text}' for name, text in parameters.items())}")


def show_range(result: "RangeResult", *, is_quiet: bool) -> None:
    """The runs of a range that completed, then why it ended early."""
    from daybook.runs.run_result import RunFailedError

    for completed in result.completed:
        show_run_result(completed, is_quiet=is_quiet)
    if isinstance(result.failure, RunFailedError):
        show_run_failure(result.failure, as_json=False)
    elif result.failure is not None:
        show_error(result.failure)


def show_effects(operations: "Iterable[OperationResult]", names: Mapping[int, str]) -> None:
    from daybook.runs.run_result import summarize_operations

    rows = [
        (
            str(effect.seq) if effect.seq else "",
            effect.name,
            _format_count(effect.rows_in),
            (_format_count(effect.rows), "bold"),
            effect.did,
            "" if effect.duration_ms is None else format_seconds(effect.duration_ms),
        )
        for effect in summarize_operations(operations, names)
    ]
    titles = ("seq", "operation", "rows in", "did", "", "time")
    show_table(titles, rows, right=(0, 2, 3, 5), fixed=(2, 3, 4, 5))


def show_outputs(outputs: "Iterable[OutputResult]") -> None:
    for output in outputs:
        repeat = " (committed before)" if output.is_repeat else ""
        echo(output_line(output.place, output.rows_written, output.dataset_id, output.dataset_version) + repeat)


def output_line(place: str, rows: int | None, dataset_id: str | None, dataset_version: int | None) -> str:
    """What an output left where, in a line."""
    count = "" if rows is None else f": {rows:,} row{'' if rows == 1 else 's'}"
    known_as = f", dataset {dataset_id} version {dataset_version}" if dataset_id else ""
    return f"wrote {shorten_path(place)}{count}{known_as}"


def source_lines(sources: "Iterable[DryRunSource | SourceRead]") -> list[str]:
    """What a run reads from where, each once however many operations use it."""
    lines = (
        f"{source.dataset_id} version {source.dataset_version} from {', '.join(map(shorten_path, source.locations))}"
        for source in sources
    )
    return list(dict.fromkeys(lines))


def show_dry_runs(dry_runs: "Iterable[DryRun]") -> None:
    from daybook.runs.run_result import as_of_text

    for run in dry_runs:
        version = f"project version {run.project_version}"
        echo(f"{run.project_id} can run for {run.period}, as of {as_of_text(run.as_of, run.own_as_of)}, {version}")
        _show_parameters(run.parameters, "  ")
        for line in source_lines(run.sources):
            echo(f"  reads {line}")
        for output in run.outputs:
            echo(f"  writes {shorten_path(output.target)} ({output.format}, {output.mode})")
        for notice in run.notices:
            show_notice(notice)
    echo("nothing was written")


def show_replay(result: "ReplayResult") -> None:
    echo(f"run {result.run_id} for {result.period}, computed again:")
    for output in result.outputs:
        before = "?" if output.rows_before is None else f"{output.rows_before:,}"
        if output.is_same:
            outcome = f"{output.rows_now:,} rows, the same"
        elif output.is_same is None:
            outcome = f"{output.rows_now:,} rows; the output of the run was removed and cannot be compared"
        else:
            outcome = f"{output.rows_now:,} rows, {before} before: DIFFERENT"
        kept = f", kept in {shorten_path(output.place)}" if output.place else ""
        echo(f"  {output.operation_seq:>4}  {output.name}: {outcome}{kept}")
    echo("every output is the same" if result.is_same else "outputs differ")


def show_run_failure(failed: "RunFailedError", *, as_json: bool) -> None:
    """Why the run failed, what it had committed, and how to go on."""
    if as_json:
        echo_json(failed.result)
        return
    show_error(failed.error)
    for output in failed.outputs:
        echo_note(f"  operation {output.operation_seq} had been committed to {output.destination}")
    if failed.status == "cancelled":
        echo_note(f"  `daybook retry {failed.run_id}` continues it")
        return
    echo_note(f"run {failed.run_id} {failed.status}")
    echo_note("  to run it with other data, definitions or options: `daybook run`")
    echo_note(f"  to continue it after the cause is fixed: `daybook retry {failed.run_id}`")


def format_seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _format_count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
