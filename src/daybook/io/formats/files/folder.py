"""A folder of part files: every commit creates a complete new folder of links and exchanges the two folders."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from daybook.errors import DaybookError, Notice, notice
from daybook.io.filesystem import list_files, partition_folder, partition_values, relative_to
from daybook.io.formats.files.manifest import MANIFEST_NAME, Manifest, ManifestEntry, read_manifest
from daybook.io.formats.files.one_file import ExchangeUnsupportedError, exchange_names, lock_folder, rename_if_free
from daybook.io.target import FileTarget, OutputColumn, SliceCommit, WrittenSlice, affected_slices, slices_after
from daybook.io.writer import (
    Commit,
    Fence,
    StagedOutput,
    check_fitted,
    check_schema_change,
    remove_tree,
    sync_to_disk,
)
from daybook.model.types import RUN_PERIOD_COLUMN

# Of the name of a folder as it was before the last commit.
PREVIOUS_SUFFIX = ".daybook-previous"
_MAX_PAST_COMMITS = 1000
# Files that one message names.
_MAX_NAMED_FILES = 3


class PartFiles(Protocol):
    """What a format knows of the files in a folder."""

    @property
    def extensions(self) -> tuple[str, ...]: ...

    def row_count(self, file: Path) -> int: ...

    def stored_columns(self, file: Path) -> Mapping[str, str] | None: ...


def check_folder(path: Path, target: FileTarget, files: PartFiles, *, may_fit: bool) -> tuple[OutputColumn, ...]:
    """What a commit would refuse; the columns as they fit into those of the table, where that is still possible."""
    path = _existing_folder(path)
    if not path.exists():
        return ()
    if not path.is_dir():
        raise DaybookError("IO_028", location=target.label, found="a file", expected="a folder")
    if target.mode == "replace_period" and target.run_period is None:
        raise DaybookError("IO_032", location=target.label, mode=target.mode, reason="the run has no period")
    current = _current_manifest(path, target, files)
    if current is None or committed_folder(path, target) is not None:
        return ()
    _refuse_differences(path, current, target)
    if target.mode == "error":
        raise DaybookError("IO_020", location=target.label)
    if target.mode != "replace":
        is_sliced = any(entry.run_period is not None for entry in current.entries)
        if current.entries and is_sliced != (target.run_period is not None):
            difference = f"{'with' if is_sliced else 'without'} {RUN_PERIOD_COLUMN}"
            raise DaybookError("IO_021", location=target.label, difference=difference)
        existing = {name: type_ or None for name, type_ in current.columns.items()}
        if may_fit:
            return check_fitted(target, existing)
        check_schema_change(target, existing)
    return ()


def folder_columns(path: Path, target: FileTarget, files: PartFiles) -> Mapping[str, str]:
    """The columns of a folder with their types, empty where they are not known."""
    current = _current_manifest(_existing_folder(path), target, files)
    return current.columns if current is not None else {}


def slice_state(path: Path, target: FileTarget) -> str:
    """Who wrote what a commit would replace, to notice another writer."""
    manifest = read_manifest(str(_existing_folder(path)))
    if manifest is None or target.mode == "append":
        return "[]"
    kept = _kept_entries(manifest, target)
    return json.dumps([(entry.run_id, entry.operation_seq) for entry in manifest.entries if entry not in kept])


def committed_folder(path: Path, target: FileTarget) -> Commit | None:
    manifest = read_manifest(str(_existing_folder(path)))
    for run_id, seq, rows in manifest.past if manifest else ():
        if (run_id, seq) == (target.run_id, target.operation_seq):
            return Commit(rows, is_repeat=True)
    return None


def folder_slices(path: Path, target: FileTarget) -> tuple[WrittenSlice, ...]:
    """The slices that a commit would write to or throw away, by the manifest."""
    manifest = read_manifest(str(_existing_folder(path)))
    commits = [
        SliceCommit(entry.run_id, entry.mode, entry.run_period, entry.owner, entry.rows)
        for entry in (manifest.entries if manifest else ())
        if entry.run_id
    ]
    # Entries are live, so none of them was thrown away by a later one.
    live = [replace(commit, mode="" if commit.mode in ("replace", "error") else commit.mode) for commit in commits]
    return affected_slices(slices_after(live), target)


def commit_folder(
    parts: Path, work: Path, path: Path, staged: StagedOutput, target: FileTarget, fence: Fence, files: PartFiles
) -> Commit:
    """`parts` holds the new files, `work` is the staging folder beside the target."""
    with lock_folder(path.parent):
        recover_folder(path)
        if (done := committed_folder(path, target)) is not None:
            return done
        check_folder(path, target, files, may_fit=False)
        if slice_state(path, target) != staged.seen:
            raise DaybookError("IO_024", location=target.label, slice=target.slice_note)
        current = _current_manifest(path, target, files) or Manifest({}, ())
        kept = _kept_entries(current, target)
        _refuse_emptying(current, kept, staged, target)
        fresh = _link_kept(path, work, kept)
        added = _move_parts(parts, fresh, target)
        _write_manifest(fresh, _next_manifest(current, kept, added, staged, target))
        fence(folder_slices(path, target))
        notices = _publish_folder(fresh, path, work)
    return Commit(staged.rows, notices=notices)


def drop_folder_slice(work: Path, path: Path, target: FileTarget, fence: Fence, files: PartFiles) -> Commit:
    """The folder without the files of one slice; `work` is a staging folder beside it."""
    with lock_folder(path.parent):
        recover_folder(path)
        if (done := committed_folder(path, target)) is not None:
            return done
        current = _current_manifest(path, target, files)
        if current is None:
            raise DaybookError("IO_001", location=target.label)
        _refuse_differences(path, current, target)
        kept = _kept_entries(current, target)
        rows = sum(entry.rows for entry in current.entries) - sum(entry.rows for entry in kept)
        fresh = _link_kept(path, work, kept)
        _write_manifest(fresh, Manifest(current.columns, kept, _next_past(current, target, rows)))
        fence(folder_slices(path, target))
        notices = _publish_folder(fresh, path, work)
    return Commit(rows, notices=notices)


def _link_kept(path: Path, work: Path, kept: tuple[ManifestEntry, ...]) -> Path:
    """A new folder with the files that stay."""
    fresh = work / "new"
    remove_tree(fresh)
    fresh.mkdir()
    there = _data_files(path) if path.exists() else set()
    _link_files(path, fresh, [*(file for entry in kept for file in entry.files if file in there), *_hidden_files(path)])
    return fresh


def _write_manifest(fresh: Path, manifest: Manifest) -> None:
    (fresh / MANIFEST_NAME).write_text(manifest.to_json(), encoding="utf-8")
    _sync_folder(fresh)


def _kept_entries(current: Manifest, target: FileTarget) -> tuple[ManifestEntry, ...]:
    match target.mode:
        case "append":
            return current.entries
        case "replace_period":
            return tuple(entry for entry in current.entries if entry.run_period != target.run_period)
        case "replace" | "error":
            return ()


def _refuse_emptying(
    current: Manifest, kept: tuple[ManifestEntry, ...], staged: StagedOutput, target: FileTarget
) -> None:
    rows = sum(entry.rows for entry in current.entries) - sum(entry.rows for entry in kept)
    if rows > 0 and staged.rows == 0 and not target.allow_empty:
        raise DaybookError("IO_023", location=target.label, rows=rows, slice=target.slice_note)


def _next_manifest(
    current: Manifest, kept: tuple[ManifestEntry, ...], files: tuple[str, ...], staged: StagedOutput, target: FileTarget
) -> Manifest:
    own = {column.name: str(column.type) for column in target.columns}
    columns = own if target.mode in ("replace", "error") else {**current.columns, **own}
    owner = target.owner
    entry = ManifestEntry(
        target.run_id,
        target.operation_seq,
        owner.project_id,
        owner.operation_id,
        target.run_period,
        staged.rows,
        files,
        target.mode,
        owner.workspace,
        owner.workspace_id,
    )
    return Manifest(columns, (*kept, entry), _next_past(current, target, staged.rows))


def _next_past(current: Manifest, target: FileTarget, rows: int) -> tuple[tuple[str, int, int], ...]:
    return (*current.past, (target.run_id, target.operation_seq, rows))[-_MAX_PAST_COMMITS:]


def _link_files(source: Path, fresh: Path, files: list[str]) -> None:
    """The same files under the new folder: hard links, or copies where there are none."""
    for name in files:
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source / name, fresh / name)
        except OSError:
            shutil.copy2(source / name, fresh / name)


def _move_parts(parts: Path, fresh: Path, target: FileTarget) -> tuple[str, ...]:
    folder = partition_folder({RUN_PERIOD_COLUMN: target.run_period}) if target.run_period is not None else ""
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


def _sync_folder(folder: Path) -> None:
    for parent, _, files in os.walk(folder):
        for name in files:
            sync_to_disk(Path(parent) / name)
        sync_to_disk(Path(parent))


def _publish_folder(fresh: Path, path: Path, work: Path) -> tuple[Notice, ...]:
    try:
        rename_if_free(fresh, path)
    except FileExistsError:
        try:
            exchange_names(fresh, path)
        except ExchangeUnsupportedError:
            # A crash between the two renames leaves the old folder where `recover` finds it.
            old = _set_aside_path(path)
            path.rename(old)
            fresh.rename(path)
            _keep_for_readers(old, path)
            return (notice("IO_030", location=str(path)),)
        _keep_for_readers(fresh, path)
    sync_to_disk(path.parent)
    remove_tree(work)
    return ()


def _keep_for_readers(replaced: Path, path: Path) -> None:
    """The folder as it was stays until the next commit: who is listing or reading it can finish."""
    previous = path.with_name(f".{path.name}{PREVIOUS_SUFFIX}")
    remove_tree(previous)
    replaced.rename(previous)
    sync_to_disk(path.parent)


def recover_folder(path: Path) -> None:
    """Put back what a crash between two renames left aside."""
    old = _set_aside_path(path)
    if old.exists():
        if path.exists():
            remove_tree(old)
        else:
            old.rename(path)


def _set_aside_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.daybook-old")


def _existing_folder(path: Path) -> Path:
    """The folder that holds the rows: who only looks puts nothing back, since a commit may be under way."""
    return path if path.exists() else _set_aside_path(path)


def _current_manifest(path: Path, target: FileTarget, parts: PartFiles) -> Manifest | None:
    """What the folder holds: by its manifest, or by looking when Daybook did not write it; None when it is empty."""
    if not path.exists():
        return None
    manifest = read_manifest(str(path))
    if manifest is not None:
        return manifest
    if (path / "_delta_log").exists():
        expected = f"a folder of {target.format} files"
        raise DaybookError("IO_028", location=target.label, found="a Delta table", expected=expected)
    files = _data_files(path)
    foreign = [name for name in sorted(files) if not _is_part(name, parts)]
    if foreign:
        description = f"a folder with other files ({foreign[0]})"
        raise DaybookError(
            "IO_028", location=target.label, found=description, expected=f"a folder of {target.format} files"
        )
    if not files:
        return None
    if target.mode == "replace":
        raise _foreign_files_error(sorted(files), target)
    entries = tuple(
        ManifestEntry(
            "", 0, "", "", partition_values(name).get(RUN_PERIOD_COLUMN), parts.row_count(path / name), (name,)
        )
        for name in sorted(files)
    )
    columns = parts.stored_columns(path / min(files)) or {column.name: "" for column in target.columns}
    return Manifest(columns, entries)


def _is_part(name: str, parts: PartFiles) -> bool:
    """Whether a file looks like one of this table: in the folder itself or in that of a slice."""
    *folders, file = name.split("/")
    is_in_slice = len(folders) == 1 and RUN_PERIOD_COLUMN in partition_values(name)
    return (not folders or is_in_slice) and file.endswith(parts.extensions)


def _foreign_files_error(files: list[str], target: FileTarget) -> DaybookError:
    return DaybookError(
        "IO_028",
        location=target.label,
        found=f"a folder with files that no run wrote ({_first_few(files)})",
        expected="a folder that only runs write to",
        hint="move these files to another folder; files whose names begin with _ or . may stay",
    )


def _refuse_differences(path: Path, current: Manifest, target: FileTarget) -> None:
    """A commit leaves behind what no commit wrote, and cannot keep what is gone."""
    data_files = _data_files(path)
    foreign = sorted(data_files.difference(*(entry.files for entry in current.entries)))
    if foreign:
        raise _foreign_files_error(foreign, target)
    missing = {file: entry.run_period for entry in current.entries for file in entry.files if file not in data_files}
    # Of several periods that lost files, each is brought back by a run of its own.
    is_repair = target.mode == "replace_period" and target.run_period in missing.values()
    if missing and _kept_entries(current, target) and not is_repair:
        periods = sorted({period for period in missing.values() if period is not None})
        again = (
            f"run {_first_few(periods)} again" if periods and target.mode == "replace_period" else "use mode replace"
        )
        hint = f"restore them, or {again}; without its {MANIFEST_NAME} the files of the folder are used as they are"
        raise DaybookError("IO_033", location=target.label, files=_first_few(sorted(missing)), hint=hint)


def _first_few(names: list[str]) -> str:
    """The first few, and how many more there are."""
    more = f" and {len(names) - _MAX_NAMED_FILES} more" if len(names) > _MAX_NAMED_FILES else ""
    return f"{', '.join(names[:_MAX_NAMED_FILES])}{more}"


def _data_files(path: Path) -> set[str]:
    """What readers take for data."""
    return {relative_to(file.path, str(path)) for file in list_files(str(path))}


def _hidden_files(path: Path) -> list[str]:
    """What readers pass over: notes and the like, which move along with the table."""
    everything = {str((Path(parent) / name).relative_to(path)) for parent, _, names in os.walk(path) for name in names}
    return sorted(everything - _data_files(path) - {MANIFEST_NAME})
