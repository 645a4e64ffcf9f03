"""What a workspace itself lives on, which no output may write to."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from daybook.errors import DaybookError, raise_all
from daybook.io.overlap import overlaps
from daybook.model.loading import Workspace
from daybook.model.loading.workspace import WORKSPACE_FILE
from daybook.resolve.location import Location
from daybook.runs.targets import PlannedOutput
from daybook.store.address import EmbeddedStore, parse_address


def refuse_own_files(workspace: Workspace, outputs: Iterable[PlannedOutput], *, is_sandboxed: bool) -> None:
    """IO_034 for outputs that equal, lie inside of or contain what the workspace lives on."""
    own = [(what, Location("json", uri=place)) for what, place in _own_places(workspace)]
    if not is_sandboxed:
        # The sandbox is a folder of Daybook's own too, and may well lie there.
        own.append(("the state folder", Location("json", uri=workspace.settings.state)))
    errors = []
    for output in outputs:
        touched = next(((what, place.uri) for what, place in own if overlaps(output.target, place)), None)
        if touched is not None:
            what, place = touched
            seq = output.step.seq
            errors.append(DaybookError("IO_034", operation_seq=seq, output=output.label, what=what, place=place))
    raise_all(errors)


def _own_places(workspace: Workspace) -> Iterator[tuple[str, str]]:
    yield "the settings", WORKSPACE_FILE
    address = parse_address(workspace.settings.store, workspace.root)
    if isinstance(address, EmbeddedStore):
        path = address.path.resolve()
        # SQLite keeps what is not yet in the file beside it.
        yield from (("the store", f"{path}{suffix}") for suffix in ("", "-wal", "-shm"))
    for file in sorted({definition.file for definition in workspace.all() if definition.file is not None}):
        yield "a definition", str(Path(file).resolve())
