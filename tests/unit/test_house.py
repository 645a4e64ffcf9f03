"""Rules of the house that no other tool checks."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "daybook"
MODULES = sorted(SOURCE.rglob("*.py"))
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))

CLASSIC_ONLY = {"sparkContext", "rdd", "_jvm", "_jdf", "_jsc", "_jsparkSession", "_sc"}
MAY_LOOK_AT_THE_CLASSIC_CONTEXT = {
    "engine/java/classic.py",
    "engine/java/connect.py",
    "engine/jobs.py",
    # Only the virtual machine has the driver of a foreign database.
    "io/formats/jdbc/table.py",
}
HEAVY = (
    "pyspark",
    "pyarrow",
    "pandas",
    "numpy",
    "deltalake",
    "sqlalchemy",
    "alembic",
    "adbc_driver_manager",
    "fastapi",
)


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def attributes(path: Path) -> Iterator[str]:
    for node in _nodes(path):
        match node:
            case ast.Attribute(attr=name):
                yield name
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                yield name


def test_only_the_session_looks_at_the_classic_context() -> None:
    offenders = {
        name: found
        for path in MODULES
        if (name := path.relative_to(SOURCE).as_posix()) not in MAY_LOOK_AT_THE_CLASSIC_CONTEXT
        if (found := CLASSIC_ONLY.intersection(attributes(path)))
    }
    assert offenders == {}


def test_the_rule_about_the_classic_context_sees_what_it_looks_for() -> None:
    assert "sparkContext" in set(attributes(SOURCE / "engine" / "jobs.py"))
    assert "_jvm" in set(attributes(SOURCE / "io" / "formats" / "jdbc" / "table.py"))


def test_delta_tables_are_read_by_their_files() -> None:
    """deltalake's own reader sometimes aborts the process after all was done."""
    readers = {"to_pyarrow_table", "to_pyarrow_dataset"}
    assert {path.name: found for path in MODULES if (found := readers.intersection(attributes(path)))} == {}


def test_no_module_is_named_after_nothing_in_particular() -> None:
    assert [path for path in MODULES if re.search(r"util|common|helper|manager|misc", path.stem)] == []


def test_unit_tests_are_named_after_the_module_they_test() -> None:
    tests = [path.relative_to(ROOT / "tests" / "unit") for path in (ROOT / "tests" / "unit").rglob("test_*.py")]
    strangers = []
    for test in tests:
        folder = test.parts[0]
        if folder == "docs" or len(test.parts) == 1:
            continue
        modules = [path.relative_to(SOURCE / folder) for path in (SOURCE / folder).rglob("*.py")]
        names = {part.removesuffix(".py") for module in modules for part in module.parts}
        if not any(f"{test.stem}_".startswith(f"test_{name}_") for name in names):
            strangers.append(test.as_posix())
    assert strangers == []


@pytest.mark.parametrize("statement", ["import daybook", "import daybook.cli.app"])
def test_importing_brings_in_nothing_heavy(statement: str) -> None:
    program = f"import sys; {statement}; print(*(name for name in {HEAVY} if name in sys.modules))"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout.split() == []


def imported(path: Path) -> Iterator[str]:
    for node in _nodes(path):
        match node:
            case ast.Import(names=names):
                yield from (name.name.partition(".")[0] for name in names)
            case ast.ImportFrom(module=str(module)):
                yield module.partition(".")[0]


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    names = {re.match(r"[\w.-]+", line)[0].lower().replace("-", "_") for line in declared}  # type: ignore[index]
    # PySpark brings py4j, for Connect grpc, pydantic its core, Jinja2 markupsafe: no use without the other.
    brought = {"py4j", "grpc", "pydantic_core", "markupsafe"}
    names |= {"yaml" if name == "pyyaml" else name for name in names} | brought | {"daybook"}
    used = {name for path in MODULES for name in imported(path)}
    assert used - names - set(sys.stdlib_module_names) == set()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_locks_are_hashed_and_name_no_host(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    pins = re.findall(r"^[a-z0-9][\w.-]*(?:\[[\w,-]+\])?==\S+.*$", text, flags=re.MULTILINE)
    assert pins
    assert all(pin.endswith("\\") for pin in pins), "a pin without hashes"
    assert re.findall(r"\w+://|--(?:extra-)?index-url|--find-links", text) == []


def test_every_make_target_with_a_recipe_explains_itself() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z][a-z-]*):(.*)$", text, flags=re.MULTILINE)
    assert {"demo", "test", "check", "lock", "bench", "bench-full", "docs", "faults"} <= {name for name, _ in targets}
    assert [name for name, rest in targets if "## " not in rest] == []
