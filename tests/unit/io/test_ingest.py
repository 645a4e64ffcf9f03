"""The tasks of the PostgreSQL writer need nothing of Daybook where they run."""

import subprocess
import sys
from pathlib import Path

from pyspark import cloudpickle

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
