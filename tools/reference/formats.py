"""The page of formats: what each can do, from the registry, and the tests that show it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from daybook.io.format import Format
from daybook.io.registry import format_named
from daybook.model.formats import FORMATS, FormatFacts
from tools.reference.markdown import page, table

ROOT = Path(__file__).parents[2]
_INTRODUCTION = """# Formats

What each format can do, and the tests that show it. The tests of formats are one suite that every format runs; a format
that cannot do something refuses it with a code before it writes. [Add a format](../howto/add-a-format.md) says
how another one is added, [A close on an object store](../howto/lake.md) what is written there, and how.
"""


@dataclass(frozen=True, slots=True)
class _Capability:
    text: str
    has: Callable[[FormatFacts, Format], bool]
    test: str


def _is_on_object_stores(facts: FormatFacts, io: Format) -> bool:
    """Files, and tables of catalogs whose files Daybook reads itself."""
    return not facts.is_database or (not io.is_landed and not io.needs_session)


CAPABILITIES = (
    _Capability(
        "read where it lies, at a pinned state", lambda _, io: not io.is_landed, "spark/io/test_reading_tables.py"
    ),
    _Capability("copied once per run, as Parquet", lambda _, io: io.is_landed, "spark/io/test_reading_text.py"),
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
    ),
    _Capability(
        "written once, whatever kills the writer",
        lambda *_: True,
        "faults/formats/test_killed_commits.py",
    ),
    _Capability(
        "older versions stay readable", lambda facts, _: facts.keeps_versions, "spark/io/test_delta_interop.py"
    ),
    _Capability("read on object stores", _is_on_object_stores, "spark/objects/test_runs.py"),
    _Capability(
        "tables on object stores",
        lambda facts, io: _is_on_object_stores(facts, io) and facts.keeps_versions,
        "spark/objects/test_commits.py",
    ),
    _Capability(
        "one file on object stores",
        lambda facts, _: not facts.is_database and facts.has_single_files,
        "spark/objects/test_one_file.py",
    ),
    _Capability("read without Spark", lambda _, io: not io.needs_session, "spark/demo/test_second_engine.py"),
)


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
    return [capability.text, *marks, f"`tests/{capability.test}`"]
