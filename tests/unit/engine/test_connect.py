import socket

import pytest

from daybook.engine.java.session import start_session
from daybook.errors import DaybookError
from daybook.model.settings import EngineSettings


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_server_that_is_not_there_is_told_at_once_and_without_the_token() -> None:
    remote = f"sc://127.0.0.1:{free_port()}/;token=very-secret"
    with pytest.raises(DaybookError) as caught:
        start_session(EngineSettings(remote=remote), app_name="close")
    assert caught.value.code == "RUN_908"
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize("remote", ["sc://127.0.0.1:no-number", "sc://127.0.0.1:99999"])
def test_an_impossible_port_is_a_coded_error(remote: str) -> None:
    with pytest.raises(DaybookError) as caught:
        start_session(EngineSettings(remote=remote), app_name="close")
    assert caught.value.code == "RUN_908"
