"""Texts and elements of SVG: escaped, shortened from the middle, links that stay on the page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daybook.pictures.svg import clean, element, label, link, shortened, text_width


def test_attributes_and_content() -> None:
    assert element("rect", x=1.0, y=2.25, class_="box", data_from='"a"', rx=None) == (
        '<rect x="1" y="2.2" class="box" data-from="&quot;a&quot;"/>'
    )
    assert label("a < b", 0.0, 1.5, class_="name") == '<text x="0" y="1.5" class="name">a &lt; b</text>'


@pytest.mark.parametrize(("text", "shown"), [("a&b", "a&amp;b"), ("\x00", "\\x00"), ("\u202e", "\\u202e"), ("ü", "ü")])
def test_characters_that_no_picture_has_are_shown_as_escapes(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(max_size=60), st.floats(20, 300))
def test_a_shortened_text_fits_and_keeps_both_ends(text: str, width: float) -> None:
    short = shortened(text, width)
    assert text_width(short) <= width + 0.5 or short == "\N{HORIZONTAL ELLIPSIS}"
    if short != text:
        head, _, tail = short.partition("\N{HORIZONTAL ELLIPSIS}")
        assert text.startswith(head)
        assert text.endswith(tail)


def test_what_leads_nowhere_is_a_group() -> None:
    assert link("<rect/>", None, class_="node") == '<g class="node"><rect/></g>'
    assert link("<rect/>", "/runs?a=1&b=2") == '<a href="/runs?a=1&amp;b=2"><rect/></a>'
    with pytest.raises(ValueError, match="leads out"):
        link("", "data:text/html,x")
