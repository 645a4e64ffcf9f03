"""Secrets by reference."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError, render
from daybook.model.secrets import read_credential


def test_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYBOOK_TEST_SECRET", " hunter2 ")
    assert read_credential("env://DAYBOOK_TEST_SECRET", tmp_path) == " hunter2 "


@pytest.mark.parametrize(
    ("content", "secret"),
    [("hunter2\n", "hunter2"), ("hunter2\r\n", "hunter2"), ("hunter2", "hunter2"), ("a\n\n", "a\n")],
)
def test_a_file(tmp_path: Path, content: str, secret: str) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content.encode())
    assert read_credential("file://secret", tmp_path) == secret
    assert read_credential(f"file://{file}", Path("/")) == secret


@pytest.mark.parametrize(
    "reference", ["hunter2", "hunter2://x", "env://", "file://", "env://hunter2 x", "ENV://hunter2"]
)
def test_what_is_no_reference_is_not_shown(tmp_path: Path, reference: str) -> None:
    with pytest.raises(DaybookError) as caught:
        read_credential(reference, tmp_path)
    assert caught.value.code == "RESOLVE_080"
    assert "hunter2" not in render(caught.value) + repr(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n", b"hunter2\0", b"hunter2\xff", b"hunter2" * 10_000])
def test_a_file_without_a_usable_secret(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret").write_bytes(content)
    with pytest.raises(DaybookError) as caught:
        read_credential("file://secret", tmp_path)
    assert caught.value.code == "RESOLVE_081"
    assert "hunter2" not in render(caught.value) + repr(caught.value)


@pytest.mark.parametrize("reference", ["env://NOT_SET_ANYWHERE", "file://missing", "file://.", "file://a\0b"])
def test_a_secret_that_is_not_there(tmp_path: Path, reference: str) -> None:
    with pytest.raises(DaybookError) as caught:
        read_credential(reference, tmp_path)
    assert (caught.value.code, caught.value.parameters["reference"]) == ("RESOLVE_081", reference)
