"""No password of an address is shown, kept or accepted, in whatever form a driver takes it."""

import json
from pathlib import Path

import pytest

from daybook.definitions.loading import load_text, load_workspace
from daybook.errors import DaybookError, flatten, render
from daybook.model.secrets import has_secret, host_has_secret, mask_address, mask_host, mask_secrets
from daybook.store.address import parse_address
from tests.attacks.tables import addresses

SECRET = "hunter2"


def everything(error: DaybookError) -> str:
    """All that an error could print or keep."""
    found = [error, *flatten(error)]
    return "".join((render(each) + str(each) + repr(each) + repr(each.parameters) + str(each.hint)) for each in found)


@pytest.mark.parametrize(("address", "shown"), addresses.WITH_SECRETS)
def test_what_is_shown_of_an_address(address: str, shown: str) -> None:
    assert mask_address(address) == shown
    assert has_secret(address)


@pytest.mark.parametrize(("address", "shown"), addresses.WITHOUT_SCHEME)
def test_what_is_shown_without_a_scheme(address: str, shown: str) -> None:
    assert mask_address(address) == shown


@pytest.mark.parametrize("address", addresses.PLAIN)
def test_a_plain_address_is_shown_as_it_is(address: str) -> None:
    assert mask_address(address) == address
    assert not has_secret(address)


@pytest.mark.parametrize("host", addresses.HOSTS)
def test_a_host_that_is_more_is_not_shown(host: str) -> None:
    assert mask_host(host) == "…"
    assert host_has_secret(host)
    definition = {"datasource": {"id": "d", "type": "postgresql", "options": {"host": host, "database": "close"}}}
    with pytest.raises(DaybookError) as caught:
        load_text(json.dumps(definition), "d.yaml")
    assert SECRET not in everything(caught.value)


@pytest.mark.parametrize("host", ["db.example", "127.0.0.1", "::1", "fe80::1", "[::1]", "/run/postgresql"])
def test_a_host_is_shown(host: str) -> None:
    assert mask_host(host) == host


JDBC = [address for address, _ in addresses.WITH_SECRETS if address.startswith("jdbc:")]


@pytest.mark.parametrize("address", JDBC)
@pytest.mark.parametrize("style", ["json", "yaml", "broken"])
def test_a_data_source_with_a_secret_is_refused_and_not_shown(address: str, style: str) -> None:
    options = {"url": address, "driver": "x.Driver"}
    text = json.dumps({"datasource": {"id": "d", "type": "jdbc", "options": options}})
    if style != "json":
        quoted = address.replace("'", "''")
        text = f"datasource:\n  id: d\n  type: jdbc\n  options:\n    url: '{quoted}'\n    driver: x.Driver\n"
    if style == "broken":
        text += "    driver: again\n  nonsense: [\n"
    with pytest.raises(DaybookError) as caught:
        load_text(text, "d.yaml")
    assert SECRET not in everything(caught.value)
    if style != "broken":
        assert "MODEL_051" in [error.code for error in flatten(caught.value)]


STORES = [address for address, _ in [*addresses.WITH_SECRETS, *addresses.WITHOUT_SCHEME]]


@pytest.mark.parametrize("address", STORES)
def test_a_store_with_a_secret_is_refused_and_not_shown(address: str, tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        parse_address(address, tmp_path)
    assert caught.value.code in ("STORE_001", "STORE_002")
    assert SECRET not in everything(caught.value)


@pytest.mark.parametrize("address", [address for address, _ in addresses.WITH_SECRETS])
def test_a_workspace_with_such_a_store_is_refused_and_not_shown(address: str, tmp_path: Path) -> None:
    (tmp_path / "daybook.yaml").write_text(json.dumps({"name": "w", "store": address}), encoding="utf-8")
    with pytest.raises(DaybookError) as caught:
        load_workspace(tmp_path)
    assert "MODEL_051" in [error.code for error in flatten(caught.value)]
    assert SECRET not in everything(caught.value)


@pytest.mark.parametrize("address", [address for address, _ in addresses.WITH_SECRETS])
def test_texts_keep_their_length_when_they_are_masked(address: str) -> None:
    for text in (f"url: {address}\nnext: line\n", f"url: '{address}'\nnext: line\n", f'{{"url": "{address}"}}\n'):
        masked = mask_secrets(text)
        assert len(masked) == len(text)
        assert masked.count("\n") == text.count("\n")
        assert SECRET not in masked
