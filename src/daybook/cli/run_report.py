"""Runs as people read them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from daybook.cli import run_data
from daybook.cli.places import near
from daybook.cli.terminal import remark, say, say_json, show_error, show_notice, show_table

if TYPE_CHECKING:
    from daybook.runs.replaying import ReplayResult
    from daybook.runs.result import OutputResult, RunFailedError, RunResult
    from daybook.runs.running import DryRun
    from daybook.runs.snapshot import SourceSnapshot
    from daybook.store.records import OperationResult


def show(result: "RunResult", *, is_quiet: bool) -> None:
    """The run, what each operation did and what was written where; warnings have been shown while it ran."""
    draft = " as a draft" if result.is_draft else ""
    say(f"{result.project_id} for {result.period}: {result.status}{draft} in {seconds(result.duration_ms)}")
    if not is_quiet:
        say(f"run {result.run_id}, as of {result.as_of.isoformat()}, project version {result.project_version}\n")
        show_effects(result.operations, result.names)
        say("")
    show_outputs(result.outputs)


def show_all(results: "Iterable[RunResult]", *, is_quiet: bool, as_json: bool, failed: Exception | None = None) -> None:
    """The runs of a range that completed, then the one that did not."""
    from daybook.runs.result import RunFailedError

    failure = failed if isinstance(failed, RunFailedError) else None
    if as_json:
        if failed is None or failure is not None:
            ended = [run_data.of_failure(failure)] if failure else []
            say_json([*(run_data.of_result(result) for result in results), *ended])
        return
    for result in results:
        show(result, is_quiet=is_quiet)
    if failure is not None:
        show_failure(failure, as_json=False)


def show_effects(operations: "Iterable[OperationResult]", names: Mapping[int, str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from daybook.runs.effects import effects

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("seq", justify="right")
    table.add_column("operation")
    for heading in ("rows in", "did"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    for effect in effects(operations, names):
        table.add_row(
            Text(str(effect.seq) if effect.seq else ""),
            Text(effect.name),
            Text(_number(effect.rows_in)),
            Text(_number(effect.rows), style="bold"),
            Text(effect.did),
            Text("" if effect.duration_ms is None else seconds(effect.duration_ms)),
        )
    show_table(table)


def show_outputs(outputs: "Iterable[OutputResult]") -> None:
    for output in outputs:
        repeat = " (committed before)" if output.is_repeat else ""
        say(written(output.place, output.rows_written, output.dataset_id, output.dataset_version) + repeat)


def written(place: str, rows: int | None, dataset_id: str | None, dataset_version: int | None) -> str:
    """What an output left where, in a line."""
    count = "" if rows is None else f": {rows:,} row{'' if rows == 1 else 's'}"
    known_as = f", dataset {dataset_id} version {dataset_version}" if dataset_id else ""
    return f"wrote {near(place)}{count}{known_as}"


def read_from(sources: "Iterable[SourceSnapshot]") -> list[str]:
    """What a run reads from where, each once however many operations use it."""
    found = []
    for source in sources:
        places = ", ".join(near(location.uri or location.table or "") for location in source.resolution.locations)
        found.append(f"{source.dataset_id} version {source.dataset_version} from {places}")
    return list(dict.fromkeys(found))


def show_dry_runs(planned: "Iterable[DryRun]") -> None:
    for each in planned:
        snapshot = each.prepared.snapshot
        version = f"project version {snapshot.project_version}"
        say(f"{snapshot.project.id} can run for {snapshot.period.identifier}, as of {snapshot.as_of}, {version}")
        for source in read_from(snapshot.sources):
            say(f"  reads {source}")
        for output in each.prepared.outputs:
            say(f"  writes {near(output.target.place)} ({output.target.format}, {output.target.mode})")
        for notice in each.notices:
            show_notice(notice)
    say("nothing was written")


def show_replay(result: "ReplayResult") -> None:
    say(f"run {result.run_id} for {result.period}, computed again:")
    for output in result.outputs:
        before = "?" if output.rows_before is None else f"{output.rows_before:,}"
        if output.is_same:
            found = f"{output.rows_now:,} rows, the same"
        elif output.is_same is None:
            found = f"{output.rows_now:,} rows; what the run wrote has been removed and cannot be compared"
        else:
            found = f"{output.rows_now:,} rows, {before} before: DIFFERENT"
        kept = f", kept in {near(output.place)}" if output.place else ""
        say(f"  {output.operation_seq:>4}  {output.name}: {found}{kept}")
    say("every output is the same" if result.is_same else "outputs differ")


def show_failure(failed: "RunFailedError", *, as_json: bool) -> None:
    """Why the run failed, what it had committed, and how to go on."""
    if as_json:
        say_json(run_data.of_failure(failed))
        return
    show_error(failed.error)
    for output in failed.outputs:
        remark(f"  operation {output.operation_seq} had been committed to {output.destination}")
    if failed.status == "cancelled":
        remark(f"  `daybook retry {failed.run_id}` takes it up again")
        return
    remark(f"run {failed.run_id} {failed.status}")
    remark("  with other data, definitions or options: `daybook run` again")
    remark(f"  with the same, once what kept it from running is mended: `daybook retry {failed.run_id}`")


def seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
