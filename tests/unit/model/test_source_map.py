"""Places inside scalars are places in the file."""

import pytest

from daybook.definitions.loading import compose_documents, load_text
from daybook.model.source_map import SourceMap

VALUES = [
    ("plain", "v: a = bcd\n", "bcd", (1, 8)),
    ("single quotes", "v: 'it''s bcd'\n", "bcd", (1, 11)),
    ("double quotes", 'v: "a = \\"x\\" + bcd"\n', "bcd", (1, 17)),
    ("hexadecimal escapes", 'v: "\\u00e9\\x41 bcd"\n', "bcd", (1, 16)),
    ("literal block", "v: |\n  a\n  = bcd\n", "bcd", (3, 5)),
    ("folded block", "v: >-\n  a\n  = bcd\n", "bcd", (3, 5)),
    ("folded plain", "v: a\n   = bcd\n", "bcd", (2, 6)),
    ("folded quotes", 'v: "a\n   = bcd"\n', "bcd", (2, 6)),
    ("joined lines", 'v: "a \\\n   = bcd"\n', "bcd", (2, 6)),
    ("behind an emoji", "'😀': 1\nv: 😀 bcd\n", "bcd", (2, 6)),
    ("block with a deeper line", "v: |\n  a\n    = bcd\n", "bcd", (3, 7)),
]


@pytest.mark.parametrize(("text", "part", "place"), [value[1:] for value in VALUES], ids=[value[0] for value in VALUES])
def test_a_part_of_a_scalar_has_its_place(text: str, part: str, place: tuple[int, int]) -> None:
    (document,) = compose_documents(text, "a.yaml").documents
    span = SourceMap("a.yaml", text, document).scalar("v")
    assert span is not None
    start = span.text.index(part)
    inner = span.within(start, start + len(part))
    assert (inner.line, inner.column) == place
    assert str(inner) == f"a.yaml:{place[0]}:{place[1]}"


def test_paths_follow_the_order_of_the_model() -> None:
    text = (
        "project:\n"
        "  name: P\n"
        "  input: {dataset_id: d}\n"
        "  operations:\n"
        "    - {order: 2, type: delete, parameters: {selector: second = 1}}\n"
        "    - {order: 1, type: delete, selector: first = 1}\n"
    )
    (definition,) = load_text(text, "p.yaml")
    first = definition.source.scalar("operations", 0, "selector")
    second = definition.source.scalar("operations", 1, "selector")
    assert first is not None
    assert second is not None
    assert (first.text, first.line, first.column) == ("first = 1", 6, 42)
    assert (second.text, second.line, second.column) == ("second = 1", 5, 55)
    seq = definition.source.span("operations", 1, "seq")
    assert seq is not None
    assert (seq.line, seq.column) == (5, 15)


def test_the_nearest_place_stands_in_for_a_missing_one() -> None:
    (definition,) = load_text("datasource: {id: a, type: sqlite, options: {path: x}}\n", "d.yaml")
    inside = definition.source.span("options", "nothing", 3)
    assert inside is not None
    assert inside.column == 44
    assert definition.source.scalar("options") is None
    assert SourceMap.empty().span("anything") is None
    assert SourceMap.empty().scalar("anything") is None
