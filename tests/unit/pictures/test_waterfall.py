"""Waterfalls: every bar begins where the one before it ends, with its sign in words and shape."""

from decimal import Decimal
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from daybook.pictures.waterfall import Share, draw_waterfall

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def rows(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [each for each in root.iter(f"{SVG}g") if (each.get("class") or "").startswith("row ")]


def bar(row: ElementTree.Element) -> tuple[float, float]:
    (found,) = [each for each in row.iter(f"{SVG}rect") if each.get("class") == "bar"]
    x, width = float(found.get("x", "")), float(found.get("width", ""))
    return x, x + width


def texts(row: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in row.iter(f"{SVG}text")]


def test_a_bridge() -> None:
    shares = [Share("new rates", Decimal("50.00"), "3 rows changed"), Share("corrected <bookings>", Decimal("-30.00"))]
    root = parsed(draw_waterfall(("January", Decimal("100.00")), shares, ("February", Decimal("120.00")), title="Why"))
    found = rows(root)
    assert [each.get("class") for each in found] == ["row total", "row plus", "row minus", "row total"]
    assert [texts(each) for each in found] == [
        ["January", "100.00"],
        ["new rates", "3 rows changed", "+50.00"],
        ["corrected <bookings>", "\N{MINUS SIGN}30.00"],
        ["February", "120.00"],
    ]
    january, plus, minus, february = map(bar, found)
    assert january[0] == february[0]
    assert abs(plus[0] - january[1]) < 0.2
    assert abs(minus[1] - plus[1]) < 0.2
    assert abs(minus[0] - february[1]) < 0.2
    # In proportion: 100, 50, 30.
    unit = (january[1] - january[0]) / 100
    assert abs((plus[1] - plus[0]) - 50 * unit) < 0.3
    assert abs((minus[1] - minus[0]) - 30 * unit) < 0.3


def test_a_loss_is_told_by_sign_and_hatching_not_by_colour_alone() -> None:
    root = parsed(draw_waterfall(("a", 10), [Share("less", -4)], ("b", 6), title="t", name="w"))
    (minus,) = [each for each in rows(root) if each.get("class") == "row minus"]
    assert any(each.get("fill") == "url(#w-hatch)" for each in minus.iter(f"{SVG}rect"))
    assert texts(minus)[-1] == "\N{MINUS SIGN}4"
    bracketed = parsed(draw_waterfall(("a", 10), [Share("less", -4)], ("b", 6), title="t", negatives="parentheses"))
    assert texts(rows(bracketed)[1])[-1] == "(4)"


def test_small_shares_of_large_totals_are_seen_and_the_cut_axis_is_named() -> None:
    root = parsed(draw_waterfall(("a", 1_000_000), [Share("x", 10)], ("b", 1_000_010), title="t"))
    start, end = bar(rows(root)[1])
    assert end - start > 100
    assert "The bars of the totals do not begin at zero." in texts(root)


def test_the_description_has_all_numbers() -> None:
    text = draw_waterfall(("a", Decimal("1.10")), [Share("x", Decimal("0.20"))], ("b", Decimal("1.30")), title="t")
    assert [each.text for each in parsed(text).iter(f"{SVG}desc")] == ["a: 1.10; x: +0.20; b: 1.30"]


NUMBERS = st.decimals(-(10**12), 10**12, places=2, allow_nan=False)


@settings(deadline=None)
@given(NUMBERS, st.lists(st.tuples(st.text(max_size=40), NUMBERS), max_size=12))
def test_all_bars_stay_in_the_picture(before: Decimal, given_shares: list[tuple[str, Decimal]]) -> None:
    shares = [Share(label, value) for label, value in given_shares]
    after = before + sum(value for _, value in given_shares)
    root = parsed(draw_waterfall(("before", before), shares, ("after", after), title="t"))
    width = float((root.get("viewBox") or "").split()[2])
    assert len(rows(root)) == len(shares) + 2
    assert all(0 <= bar(row)[0] <= bar(row)[1] <= width for row in rows(root))
