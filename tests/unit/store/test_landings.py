"""Manifests of landings in tables, on both back ends."""

from daybook.store.store import MetadataStore


def test_a_manifest_is_replaced_by_those_who_know_it(store: MetadataStore) -> None:
    with store.write() as transaction:
        assert transaction.landings.find("files/a") is None
        assert transaction.landings.publish("files/b", "{}")
        assert transaction.landings.publish("files/a", "first")
        assert not transaction.landings.publish("files/a", "second")
        assert transaction.landings.publish("files/a", "third", instead_of="first")
    with store.read() as transaction:
        assert transaction.landings.find("files/a") == "third"
        assert transaction.landings.folders() == ("files/a", "files/b")


def test_a_manifest_that_nothing_needs_is_forgotten(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.landings.publish("files/a", "{}")
        transaction.landings.forget("files/a")
        transaction.landings.forget("files/never")
        assert transaction.landings.folders() == ()
