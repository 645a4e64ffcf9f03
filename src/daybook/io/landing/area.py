"""Where landed inputs live: immutable folders, each published by its manifest."""

import json
import os
import uuid
from dataclasses import asdict, dataclass
from typing import Any

from pyarrow import fs

from daybook.io.filesystem import ArrowPath, arrow_path, join_uri, local_path

_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class LandedFile:
    """`path` is relative to the landing area."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class PublishedLanding:
    """A published landing; `is_unique` when no two rows are equal and every ordinal is 0."""

    folder: str
    files: tuple[LandedFile, ...]
    carried: tuple[str, ...]
    extra: tuple[str, ...]
    is_unique: bool

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, slots=True)
class LandingArea:
    """`uri` is a folder below the workspace's state, shared with the cluster where there is one."""

    uri: str
    run_id: str

    def file_folder(self, key: str) -> str:
        """Landings of files are shared between runs."""
        return f"files/{key}"

    def run_folder(self, key: str) -> str:
        """Landings of databases belong to one run."""
        return f"runs/{self.run_id}/{key}"

    def absolute(self, path: str) -> str:
        return join_uri(self.uri, path)

    def find(self, folder: str) -> PublishedLanding | None:
        """The landing that was published in a folder, if there is one."""
        place = arrow_path(join_uri(self.uri, folder, _MANIFEST))
        if place.system.get_file_info(place.path).type != fs.FileType.File:
            return None
        with place.system.open_input_stream(place.path) as stream:
            data: dict[str, Any] = json.loads(stream.read())
        files = tuple(LandedFile(**file) for file in data["files"])
        return PublishedLanding(folder, files, tuple(data["carried"]), tuple(data["extra"]), data["is_unique"])

    def new_attempt(self, folder: str) -> str:
        """A fresh place inside the folder for an attempt's data, so that two attempts never mix."""
        attempt = f"{folder}/{self.run_id}.{uuid.uuid4().hex}"
        place = arrow_path(self.absolute(attempt))
        place.system.create_dir(place.path, recursive=True)
        return attempt

    def publish(self, landed: PublishedLanding) -> None:
        """The one atomic step: from here on the landing exists."""
        text = json.dumps(asdict(landed), indent=1).encode()
        path = local_path(join_uri(self.uri, landed.folder, _MANIFEST))
        if path is None:
            _write_object(arrow_path(join_uri(self.uri, landed.folder, _MANIFEST)), text)
            return
        staged = path.with_name(f".{_MANIFEST}.{uuid.uuid4().hex}")
        with staged.open("wb") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        staged.replace(path)

    def remove(self, path: str) -> None:
        """A failed attempt's data."""
        place = arrow_path(self.absolute(path))
        if place.system.get_file_info(place.path).type == fs.FileType.Directory:
            place.system.delete_dir(place.path)


def _write_object(place: ArrowPath, text: bytes) -> None:
    """An object store makes an object visible as a whole when it is complete."""
    with place.system.open_output_stream(place.path) as stream:
        stream.write(text)
