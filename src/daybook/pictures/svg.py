"""SVG elements: escaped texts that are measured and shortened, links, and whole pictures."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from daybook.errors.render import printable

STATIC_FOLDER = Path(__file__).parent / "static"
CHARACTER_WIDTH = 7.6
_WIDE_CHARACTERS = frozenset("MW@%mw")
_NARROW_CHARACTERS = frozenset("iljt.,:;'|!()[] ")
# Of widths that were computed from the same text before.
_ROUNDING = 0.5
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def style_sheet() -> str:
    """That of pages, reports and pictures, light and dark."""
    return (STATIC_FOLDER / "daybook.css").read_text(encoding="utf-8")


def text_width(text: str) -> float:
    """About how wide a text of 13 pixels is, rather more than less: no font is asked."""
    return sum(
        CHARACTER_WIDTH
        * (0.55 if character in _NARROW_CHARACTERS else 1.5 if character in _WIDE_CHARACTERS else _weight(character))
        for character in text
    )


def _weight(character: str) -> float:
    return 1.9 if ord(character) > 0x2E80 else 1.15 if character.isupper() else 1.05


def shortened(text: str, width: float) -> str:
    """As much of a text as fits; its beginning and its end say most."""
    width += _ROUNDING
    if text_width(text) <= width:
        return text
    kept = len(text)
    while kept > 1:
        kept -= 1
        head = kept * 2 // 3
        short = text[:head] + _ELLIPSIS + text[len(text) - (kept - head) :]
        if text_width(short) <= width:
            return short
    return _ELLIPSIS


def element(name: str, content: str | Iterable[str] = "", **attributes: object) -> str:
    """An element; underscores in attributes are hyphens, `class_` is `class`, None leaves an attribute out.

    The content is SVG already, the values of attributes are not.
    """
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = content if isinstance(content, str) else "".join(content)
    return f"<{name}{attribute_text}>{inside}</{name}>" if inside else f"<{name}{attribute_text}/>"


def _attribute(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else clean(str(value))


def clean(text: str) -> str:
    """A text for content or an attribute; characters that no XML has, or that turn other text, are shown as escapes."""
    return escape(printable(text))


def label(text: str, x: float, y: float, **attributes: object) -> str:
    return element("text", clean(text), x=x, y=y, **attributes)


def tooltip(text: str) -> str:
    """What a pointer shows and a screen reader reads for the element that contains it."""
    return element("title", clean(text))


def link(content: str, href: str | None, **attributes: object) -> str:
    """An element that leads to another page of ours, or a group where it leads nowhere."""
    if href is None:
        return element("g", content, **attributes)
    if not href.startswith(("/", "#")) or href.startswith("//"):
        raise ValueError(f"{href} leads out of the page")
    return element("a", content, href=href, **attributes)


def picture(content: Iterable[str], width: float, height: float, *, name: str, title: str, description: str) -> str:
    """A whole picture with its title and description; `name` makes its ids unique on a page."""
    heading = (
        element("title", clean(title), id=f"{name}-title"),
        element("desc", clean(description), id=f"{name}-desc"),
    )
    return element(
        "svg",
        (*heading, *content),
        xmlns="http://www.w3.org/2000/svg",
        class_="picture",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="group",
        aria_labelledby=f"{name}-title {name}-desc",
    )
