"""A run made with one version of Spark and computed again with another, by the real program."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import environment

pytestmark = pytest.mark.spark

REPOSITORY = Path(__file__).parents[2]
OLDEST = REPOSITORY / "build/spark-4.0/bin/daybook"
LOCKED = Path(sys.executable).parent / "daybook"
SECONDS = 900
# By hand: 1250.00 + 89.90 of EMEA, each order with a fee of three percent.
EMEA = "EMEA,1339.90,40.20,2"


def daybook(program: Path, command: str, folder: Path) -> str:
    done = subprocess.run(
        [program, *command.split()],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.skipif(not OLDEST.exists(), reason="the environment of Spark 4.0 is not here")
@pytest.mark.parametrize(
    ("first", "second"), [(OLDEST, LOCKED), (LOCKED, OLDEST)], ids=["older-then-newer", "newer-then-older"]
)
def test_a_run_is_replayed_with_another_version(first: Path, second: Path, tmp_path: Path) -> None:
    daybook(LOCKED, "init starter", tmp_path)
    folder = tmp_path / "starter"
    daybook(first, "run monthly-sales --period 2026-01", folder)
    assert EMEA in (folder / "out/sales-2026-01.csv").read_text(encoding="utf-8").splitlines()
    assert "every output is the same" in daybook(second, "replay monthly-sales@2026-01 --verify", folder)
