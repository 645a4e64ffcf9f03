"""What Daybook keeps beside its data is what it wrote, or refused."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.formats.files.manifest import MANIFEST_NAME, Manifest, ManifestEntry, read_manifest

MANIFEST = Manifest({"a": "string"}, (ManifestEntry("r", 1, "p", "o", "2026-01", 3, ("x.csv",)),), (("r", 1, 3),))


def test_it_comes_back(tmp_path: Path) -> None:
    assert read_manifest(str(tmp_path)) is None
    (tmp_path / MANIFEST_NAME).write_text(MANIFEST.to_json())
    assert read_manifest(str(tmp_path)) == MANIFEST


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"5", b"null", b"\xff\xfe", b"{}", b'{"entries": [5]}', b"[" * 100_000, b'{"entries": 5}'],
    ids=lambda content: repr(content)[:20],
)
def test_a_damaged_one_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MANIFEST_NAME).write_bytes(content)
    with pytest.raises(DaybookError) as caught:
        read_manifest(str(tmp_path))
    assert (caught.value.code, caught.value.parameters["file"]) == ("IO_040", tmp_path / MANIFEST_NAME)
