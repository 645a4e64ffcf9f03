"""What `store:` in daybook.yaml may say."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.store.address import EmbeddedStore, SharedStore, parse_address, store_exists
from daybook.store.database.connection import connect_store

ROOT = Path("/ws")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///.daybook/store.db", "/ws/.daybook/store.db"),
        ("sqlite:////var/lib/daybook.db", "/var/lib/daybook.db"),
        ("sqlite:///with%20space.db", "/ws/with space.db"),
    ],
)
def test_embedded_paths(url: str, path: str) -> None:
    assert parse_address(url, ROOT) == EmbeddedStore(Path(path))


def test_shared_address() -> None:
    assert parse_address("postgresql://ann@db.example:5433/close?sslmode=require", ROOT) == SharedStore(
        "db.example", 5433, "ann", "close", (("sslmode", "require"),)
    )


@pytest.mark.parametrize("url", ["postgresql://ann@/close?host=/run/PG", "postgresql://ann@%2Frun%2FPG/close"])
def test_a_socket_folder_is_a_host(url: str) -> None:
    address = parse_address(url, ROOT)
    assert isinstance(address, SharedStore)
    assert (address.host, address.database) == ("/run/PG", "close")


@pytest.mark.parametrize(
    "url", ["postgresql://ann:secret@db/close", "postgresql://ann@db/close?password=secret", "postgres://a:b@/c"]
)
def test_a_password_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(DaybookError) as caught:
        parse_address(url, ROOT)
    assert caught.value.code == "STORE_002"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["store.db", "mysql://a:secret@b/c", "sqlite://", "sqlite:///", "postgresql://a@b:port/c", "sqlite:///x?y=1"]
)
def test_other_addresses_are_not_understood(url: str) -> None:
    with pytest.raises(DaybookError) as caught:
        parse_address(url, ROOT)
    assert caught.value.code == "STORE_001"
    assert "secret" not in str(caught.value)


def test_the_credential_is_a_reference() -> None:
    address = parse_address("postgresql://ann@db/close?credential_ref=env://PG_SECRET", ROOT)
    assert isinstance(address, SharedStore)
    assert address.credential_ref == "env://PG_SECRET"


@pytest.mark.parametrize(
    ("reference", "cause"),
    [("env://NOT_THERE_AT_ALL", "RESOLVE_081"), ("file://nowhere", "RESOLVE_081"), ("vault://x", "RESOLVE_080")],
)
def test_a_missing_credential_is_an_error(reference: str, cause: str, tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        connect_store(parse_address(f"postgresql://u@h/d?credential_ref={reference}", tmp_path), tmp_path)
    assert caught.value.code == "STORE_029"
    assert [each.code for each in caught.value.causes] == [cause]


def test_the_password_is_what_the_credential_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PG_SECRET", "hush hush")
    engine = connect_store(parse_address("postgresql://u@h/d?credential_ref=env://PG_SECRET", tmp_path), tmp_path)
    assert engine.url.password == "hush hush"
    assert "hush" not in str(engine.url)


def test_presence(tmp_path: Path) -> None:
    assert not store_exists("sqlite:///store.db", tmp_path)
    (tmp_path / "store.db").touch()
    assert store_exists("sqlite:///store.db", tmp_path)
