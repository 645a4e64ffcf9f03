"""A process that was killed in the middle of a run makes way at once; one that lives does not."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.store import open_store
from daybook.store.process import current_process
from daybook.store.store import MetadataStore
from tests.unit.store.samples import new_run

REPOSITORY = Path(__file__).parents[3]

HOLDER = """
import sys, time
from pathlib import Path
from daybook.store import open_store
from daybook.store.process import current_process
from tests.unit.store.samples import new_run

store = open_store(sys.argv[1], root=Path(sys.argv[2]))
with store.write() as transaction:
    transaction.runs.start(**new_run("held"), process=current_process(), now=transaction.now())
sys.stdout.write("held\\n")
sys.stdout.flush()
time.sleep(600)
"""


def start(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.runs.start(**new_run("next"), process=current_process(), now=transaction.now())


def test_a_killed_holder_makes_way_at_once(store_url: str, tmp_path: Path) -> None:
    with open_store(store_url, root=tmp_path, migrate=True) as store:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, store_url, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
        )
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        # It does not even have to run: what is stopped is not dead.
        os.kill(holder.pid, signal.SIGSTOP)
        with pytest.raises(DaybookError) as caught:
            start(store)
        assert (caught.value.code, caught.value.parameters["pid"]) == ("STORE_012", holder.pid)
        holder.kill()
        holder.communicate()
        start(store)
        with store.read() as transaction:
            assert transaction.runs.get("held").status == "failed"
            assert transaction.runs.get("next").status == "queued"
