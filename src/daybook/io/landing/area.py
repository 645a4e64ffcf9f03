"""Where landed inputs live: immutable folders, each published by its manifest and compared with it before use."""

import json
import os
import uuid
from dataclasses import asdict, dataclass
from typing import Any

from pyarrow import fs

from daybook.io.filesystem import ArrowPath, arrow_path, content_digest, join_uri, local_path
from daybook.io.repeated_keys import RepeatedKeys

_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class LandedFile:
    """`path` is relative to the landing area; `digest` is that of the content, empty in old manifests."""

    path: str
    rows: int
    digest: str = ""


@dataclass(frozen=True, slots=True)
class PublishedLanding:
    """A published landing; `is_unique` when no two rows are equal and every ordinal is 0."""

    folder: str
    files: tuple[LandedFile, ...]
    carried: tuple[str, ...]
    extra: tuple[str, ...]
    is_unique: bool
    repeated: RepeatedKeys | None = None
    has_positions: bool = False
    # Whether runs had appended to a slice of a database when it was landed.
    is_appended: bool = False

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
        """The landing that was published in a folder, if its files are there as its manifest recorded them."""
        place = arrow_path(join_uri(self.uri, folder, _MANIFEST))
        if place.system.get_file_info(place.path).type != fs.FileType.File:
            return None
        with place.system.open_input_stream(place.path) as stream:
            text = stream.read()
        try:
            landed = _landing_from_json(folder, json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return landed if all(self._is_intact(folder, file) for file in landed.files) else None

    def _is_intact(self, folder: str, file: LandedFile) -> bool:
        if not file.path.startswith(f"{folder}/") or ".." in file.path.split("/"):
            return False
        place = arrow_path(self.absolute(file.path))
        if place.system.get_file_info(place.path).type != fs.FileType.File:
            return False
        return not file.digest or content_digest(self.absolute(file.path)) == file.digest

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


def _landing_from_json(folder: str, data: dict[str, Any]) -> PublishedLanding:
    files = tuple(LandedFile(str(file["path"]), int(file["rows"]), file.get("digest", "")) for file in data["files"])
    repeated = RepeatedKeys(**data["repeated"]) if data.get("repeated") else None
    carried, extra = tuple(map(str, data["carried"])), tuple(map(str, data["extra"]))
    has_positions = bool(data.get("has_positions", False))
    is_appended = bool(data.get("is_appended", False))
    is_unique = bool(data["is_unique"])
    return PublishedLanding(folder, files, carried, extra, is_unique, repeated, has_positions, is_appended)


def _write_object(place: ArrowPath, text: bytes) -> None:
    """An object store makes an object visible as a whole when it is complete."""
    with place.system.open_output_stream(place.path) as stream:
        stream.write(text)
