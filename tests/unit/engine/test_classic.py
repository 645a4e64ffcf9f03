import socket

import pytest

from daybook.engine.java.classic import check_master_listens
from daybook.errors import DaybookError


def test_a_master_that_nobody_listens_at_is_refused_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(DaybookError) as caught:
        check_master_listens(master)
    assert caught.value.code == "RUN_910"
    assert caught.value.parameters["master"] == master


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        check_master_listens(f"spark://127.0.0.1:1,127.0.0.1:{listening.getsockname()[1]}")


@pytest.mark.parametrize("master", ["", "local[2]", "local-cluster[2,1,1024]", "yarn", "k8s://https://host:443"])
def test_other_masters_are_left_to_spark(master: str) -> None:
    check_master_listens(master)
