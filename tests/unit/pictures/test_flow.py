"""The picture of an amount's way: widths go by amounts, and what leaves is red and labelled."""

import re
import xml.etree.ElementTree as ET
from decimal import Decimal

import pytest

from daybook.pictures.flow import FlowChange, FlowOutput, Stream, draw_flow

SVG = "{http://www.w3.org/2000/svg}"
STREAM = Stream(
    "lines, loaded",
    0,
    Decimal("100.00"),
    (
        FlowChange(1, Decimal("20.00"), False, Decimal("120.00")),
        FlowChange(2, Decimal("60.00"), True, Decimal("60.00")),
    ),
    (FlowOutput("lake.sums", 2, Decimal("60.00"), Decimal("45.00"), Decimal("15.00")),),
)


def drawn(*streams: Stream) -> ET.Element:
    return ET.fromstring(draw_flow(streams, ["1 Add <tax>", "2 Drop"], title="The way of amount"))


def heights(root: ET.Element) -> list[float]:
    return [float(rect.attrib["height"]) for rect in root.iter(f"{SVG}rect") if rect.get("class") == "through"]


def test_a_stream_is_as_wide_as_its_amount() -> None:
    """100 becomes 120, and 60 after the delete."""
    first, second, third = heights(drawn(STREAM))
    assert first / second == pytest.approx(100 / 120, abs=0.01)
    assert third / second == pytest.approx(60 / 120, abs=0.01)


def test_what_leaves_is_red_and_labelled() -> None:
    root = drawn(STREAM)
    out = [text.text for text in root.iter(f"{SVG}text") if "out" in (text.get("class") or "").split()]
    assert out == ["15.00 left out", "-60.00"]
    assert len([path for path in root.iter(f"{SVG}path") if path.get("class") == "out"]) == 2


def test_the_description_tells_the_way_in_words() -> None:
    description = drawn(STREAM).findtext(f"{SVG}desc")
    assert description == (
        "lines, loaded: 100.00; 1 Add <tax>: changed 20.00; 2 Drop: deleted 60.00; "
        "lake.sums: 45.00 written, 15.00 left out"
    )


def test_nothing_at_all_and_negative_amounts_can_be_drawn() -> None:
    empty = Stream("lines, loaded", 0, Decimal(0), (), ())
    negative = Stream("lines, loaded", 0, Decimal(-50), (FlowChange(1, Decimal(-10), False, Decimal(-60)),), ())
    for streams in ((), (empty,), (negative,)):
        text = draw_flow(streams, ["1 Add"], title="t")
        assert not re.search(r'(?:width|height)="-', text)


def test_a_stream_in_which_amounts_cancel_out_goes_on() -> None:
    """The lines of a journal add up to nothing, until some of them are deleted."""
    balanced = Stream("lines, loaded", 0, Decimal(0), (FlowChange(1, Decimal(40), True, Decimal(-40)),), ())
    before, after = heights(drawn(balanced))
    assert 0 < before < after


def test_what_outputs_leave_out_at_one_place_is_named_once_below_it() -> None:
    outputs = tuple(FlowOutput(f"lake.{left}", 2, Decimal(60), Decimal(60 - left), Decimal(left)) for left in (15, 45))
    root = drawn(Stream("lines, loaded", 0, Decimal(60), (), outputs))
    (note,) = (text for text in root.iter(f"{SVG}text") if text.text == "left out")
    ends = [float(path.attrib["d"].split("V")[1].split("C")[0]) for path in root.iter(f"{SVG}path")]
    assert float(note.attrib["y"]) > max(ends)
    assert float(note.attrib["y"]) < float(root.attrib["viewBox"].split()[3])
