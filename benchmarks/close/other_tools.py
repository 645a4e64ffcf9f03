"""The same close as a user of each tool would run it, by its command line: `python -m benchmarks.close.other_tools`.

Two times count for people: from a cold terminal to the numbers, and from an edited rule to the new numbers. Daybook
writes Delta tables with versions, the PySpark script Parquet files, dbt and SQLMesh write into a DuckDB file; all read
the same Parquet files, and all must give the same rows before and after the edit. dbt and SQLMesh are installed into
environments of their own below the data folder; a tool that cannot be installed here is left out and named.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from benchmarks.close import by_hand
from benchmarks.close.by_duckdb import LINES, SUMMARY
from benchmarks.close.comparing import differences
from benchmarks.close.data import make_ledger
from benchmarks.close.workspace import write_workspace
from benchmarks.figures import record

# What the edit changes: from which amount on a line is large.
BEFORE, AFTER = "10000", "20000"

# Nothing is reported to anybody while it is measured.
_QUIET = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "SQLMESH__DISABLE_ANONYMIZED_ANALYTICS": "true"}
_DAYBOOK = (sys.executable, "-m", "daybook")
_HAND_MAIN = """

if __name__ == "__main__":
    import shutil

    shutil.rmtree("out", ignore_errors=True)
    session = SparkSession.builder.master("local[*]").config("spark.driver.memory", "4g").getOrCreate()
    close(session, Path("{ledger}"), Path("out"))
    session.stop()
"""
_DBT_PROJECT = """\
name: close
version: "1.0.0"
profile: close
model-paths: [models]
models: {close: {+materialized: table}}
"""
_DBT_PROFILE = "close: {{target: dev, outputs: {{dev: {{type: duckdb, path: '{file}', threads: {threads}}}}}}}\n"
_SQLMESH_CONFIG = """\
gateways: {{local: {{connection: {{type: duckdb, database: '{file}', concurrent_tasks: 1}}}}}}
default_gateway: local
model_defaults: {{dialect: duckdb, start: '2026-01-01'}}
"""

_EXPORT = """
import sys, duckdb
file, schema, out = sys.argv[1:]
with duckdb.connect(file, read_only=True) as connection:
    for name in ("lines", "summary"):
        connection.execute(f"copy (from {schema}.{name}) to '{out}/{name}.parquet' (format parquet)")
"""


@dataclass
class Tool(ABC):
    """One contender: its folder is made once, its commands are started anew each time."""

    folder: Path
    ledger: Path
    environments: Path
    packages: ClassVar[tuple[str, ...]] = ()
    schema: ClassVar[str] = "main"
    # What the first run of a round shows.
    first: ClassVar[str] = "cold to numbers"
    # Something was started before the first round, and serves all of them.
    stays_up: ClassVar[bool] = False

    @abstractmethod
    def write(self) -> None: ...

    @abstractmethod
    def edit(self, threshold: str) -> None: ...

    @abstractmethod
    def commands(self) -> list[list[str]]: ...

    @abstractmethod
    def results(self) -> Path:
        """The folder with the rows, in the shape of the other contenders of the close."""

    def run(self) -> float:
        """Seconds until the numbers are there."""
        began = time.perf_counter()
        for command in self.commands():
            self.execute(command)
        return time.perf_counter() - began

    def start(self) -> None:
        """What a user has started before, which is not measured."""
        return

    def stop(self) -> None:
        return

    def execute(self, command: Sequence[str]) -> str:
        environment = {**os.environ, **_QUIET}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout


class Daybook(Tool):
    def write(self) -> None:
        write_workspace(self.folder, self.ledger)

    def edit(self, threshold: str) -> None:
        file = self.folder / "close.yaml"
        text = file.read_text()
        for other in (BEFORE, AFTER):
            text = text.replace(f"ABS(euro) > {other}", f"ABS(euro) > {threshold}")
        file.write_text(text)

    def commands(self) -> list[list[str]]:
        return [[*_DAYBOOK, "activate", "close"], [*_DAYBOOK, "run", "close", "--period", "2026"]]

    def results(self) -> Path:
        return self.folder / "out"


class WarmDaybook(Daybook):
    """The same with an engine that is up and has warmed itself up, as it is for most of a day."""

    first = "edit back to numbers"
    stays_up = True

    def start(self) -> None:
        self.execute([*_DAYBOOK, "engine", "start"])
        while not self._is_warmed_up():
            time.sleep(1)

    def _is_warmed_up(self) -> bool:
        (engine,) = json.loads(self.execute([*_DAYBOOK, "engine", "status", "--json"]))["engines"]
        return engine["warm_up"] is not None and bool(engine["warm_up"]["is_over"])

    def stop(self) -> None:
        self.execute([*_DAYBOOK, "engine", "stop"])


class ByHand(Tool):
    """A PySpark script, in a session as PySpark starts it."""

    def write(self) -> None:
        self.folder.mkdir(parents=True)
        self.edit(BEFORE)

    def edit(self, threshold: str) -> None:
        rules = Path(by_hand.__file__).read_text().replace("10_000", threshold)
        (self.folder / "close.py").write_text(rules + _HAND_MAIN.format(ledger=self.ledger))

    def commands(self) -> list[list[str]]:
        return [[sys.executable, "close.py"]]

    def results(self) -> Path:
        return self.folder / "out"


class _SqlTool(Tool):
    """A tool whose models are the DuckDB statements that the close by DuckDB runs."""

    def models(self, threshold: str, lines: str) -> dict[str, str]:
        text = {"lines": LINES.format(ledger=self.ledger), "summary": SUMMARY.format(ledger=self.ledger)}
        text["lines"] = text["lines"].replace(f"> {BEFORE}", f"> {threshold}")
        text["summary"] = text["summary"].replace("from lines", f"from {lines}")
        return text

    def results(self) -> Path:
        """Written by the tool's own DuckDB, whose file another version may not read."""
        out = self.folder / "out"
        out.mkdir(exist_ok=True)
        python = [self.program("python"), "-c", _EXPORT, str(self.folder / "close.duckdb"), self.schema, str(out)]
        subprocess.run(python, check=True)
        return out

    def program(self, name: str) -> str:
        return str(environment_of(type(self), self.environments) / "bin" / name)


class Dbt(_SqlTool):
    packages = ("dbt-core", "dbt-duckdb")

    def write(self) -> None:
        (self.folder / "models").mkdir(parents=True)
        (self.folder / "dbt_project.yml").write_text(_DBT_PROJECT)
        profile = _DBT_PROFILE.format(file=self.folder / "close.duckdb", threads=os.cpu_count() or 2)
        (self.folder / "profiles.yml").write_text(profile)
        self.edit(BEFORE)

    def edit(self, threshold: str) -> None:
        for name, text in self.models(threshold, "{{ ref('lines') }}").items():
            (self.folder / "models" / f"{name}.sql").write_text(text)

    def commands(self) -> list[list[str]]:
        return [[self.program("dbt"), "run", "--profiles-dir", "."]]


class SqlMesh(_SqlTool):
    packages = ("sqlmesh",)
    schema = "books"

    def write(self) -> None:
        (self.folder / "models").mkdir(parents=True)
        (self.folder / "config.yaml").write_text(_SQLMESH_CONFIG.format(file=self.folder / "close.duckdb"))
        self.edit(BEFORE)

    def edit(self, threshold: str) -> None:
        for name, text in self.models(threshold, "books.lines").items():
            head = f"MODEL (name books.{name}, kind FULL);\n"
            (self.folder / "models" / f"{name}.sql").write_text(head + text)

    def commands(self) -> list[list[str]]:
        return [[self.program("sqlmesh"), "plan", "--auto-apply", "--no-prompts", "--skip-tests"]]


TOOLS: dict[str, type[Tool]] = {
    "daybook": Daybook,
    "daybook, warm": WarmDaybook,
    "by hand": ByHand,
    "dbt": Dbt,
    "sqlmesh": SqlMesh,
}


def environment_of(tool: type[Tool], folder: Path) -> Path:
    return folder / f"env-{tool.packages[-1]}"


def is_installed(tool: type[Tool], folder: Path) -> bool:
    """Installs a tool into an environment of its own, once."""
    if not tool.packages:
        return True
    environment = environment_of(tool, folder)
    if (environment / "complete").exists():
        return True
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
    pip = [str(environment / "bin" / "pip"), "install", "--quiet", "--only-binary", ":all:", *tool.packages]
    if subprocess.run(pip, capture_output=True, check=False).returncode:
        return False
    (environment / "complete").touch()
    return True


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=float, default=1.0, help="millions of journal lines")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(TOOLS))
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "daybook-close")
    options = parser.parse_args(arguments)
    lines = round(options.lines * 1_000_000)
    ledger = options.data / f"ledger-{lines}"
    make_ledger(ledger, lines)
    tools = {name: TOOLS[name] for name in options.only if is_installed(TOOLS[name], options.data)}
    for name in options.only:
        if name not in tools:
            print(f"{name} cannot be installed here and is left out")
    with tempfile.TemporaryDirectory(prefix="tools-", dir=options.data) as scratch:
        return compare(tools, ledger, Path(scratch), options)


def compare(tools: dict[str, type[Tool]], ledger: Path, scratch: Path, options: argparse.Namespace) -> int:
    times: dict[str, list[float]] = {}
    last: dict[str, Tool] = {}
    try:
        for round_ in range(options.rounds):
            for name, make in tools.items():
                if name in last and make.stays_up:
                    last[name].edit(BEFORE)
                else:
                    last[name] = make(scratch / f"{make.__name__}-{round_}", ledger, options.data)
                    last[name].write()
                    last[name].start()
                times.setdefault(f"{name}: {make.first}", []).append(last[name].run())
                last[name].edit(AFTER)
                times.setdefault(f"{name}: edit to numbers", []).append(last[name].run())
                print(f"  round {round_ + 1}: {name} done", flush=True)
    finally:
        for tool in last.values():
            tool.stop()
    disagreements = _disagreements(list(last.values()))
    for line in disagreements:
        print(f"DIFFERENT {line}")
    print(f"\n{'':32}{'best s':>9}{'median s':>10}{'worst s':>9}")
    for what, taken in times.items():
        print(f"{what:32}{min(taken):9.2f}{statistics.median(taken):10.2f}{max(taken):9.2f}")
        record(what, taken)
    return 1 if disagreements else 0


def _disagreements(tools: list[Tool]) -> list[str]:
    reference, *others = (tool.results() for tool in tools)
    return [line for other in others for line in differences(reference, other)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
