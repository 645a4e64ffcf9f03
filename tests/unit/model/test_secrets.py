"""Secrets by reference, and secrets that are written out."""

from pathlib import Path

import pytest

from daybook.definitions.loading import compose_documents
from daybook.errors import DaybookError, render
from daybook.model.secrets import find_secrets, has_secret, is_secret_name, mask_secrets, read_credential


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


# The value is hunter2 in all of them.
WRITTEN_OUT = [
    "jdbc:mysql://h/db?pass%77ord=hunter2",
    "jdbc:mysql://h/db?PASS%2577ORD=hunter2",
    "jdbc:mysql://h/db?user=a&%70%61%73%73%77%6f%72%64=hunter2",
    "jdbc:mysql://h/db%3Fpassword%3Dhunter2",
    "jdbc:mysql://a:hunter2@h/db",
    "jdbc:mysql://a%3Ahunter2%40h/db",
    "jdbc:mysql://address=(host=h)(PassWord=hunter2)/db",
    "jdbc:sqlserver://h;user=a;PassWord = hunter2",
    "jdbc:sqlserver://h;user=a;pa%73sword=hunter2",
    "jdbc:db2://h:50000/db:user=a;pwd=hunter2;",
    "https://a:hunter2@h/x.csv",
    "https://a%3Ahunter2@h/x.csv",
    "https://h/x.csv?X-Amz-Signature=hunter2",
    "https://h/x.csv?X-Amz-Date=1&X-Goog-Signature=hunter2",
    "s3://b/x.csv?AWSAccessKeyId=A&Signature=hunter2&Expires=1",
    "data/x.csv?Signature=hunter2",
    "data/x.csv?s%69gnature=hunter2",
    "abfss://c@a.dfs.core.windows.net/x?sv=1&sig=hunter2",
    "abfss://c@a.dfs.core.windows.net/x?sv=1&s%69g=hunter2",
    "data/x.csv?sv=1&SIG=hunter2",
]
HARMLESS = [
    "postgresql://user@host/db",
    "jdbc:mysql://h/db?useSSL=true&characterEncoding=utf%2D8",
    "s3://bucket/signature=a/part%20one.csv",
    "data/design=1/x%3D2.csv",
    "https://host:8080/@me",
    "data/signatures.csv",
    "data/100%.csv",
    "abfss://container@account.dfs.core.windows.net/x",
]


@pytest.mark.parametrize("text", WRITTEN_OUT)
def test_a_secret_is_found_in_every_spelling(text: str) -> None:
    assert has_secret(text)
    (document,) = compose_documents(f"datasource: {{options: {{url: '{text}'}}}}", "a.yaml").documents
    assert [node.text for _, node in find_secrets(document)] == [text]


@pytest.mark.parametrize("text", WRITTEN_OUT)
def test_a_secret_is_masked_in_every_spelling(text: str) -> None:
    line = f"cannot read {text}"
    assert "hunter2" not in mask_secrets(line)
    assert len(mask_secrets(line)) == len(line)


@pytest.mark.parametrize("text", HARMLESS)
def test_addresses_without_secrets(text: str) -> None:
    assert not has_secret(text)
    assert mask_secrets(text) == text


@pytest.mark.parametrize("key", ["signature", "X-Amz-Signature", "sig", "pass%77ord", "p%2561ssword"])
def test_names_of_secrets(key: str) -> None:
    assert is_secret_name(key)


@pytest.mark.parametrize("key", ["signatures", "design", "signed", "sigma"])
def test_names_that_are_none(key: str) -> None:
    assert not is_secret_name(key)
