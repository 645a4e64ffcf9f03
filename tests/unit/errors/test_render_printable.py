"""What reaches a terminal: nothing that steers it, everything else as it is."""

import json

import pytest

from daybook.errors import DaybookError, render
from daybook.errors.render import escape_json, one_line, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\rb\x08c\x7f", "a\\rb\\x08c\\x7f"),
        ("\x9b31m", "\\x9b31m"),
        ("left\u202eright", "left\\u202eright"),
        ("\u2028", "\\u2028"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\U000e0041"),
        ("first\nsecond\tthird", "first\nsecond\tthird"),
        ("Größe 価格 1\u00a0000 €", "Größe 価格 1\u00a0000 €"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
        ("C:\\x1b", "C:\\x1b"),
    ],
)
def test_text(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown
    assert shown.encode("utf-8")


def test_one_line() -> None:
    assert one_line("a\r\nb\tc\x1b") == "a b c\\x1b"


@pytest.mark.parametrize("value", ["\x1b[31m", "\x7f", "a\u202eb\x9b", "\udcff", "\U000e0041", "Größe\n", 'q"\\'])
def test_json_keeps_its_meaning(value: str) -> None:
    text = escape_json(json.dumps({value: value}, ensure_ascii=False))
    assert json.loads(text) == {value: value}
    assert printable(text) == text


def test_errors_are_rendered_without_controls() -> None:
    error = DaybookError("MODEL_064", path="\x1b[2Jnowhere", hint="\x07 look")
    assert "\x1b" not in render(error)
    assert "\x07" not in render(error)
    assert "\\x1b[2Jnowhere" in render(error)
