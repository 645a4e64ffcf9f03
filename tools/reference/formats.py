"""The page of formats: what each can do, from the registry, and the tests that show it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from daybook.io.format import Format
from daybook.io.registry import format_named
from daybook.model.formats import FORMATS, FormatFacts
from tools.reference.markdown import page, table

ROOT = Path(__file__).parents[2]
_INTRODUCTION = """# Formats

What each format can do, and the tests that show it: the first of a row, but for the formats that another one is
named for. The tests of formats are one suite that every format runs; a format that cannot do something refuses it
with a code before it writes. Object stores are S3 here; [what was tried on others](../howto/lake.md#google-and-azure)
is said there. [Add a format](../howto/add-a-format.md) says how another one is added,
[A close on an object store](../howto/lake.md) what is written there, and how.
"""


@dataclass(frozen=True, slots=True)
class _Capability:
    text: str
    has: Callable[[FormatFacts, Format], bool]
    test: str
    # Of formats that another test shows it of.
    other_tests: Mapping[str, str] = field(default_factory=dict)

    def test_of(self, format_name: str) -> str:
        return self.other_tests.get(format_name, self.test)


def _is_on_object_stores(facts: FormatFacts, io: Format) -> bool:
    """Files, and tables of catalogs whose files Daybook reads itself."""
    return not facts.is_database or (not io.is_landed and not io.needs_session)


_ICEBERG_TABLES = "unit/io/formats/iceberg/test_table.py"
_BY_NAME = "spark/io/test_tables_by_name.py"

CAPABILITIES = (
    _Capability(
        "read where it lies, at a pinned state",
        lambda _, io: not io.is_landed,
        "spark/io/test_reading_tables.py",
        {"iceberg": _ICEBERG_TABLES, "spark_catalog": _BY_NAME},
    ),
    _Capability(
        "copied once per run, as Parquet",
        lambda _, io: io.is_landed,
        "spark/io/test_reading_text.py",
        {
            "xlsx": "spark/runs/test_workbooks.py",
            "postgresql": "spark/io/test_reading_tables.py",
            "sqlite": "spark/io/test_reading_tables.py",
            "jdbc": "spark/runs/test_jdbc.py",
        },
    ),
    _Capability("rows come back as they were written", lambda *_: True, "spark/io/test_round_trip.py"),
    _Capability(
        "tables collect periods as slices, with owners",
        lambda facts, _: facts.output_extension is None,
        "spark/io/test_modes.py",
    ),
    _Capability(
        "one file as output",
        lambda facts, _: not facts.is_database and facts.has_single_files,
        "spark/io/test_modes.py",
    ),
    _Capability(
        "a table of a data source may be one file",
        lambda facts, _: facts.has_table_files,
        "unit/resolve/test_location.py",
        {"xlsx": "spark/runs/test_workbooks.py"},
    ),
    _Capability(
        "written once, whatever kills the writer",
        lambda *_: True,
        "faults/formats/test_killed_commits.py",
        {"jdbc": "faults/runs/test_killed_jdbc.py"},
    ),
    _Capability(
        "older versions stay readable",
        lambda facts, _: facts.keeps_versions,
        "spark/io/test_delta_interop.py",
        {"iceberg": "unit/io/formats/iceberg/test_history.py", "spark_catalog": _BY_NAME},
    ),
    _Capability(
        "read on object stores",
        _is_on_object_stores,
        "spark/objects/test_runs.py",
        {"iceberg": "spark/objects/test_iceberg.py"},
    ),
    _Capability(
        "tables on object stores",
        lambda facts, io: _is_on_object_stores(facts, io) and facts.keeps_versions,
        "spark/objects/test_commits.py",
        {"iceberg": "spark/objects/test_iceberg.py"},
    ),
    _Capability(
        "one file on object stores",
        lambda facts, _: not facts.is_database and facts.has_single_files,
        "spark/objects/test_runs.py",
    ),
    _Capability(
        "read without Spark",
        lambda _, io: not io.needs_session,
        "spark/io/test_round_trip.py",
    ),
)


def shown_formats(capability: _Capability) -> Mapping[str, list[str]]:
    """The formats that have a capability, by the test that shows it."""
    shown: dict[str, list[str]] = {}
    for name, facts in FORMATS.items():
        if capability.has(facts, format_named(name)):
            shown.setdefault(capability.test_of(name), []).append(name)
    return shown


def formats_page() -> str:
    return page(_lines())


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    names = list(FORMATS)
    header = ["", *(f"`{name}`" for name in names), "shown by"]
    yield from table(header, (_row(capability, names) for capability in CAPABILITIES))
    yield "Options of the formats are in [Files](files.md)."


def _row(capability: _Capability, names: list[str]) -> list[str]:
    marks = ("yes" if capability.has(FORMATS[name], format_named(name)) else "no" for name in names)
    tests = (
        f"`tests/{test}`" if test == capability.test else f"{', '.join(f'`{name}`' for name in shown)}: `tests/{test}`"
        for test, shown in sorted(shown_formats(capability).items(), key=lambda item: item[0] != capability.test)
    )
    return [capability.text, *marks, "<br>".join(tests)]
