"""The tasks of the PostgreSQL writer need nothing of Daybook where they run."""

import socket
import struct
import subprocess
import sys
from pathlib import Path

from pyspark import cloudpickle
from pyspark.serializers import SpecialLengths

from daybook.io.formats.postgresql import ingest

_LOAD = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "daybook":
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
from pyspark import cloudpickle
source = cloudpickle.load(open(sys.argv[1], "rb"))
names = ("secret_address", "staging_schema", "staging_table", "acknowledged_table")
writer = source(options=dict.fromkeys(names, "x"))
print(source.name(), type(writer.writer(None, False)).__name__)
"""


def test_the_source_loads_without_daybook(tmp_path: Path) -> None:
    cloudpickle.register_pickle_by_value(ingest)  # type: ignore[no-untyped-call]
    try:
        (tmp_path / "source").write_bytes(cloudpickle.dumps(ingest.CopySource))  # type: ignore[no-untyped-call]
    finally:
        cloudpickle.unregister_pickle_by_value(ingest)  # type: ignore[no-untyped-call]
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(tmp_path / "source")], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["daybook_postgresql", "CopyWriter"], done.stderr


# A worker whose COPY fails at once, with Spark at the other end of its socket.
_FAIL = """
import socket, sys
import pyarrow
from pyspark import TaskContext
from daybook.io.formats.postgresql import ingest

def refuse(seconds):
    raise AssertionError("it waits for a time instead of for Spark")

ingest.time.sleep = refuse
TaskContext._taskContext = context = TaskContext()
context._taskAttemptId = 7
connection = socket.socket(fileno=int(sys.argv[1]))

def main(infile, outfile):
    options = {"secret_address": "postgresql://127.0.0.1:1/x", "staging_table": "t", "staging_schema": "s"}
    batch = pyarrow.record_batch({"a": [1]})
    ingest.CopyWriter(options).write(iter([batch]))

main(connection.makefile("rb"), connection.makefile("wb"))
"""


def test_a_failed_copy_tells_spark_and_ends_when_spark_hangs_up() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        worker = subprocess.Popen(
            [sys.executable, "-c", _FAIL, str(theirs.fileno())], pass_fds=[theirs.fileno()], stderr=subprocess.PIPE
        )
        theirs.close()
        with ours.makefile("rb") as answer:
            marker, length = struct.unpack("!ii", answer.read(8))
            assert marker == SpecialLengths.PYTHON_EXCEPTION_THROWN
            assert b"OperationalError" in answer.read(length)
        assert worker.poll() is None
        ours.shutdown(socket.SHUT_RDWR)
        ours.close()
        _, said = worker.communicate(timeout=60)
    assert worker.returncode == 1
    assert said == b""
