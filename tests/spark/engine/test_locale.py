"""Results are the same in every locale, and a Spark that follows its machine's is refused."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TURKISH_JAVA = "-Duser.language=tr -Duser.country=TR"

_OWN_SESSION = """
import json
from daybook.engine.java.session import start_session, stop_session
from daybook.model.settings import EngineSettings
settings = EngineSettings(master="local[1]", conf={"spark.driver.memory": "1g"})
spark = start_session(settings, app_name="x", workload="short")
import datetime
from daybook.engine.load_rows import row_id_sql
from daybook.model.calendar import Period
january = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
row_id = row_id_sql(january, "loaded", ("orders",), ("UPPER(word)",))
row = spark.createDataFrame([("istanbul", "TITLE")], "word string, other string").selectExpr(
    "UPPER(word)", "LOWER(other)", "LPAD(word, 10, 'i')", "CAST(1234.5D AS STRING)", f"{row_id}",
).collect()[0]
spark.range(1).write.parquet("Größe")
print(json.dumps([*row, spark.read.parquet("Größe").count()]))

from daybook.engine.java.session import adopt_session
from daybook.errors import DaybookError
locales = spark.sparkContext._jvm.java.util.Locale
locales.setDefault(locales.forLanguageTag("tr-TR"))
try:
    adopt_session(spark)
except DaybookError as refused:
    print(json.dumps([refused.code, refused.message]))
stop_session(spark, quick=True)
"""


def output(program: str, folder: Path, **variables: str) -> str:
    environment = {**os.environ, "TMPDIR": str(folder), **variables}
    environment.pop("SPARK_CONNECT_MODE_ENABLED", None)
    command = [sys.executable, "-c", textwrap.dedent(program)]
    ended = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=180, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def hashed_id(text: str) -> str:
    """The id of a loaded row by the rule in docs/concepts/identity.md: 1 January 2026 is 0x019b76daa800 in ms."""
    digest = hashlib.md5(f"6:loaded6:orders{len(text)}:{text}".encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digest[3], 16) % 4]
    return f"019b76da-a800-7{digest[:3]}-{variant}{digest[4:7]}-{digest[7:19]}"


@pytest.fixture(scope="module")
def turkish(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a machine set to Turkish; the flag stands for it where the locale cannot be made."""
    folder = tmp_path_factory.mktemp("locales")
    try:
        command = ["localedef", "-i", "tr_TR", "-f", "UTF-8", str(folder / "tr_TR.UTF-8")]
        subprocess.run(command, check=False, capture_output=True, timeout=60)
    except OSError:
        pass
    return {"LC_ALL": "tr_TR.UTF-8", "LOCPATH": str(folder), "JAVA_TOOL_OPTIONS": TURKISH_JAVA}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory, turkish: dict[str, str]) -> list[list[str]]:
    """What a process prints in Turkish: what it computes, and how it refuses a session that follows the language."""
    folder = tmp_path_factory.mktemp("turkish")
    lines = [json.loads(line) for line in output(_OWN_SESSION, folder, **turkish).splitlines()]
    assert (folder / "Größe").is_dir()
    return lines


def test_results_do_not_depend_on_the_locale(printed: list[list[str]]) -> None:
    assert printed[0] == ["ISTANBUL", "title", "iiistanbul", "1234.5", hashed_id("ISTANBUL"), 1]


def test_a_session_that_follows_the_language_of_its_machine_is_refused(printed: list[list[str]]) -> None:
    code, message = printed[1]
    assert code == "RUN_912"
    assert 'UPPER("istanbul") is İSTANBUL' in message
    assert "-Duser.language=en" in message
