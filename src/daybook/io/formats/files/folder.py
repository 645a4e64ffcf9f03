"""A folder of part files: every commit makes a complete new folder of links and exchanges the two."""

import csv
import json
import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq

from daybook.errors import DaybookError, Notice, notice
from daybook.io.exchange import ExchangeUnsupported, exchange, lock, take_name
from daybook.io.formats.files.manifest import MANIFEST, Entry, Manifest, read_manifest
from daybook.io.hive import partition_folder, partition_values
from daybook.io.place import list_files, relative_to
from daybook.io.schema_change import check_columns, type_text
from daybook.io.staging import flush, remove_tree
from daybook.io.writing import Commit, Fence, Staged, Target
from daybook.model.system_columns import RUN_PERIOD

_REMEMBERED = 1000
# Files that one message names.
_NAMED = 3
_EXTENSIONS = {"parquet": (".parquet", ".parq", ".pq"), "csv": (".csv",), "json": (".json", ".jsonl", ".ndjson")}


def check_folder(path: Path, target: Target) -> None:
    path = _standing(path)
    if not path.exists():
        return
    if not path.is_dir():
        raise DaybookError("IO_028", location=target.place, found="a file", expected="a folder")
    if target.mode == "replace_period" and target.run_period is None:
        raise DaybookError("IO_032", location=target.place, mode=target.mode, reason="the run has no period")
    current = _current(path, target)
    if current is None or committed_folder(path, target) is not None:
        return
    _refuse_differences(path, current, target)
    if target.mode == "error":
        raise DaybookError("IO_020", location=target.place)
    if target.mode != "replace":
        is_sliced = any(entry.run_period is not None for entry in current.entries)
        if current.entries and is_sliced != (target.run_period is not None):
            difference = f"{'with' if is_sliced else 'without'} {RUN_PERIOD}"
            raise DaybookError("IO_021", location=target.place, difference=difference)
        check_columns(target, {name: type_ or None for name, type_ in current.columns.items()})


def slice_state(path: Path, target: Target) -> str:
    """Who wrote what a commit would replace, to notice another writer."""
    manifest = read_manifest(str(_standing(path)))
    if manifest is None or target.mode == "append":
        return "[]"
    kept = _kept(manifest, target)
    return json.dumps([(entry.run_id, entry.operation_seq) for entry in manifest.entries if entry not in kept])


def committed_folder(path: Path, target: Target) -> Commit | None:
    manifest = read_manifest(str(_standing(path)))
    for run_id, seq, rows in manifest.past if manifest else ():
        if (run_id, seq) == (target.run_id, target.operation_seq):
            return Commit(rows, is_repeat=True)
    return None


def commit_folder(parts: Path, work: Path, path: Path, staged: Staged, target: Target, fence: Fence) -> Commit:
    """`parts` holds the new files, `work` is the staging folder beside the target."""
    with lock(path.parent):
        recover(path)
        if (done := committed_folder(path, target)) is not None:
            return done
        check_folder(path, target)
        if slice_state(path, target) != staged.seen:
            raise DaybookError("IO_024", location=target.place, slice=target.slice_note)
        current = _current(path, target) or Manifest({}, ())
        kept = _kept(current, target)
        _refuse_emptying(current, kept, staged, target)
        fresh = work / "new"
        remove_tree(fresh)
        fresh.mkdir()
        there = _visible(path) if path.exists() else set()
        _link(path, fresh, [*(file for entry in kept for file in entry.files if file in there), *_hidden(path)])
        added = _move_parts(parts, fresh, target)
        manifest = _manifest(current, kept, added, staged, target)
        (fresh / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
        _flush_all(fresh)
        fence()
        notices = _publish(fresh, path, work)
    return Commit(staged.rows, notices=notices)


def _kept(current: Manifest, target: Target) -> tuple[Entry, ...]:
    match target.mode:
        case "append":
            return current.entries
        case "replace_period":
            return tuple(entry for entry in current.entries if entry.run_period != target.run_period)
        case "replace" | "error":
            return ()


def _refuse_emptying(current: Manifest, kept: tuple[Entry, ...], staged: Staged, target: Target) -> None:
    rows = sum(entry.rows for entry in current.entries) - sum(entry.rows for entry in kept)
    if rows > 0 and staged.rows == 0 and not target.allow_empty:
        raise DaybookError("IO_023", location=target.place, rows=rows, slice=target.slice_note)


def _manifest(
    current: Manifest, kept: tuple[Entry, ...], files: tuple[str, ...], staged: Staged, target: Target
) -> Manifest:
    own = {column.name: str(column.type) for column in target.columns}
    columns = own if target.mode in ("replace", "error") else {**current.columns, **own}
    owner = target.owner
    entry = Entry(
        target.run_id,
        target.operation_seq,
        owner.project_id,
        owner.operation_id,
        target.run_period,
        staged.rows,
        files,
    )
    past = (*current.past, (target.run_id, target.operation_seq, staged.rows))[-_REMEMBERED:]
    return Manifest(columns, (*kept, entry), past)


def _link(source: Path, fresh: Path, files: list[str]) -> None:
    """The same files under the new folder: hard links, or copies where there are none."""
    for name in files:
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source / name, fresh / name)
        except OSError:
            shutil.copy2(source / name, fresh / name)


def _move_parts(parts: Path, fresh: Path, target: Target) -> tuple[str, ...]:
    folder = partition_folder({RUN_PERIOD: target.run_period}) if target.run_period is not None else ""
    (fresh / folder).mkdir(parents=True, exist_ok=True)
    names = []
    for part in sorted(parts.iterdir()):
        if part.name.startswith(("_", ".")):
            continue
        name = f"{folder}/{part.name}".lstrip("/")
        if not (fresh / name).exists():
            os.link(part, fresh / name)
        names.append(name)
    return tuple(names)


def _flush_all(folder: Path) -> None:
    for parent, _, files in os.walk(folder):
        for name in files:
            flush(Path(parent) / name)
        flush(Path(parent))


def _publish(fresh: Path, path: Path, work: Path) -> tuple[Notice, ...]:
    try:
        take_name(fresh, path)
    except FileExistsError:
        try:
            exchange(fresh, path)
        except ExchangeUnsupported:
            # A crash between the two renames leaves the old folder where `recover` finds it.
            old = _aside(path)
            path.rename(old)
            fresh.rename(path)
            remove_tree(old)
            flush(path.parent)
            return (notice("IO_030", location=str(path)),)
    flush(path.parent)
    remove_tree(work)
    return ()


def recover(path: Path) -> None:
    """Put back what a crash between two renames left aside."""
    old = _aside(path)
    if old.exists():
        if path.exists():
            remove_tree(old)
        else:
            old.rename(path)


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.daybook-old")


def _standing(path: Path) -> Path:
    """The folder that holds the rows: who only looks puts nothing back, since a commit may be under way."""
    return path if path.exists() else _aside(path)


def _current(path: Path, target: Target) -> Manifest | None:
    """What the folder holds: by its manifest, or by looking when Daybook did not write it; None when it is empty."""
    if not path.exists():
        return None
    manifest = read_manifest(str(path))
    if manifest is not None:
        return manifest
    if (path / "_delta_log").exists():
        expected = f"a folder of {target.format} files"
        raise DaybookError("IO_028", location=target.place, found="a Delta table", expected=expected)
    files = _visible(path)
    foreign = [name for name in sorted(files) if not _is_part(name, target)]
    if foreign:
        found = f"a folder with other files ({foreign[0]})"
        raise DaybookError("IO_028", location=target.place, found=found, expected=f"a folder of {target.format} files")
    if not files:
        return None
    if target.mode == "replace":
        raise _foreign_files(sorted(files), target)
    entries = tuple(
        Entry("", 0, "", "", partition_values(name).get(RUN_PERIOD), _rows(path / name, target), (name,))
        for name in sorted(files)
    )
    columns = _columns(path / min(files), target) or {column.name: "" for column in target.columns}
    return Manifest(columns, entries)


def _is_part(name: str, target: Target) -> bool:
    """Whether a file looks like one of this table: in the folder itself or in that of a slice."""
    *folders, file = name.split("/")
    is_in_slice = len(folders) == 1 and RUN_PERIOD in partition_values(name)
    return (not folders or is_in_slice) and file.endswith(_EXTENSIONS[target.format])


def _foreign_files(files: list[str], target: Target) -> DaybookError:
    return DaybookError(
        "IO_028",
        location=target.place,
        found=f"a folder with files that no run wrote ({_some(files)})",
        expected="one that only runs write to",
        hint="move them away; files whose names begin with _ or . may stay",
    )


def _refuse_differences(path: Path, current: Manifest, target: Target) -> None:
    """A commit leaves behind what no commit wrote, and cannot keep what is gone."""
    found = _visible(path)
    foreign = sorted(found.difference(*(entry.files for entry in current.entries)))
    if foreign:
        raise _foreign_files(foreign, target)
    missing = {file: entry.run_period for entry in current.entries for file in entry.files if file not in found}
    # Of several periods that lost files, each is brought back by a run of its own.
    is_repair = target.mode == "replace_period" and target.run_period in missing.values()
    if missing and _kept(current, target) and not is_repair:
        periods = sorted({period for period in missing.values() if period is not None})
        again = f"run {_some(periods)} again" if periods and target.mode == "replace_period" else "use mode replace"
        hint = f"restore them, or {again}; without its {MANIFEST} the folder is taken as it is"
        raise DaybookError("IO_033", location=target.place, files=_some(sorted(missing)), hint=hint)


def _some(names: list[str]) -> str:
    """The first few, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _visible(path: Path) -> set[str]:
    """What readers take for data."""
    return {relative_to(file.path, str(path)) for file in list_files(str(path))}


def _hidden(path: Path) -> list[str]:
    """What readers pass over: notes and the like, which move along with the table."""
    everything = {str((Path(parent) / name).relative_to(path)) for parent, _, names in os.walk(path) for name in names}
    return sorted(everything - _visible(path) - {MANIFEST})


def _rows(file: Path, target: Target) -> int:
    """Of files without a footer it is enough to know whether they hold anything."""
    return int(pq.read_metadata(file).num_rows) if target.format == "parquet" else min(file.stat().st_size, 1)


def _columns(file: Path, target: Target) -> dict[str, str] | None:
    if target.format == "parquet":
        return {field.name: type_text(field.type) for field in pq.read_schema(file)}
    if target.format == "csv":
        with file.open(encoding="utf-8-sig", newline="") as stream:
            return dict.fromkeys(next(csv.reader(stream), []), "")
    return None
