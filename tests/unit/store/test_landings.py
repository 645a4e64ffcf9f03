"""Manifests of landings in tables, on both back ends."""

from daybook.store.store import MetadataStore


def test_the_last_manifest_is_the_landing(store: MetadataStore) -> None:
    with store.write() as transaction:
        assert transaction.landings.find("files/a") is None
        transaction.landings.publish("files/b", "{}")
        transaction.landings.publish("files/a", "first")
        transaction.landings.publish("files/a", "second")
    with store.read() as transaction:
        assert transaction.landings.find("files/a") == "second"
        assert transaction.landings.folders() == ("files/a", "files/b")


def test_a_manifest_that_nothing_needs_is_forgotten(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.landings.publish("files/a", "{}")
        transaction.landings.forget("files/a")
        transaction.landings.forget("files/never")
        assert transaction.landings.folders() == ()
