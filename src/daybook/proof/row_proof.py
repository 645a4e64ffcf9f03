"""Proves that one row is among the sealed rows of an output, without the other rows.

A proof has the row, the hashes of the other rows of its bucket, the sibling hashes on the path to the root, and the
whole certificate.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daybook.errors import DaybookError
from daybook.model.types import ColumnType
from daybook.proof.certificate import Certificate, Subject, read_certificate
from daybook.proof.envelope import malformed
from daybook.proof.row_digest import BucketPath, RowHashes, digest_of_tree, hash_of_bucket, hash_of_node
from daybook.proof.row_encoding import (
    CHILDREN,
    DigestedColumn,
    digest_of_root,
    hash_of_texts,
    row_hasher,
    value_as_text,
)

PROOF_TYPE = "urn:daybook:row-proof:v1"
_MOST_BUCKET_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class RowProof:
    """`row` is the text of every value, in the order of the subject's columns."""

    certificate: Certificate
    subject: str
    row: tuple[str | None, ...]
    path: BucketPath

    @property
    def columns(self) -> tuple[DigestedColumn, ...]:
        rows = self.certificate.subject(self.subject).rows
        return rows.columns if rows is not None else ()


def find_row(
    columns: Mapping[str, ColumnType],
    rows: Iterable[Sequence[Any]],
    is_selected: Callable[[Sequence[Any]], bool],
    subject: Subject,
) -> tuple[tuple[str | None, ...], BucketPath]:
    """The one selected row, with its path; identical rows count as one.

    PROOF_012 where no row or several are selected, PROOF_013 where the rows do not have the digest of the subject.
    """
    hashed = row_hasher(tuple(columns.values()))
    matches: dict[bytes, Sequence[Any]] = {}
    with RowHashes() as hashes:
        for row in rows:
            row_hash = hashed(row)
            hashes.add(row_hash)
            if is_selected(row):
                matches[row_hash] = row
                if len(matches) > 1:
                    raise DaybookError("PROOF_012", output=subject.name, count="several rows have")
        if not matches:
            raise DaybookError("PROOF_012", output=subject.name, count="no row has")
        ((row_hash, row),) = matches.items()
        tree = hashes.tree(path_to=row_hash)
    digest = digest_of_tree(subject.rows.columns if subject.rows is not None else (), tree)
    if digest != subject.rows or tree.path is None:
        raise DaybookError("PROOF_013", output=subject.name)
    texts = tuple(value_as_text(value, type_) for value, type_ in zip(row, columns.values(), strict=True))
    return texts, tree.path


def proof_json(
    envelope: Mapping[str, Any], subject: str, row: Sequence[str | None], path: BucketPath
) -> dict[str, Any]:
    return {
        "type": PROOF_TYPE,
        "subject": subject,
        "row": list(row),
        "bucket": [row_hash.hex() for row_hash in path.bucket],
        "nodes": [[child.hex() for child in children] for children in path.nodes],
        "certificate": envelope,
    }


def is_proof(document: Any) -> bool:
    return isinstance(document, dict) and document.get("type") == PROOF_TYPE


def read_proof(document: Mapping[str, Any], path: Path) -> RowProof:
    """Raises PROOF_001 for a document that is not a proof."""
    match document:
        case {"subject": str(name), "row": list(row), "bucket": list(bucket), "nodes": list(nodes)}:
            pass
        case _:
            raise malformed(path, "a proof has subject, row, bucket, nodes and certificate")
    certificate = read_certificate(document.get("certificate"), path)
    subject = next((subject for subject in certificate.subjects if subject.name == name), None)
    if subject is None or subject.rows is None:
        raise malformed(path, f"the certificate has no rows of {name[:100]}")
    if len(row) != len(subject.rows.columns) or not all(text is None or isinstance(text, str) for text in row):
        raise malformed(path, "its row has not the columns of the output")
    if len(bucket) > _MOST_BUCKET_ROWS or len(nodes) != subject.rows.levels:
        raise malformed(path, f"{len(bucket)} hashes and {len(nodes)} nodes do not fit {subject.rows.rows} rows")
    if not all(isinstance(children, list) and len(children) == CHILDREN for children in nodes):
        raise malformed(path, f"a node has not {CHILDREN} children")
    return RowProof(
        certificate,
        name,
        tuple(row),
        BucketPath(_hashes(bucket, path), tuple(_hashes(children, path) for children in nodes)),
    )


def _hashes(values: Sequence[Any], path: Path) -> tuple[bytes, ...]:
    try:
        hashes = tuple(bytes.fromhex(value) for value in values)
    except (TypeError, ValueError):
        hashes = (b"",)
    if any(len(value) != 32 for value in hashes):
        raise malformed(path, "a hash is not 64 hex digits")
    return hashes


def proof_problem(proof: RowProof) -> str | None:
    """Why the proof does not hold; None where it does."""
    subject = proof.certificate.subject(proof.subject)
    assert subject.rows is not None
    try:
        row_hash = hash_of_texts(subject.rows.columns, proof.row)
    except ValueError:
        return "the row has a value that is none of its type"
    if row_hash not in proof.path.bucket:
        return "the row is not in the bucket of the proof"
    if list(proof.path.bucket) != sorted(proof.path.bucket):
        return "the bucket is not in order"
    node = hash_of_bucket(proof.path.bucket)
    for digit, children in zip(reversed(row_hash.hex()[: subject.rows.levels]), proof.path.nodes, strict=True):
        if children[int(digit, CHILDREN)] != node:
            return "the bucket is not where the row belongs"
        node = hash_of_node(children)
    rows = subject.rows
    if digest_of_root(node, rows.columns, rows.levels, rows.rows) != rows.digest:
        return "the proof does not lead to the digest that was sealed"
    return None
