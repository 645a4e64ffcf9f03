"""What a workbook tells about the run that wrote it: run, period, versions and sources."""

from collections.abc import Iterator
from pathlib import Path

from daybook.io.target import RunFacts
from daybook.resolve.locations.location import Location
from daybook.runs.snapshot import RunSnapshot, SourceSnapshot


def run_facts(snapshot: RunSnapshot, root: Path) -> RunFacts:
    """Everything comes from the snapshot, so that a retry or replay tells the same."""
    sources = tuple(line for source in snapshot.sources for line in _source_lines(source, root))
    return RunFacts(snapshot.timestamp, (("Run", tuple(_run_lines(snapshot))), ("Sources", sources)))


def _run_lines(snapshot: RunSnapshot) -> Iterator[tuple[str, str]]:
    period, provenance = snapshot.period, snapshot.provenance
    yield "Project", f"{snapshot.project.name} ({snapshot.project.id}), version {snapshot.project_version}"
    yield "Period", f"{period.identifier} ({period.start_date} to {period.end_date})"
    yield "As of", snapshot.as_of.isoformat()
    yield "Run", snapshot.run_id + (", a draft" if snapshot.settings.is_draft else "")
    yield "Time", f"{snapshot.timestamp:%Y-%m-%d %H:%M:%S} UTC"
    yield "User", f"{provenance.user} on {provenance.host}"
    yield "Daybook", provenance.daybook_version
    if provenance.git is not None:
        state = "" if provenance.git.is_clean else ", with changes that were not committed"
        yield "Commit", provenance.git.commit + state


def _source_lines(source: SourceSnapshot, root: Path) -> Iterator[tuple[str, str]]:
    resolution = source.resolution
    by = (
        f", by resolver {resolution.resolver_id} version {resolution.resolver_version}"
        if resolution.resolver_id
        else ""
    )
    yield source.dataset_id, f"version {source.dataset_version}, read for {', '.join(resolution.periods)}{by}"
    for location in resolution.locations:
        yield "", _place(location, root)


def _place(location: Location, root: Path) -> str:
    path = location.local_path
    if path is None:
        return f"{location.label} ({location.format})"
    folder = root.absolute()
    return f"{path.relative_to(folder) if path.is_relative_to(folder) else path} ({location.format})"
