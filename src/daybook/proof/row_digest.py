"""The digest of rows in plain Python: one pass over the rows, in memory that does not grow with them.

The hashes of rows are kept in 256 parts by their first byte, and beyond a limit in a temporary file. The parts are
then sorted one after the other, and the tree above them is built from left to right.
"""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import TracebackType
from typing import IO, Any, Self

from daybook.model.types import ColumnType
from daybook.proof.row_encoding import (
    BUCKET,
    CHILDREN,
    NODE,
    DigestedColumn,
    RowsDigest,
    digest_of_root,
    digested_columns,
    levels_for,
    row_hasher,
)

_HASH_BYTES = 32
_PARTS = 256
_HELD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class BucketPath:
    """The row hashes of one bucket, sorted, and the children of every node above it, from the bucket to the root."""

    bucket: tuple[bytes, ...]
    nodes: tuple[tuple[bytes, ...], ...]


@dataclass(frozen=True, slots=True)
class RowTree:
    """The root of a tree of row hashes; `path` leads to the row that was asked for."""

    root: bytes
    levels: int
    rows: int
    path: BucketPath | None = None


class RowHashes:
    """The hashes of rows in any order; a context, since they may need a temporary file."""

    def __init__(self, *, held_bytes: int = _HELD_BYTES) -> None:
        self._held_bytes = held_bytes
        self._parts = [bytearray() for _ in range(_PARTS)]
        self._size = 0
        self._spilled: list[list[tuple[int, int]]] = [[] for _ in range(_PARTS)]
        self._file: IO[bytes] | None = None
        self.rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, row_hash: bytes) -> None:
        self._parts[row_hash[0]] += row_hash
        self.rows += 1
        self._size += _HASH_BYTES
        if self._size >= self._held_bytes:
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="daybook-hashes-")  # noqa: SIM115
        for number, part in enumerate(self._parts):
            if part:
                self._spilled[number].append((self._file.tell(), len(part)))
                self._file.write(part)
                part.clear()
        self._size = 0

    def in_order(self) -> Iterator[bytes]:
        """Every hash, sorted, repeated ones as often as they were added."""
        if self._file is not None:
            self._spill()
        for number, part in enumerate(self._parts):
            content = self._read(number) if self._file is not None else part
            yield from sorted(bytes(content[at : at + _HASH_BYTES]) for at in range(0, len(content), _HASH_BYTES))

    def _read(self, number: int) -> bytes:
        assert self._file is not None
        chunks = []
        for offset, length in self._spilled[number]:
            self._file.seek(offset)
            chunks.append(self._file.read(length))
        return b"".join(chunks)

    def tree(self, path_to: bytes | None = None) -> RowTree:
        """The root above the hashes, with the path to the row of one hash."""
        levels = levels_for(self.rows)
        builder = _TreeBuilder(levels, path_to.hex()[:levels] if path_to is not None else None)
        next_bucket = 0
        for prefix, hashes in groupby(self.in_order(), key=lambda row_hash: row_hash.hex()[:levels]):
            number = int(prefix, CHILDREN)
            for _ in range(next_bucket, number):
                builder.add_bucket(())
            builder.add_bucket(hashes)
            next_bucket = number + 1
        for _ in range(next_bucket, CHILDREN**levels):
            builder.add_bucket(())
        return RowTree(builder.root, levels, self.rows, builder.path)


def hash_of_bucket(row_hashes: Iterable[bytes]) -> bytes:
    """The hash of a bucket, from the sorted hashes of its rows."""
    digest = hashlib.sha256(BUCKET)
    for row_hash in row_hashes:
        digest.update(row_hash)
    return digest.digest()


def hash_of_node(children: Sequence[bytes]) -> bytes:
    return hashlib.sha256(NODE + b"".join(children)).digest()


@dataclass(slots=True)
class _TreeBuilder:
    """Takes buckets from left to right; holds at most sixteen children of one node of every level."""

    levels: int
    bucket_prefix: str | None
    root: bytes = b""
    _pending: list[list[bytes]] = field(default_factory=list)
    # How many nodes of every level are complete.
    _done: list[int] = field(default_factory=list)
    _bucket: tuple[bytes, ...] | None = None
    _nodes: list[tuple[bytes, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._pending = [[] for _ in range(self.levels + 1)]
        self._done = [0] * (self.levels + 1)

    def add_bucket(self, row_hashes: Iterable[bytes]) -> None:
        if self._is_on_path(self.levels):
            self._bucket = tuple(row_hashes)
            row_hashes = self._bucket
        self._add(self.levels, hash_of_bucket(row_hashes))

    def _add(self, level: int, node: bytes) -> None:
        self._done[level] += 1
        if level == 0:
            self.root = node
            return
        children = self._pending[level]
        children.append(node)
        if len(children) == CHILDREN:
            if self._is_on_path(level - 1):
                self._nodes.append(tuple(children))
            parent = hash_of_node(children)
            children.clear()
            self._add(level - 1, parent)

    def _is_on_path(self, level: int) -> bool:
        """Whether the next node of a level is an ancestor of the bucket that was asked for, or the bucket itself."""
        return self.bucket_prefix is not None and self._done[level] == int(self.bucket_prefix[:level] or "0", CHILDREN)

    @property
    def path(self) -> BucketPath | None:
        return None if self._bucket is None else BucketPath(self._bucket, tuple(self._nodes))


def digest_rows(columns: Mapping[str, ColumnType], rows: Iterable[Sequence[Any]]) -> RowsDigest:
    """The digest of rows whose values are in the order of the columns."""
    hashed = row_hasher(tuple(columns.values()))
    with RowHashes() as hashes:
        for row in rows:
            hashes.add(hashed(row))
        return digest_of_tree(digested_columns(columns), hashes.tree())


def digest_of_tree(columns: tuple[DigestedColumn, ...], tree: RowTree) -> RowsDigest:
    return RowsDigest(columns, tree.levels, tree.rows, digest_of_root(tree.root, columns, tree.levels, tree.rows))
