"""Settings of a Connect session are read and set all at once: each request takes a round trip."""

from types import SimpleNamespace
from typing import Any

from daybook.engine.java import connect


class AskedServer:
    """Counts requests; `own` are its settings, and others have no value."""

    def __init__(self, **own: str) -> None:
        self.own = own
        self.questions = 0
        self.changes: list[dict[str, str]] = []
        self.client = self.conf = self

    def config(self, operation: Any) -> SimpleNamespace:
        self.questions += 1
        return SimpleNamespace(pairs=[(key, self.own[key]) for key in operation.get_option.keys if key in self.own])

    def _set_all(self, values: dict[str, str], silent: bool) -> None:
        assert not silent
        self.changes.append(values)


def test_all_settings_take_two_requests_and_what_is_so_already_is_not_set() -> None:
    server = AskedServer(same="1", other="2")
    session: Any = server
    connect._apply_settings(session, {"same": "1", "other": "3", "new": "4"})
    assert (server.questions, server.changes) == (1, [{"other": "3", "new": "4"}])


def test_where_everything_is_so_already_nothing_is_set() -> None:
    server = AskedServer(same="1")
    session: Any = server
    connect._apply_settings(session, {"same": "1"})
    assert (server.questions, server.changes) == (1, [])
    assert connect.read_connect_settings(session, ["same", "missing"]) == {"same": "1", "missing": None}
