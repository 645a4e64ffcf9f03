"""The picture of the demonstration shows what is left on the terminal."""

from tools.picture import left_on_screen


def test_what_is_drawn_again_replaces_what_was_there() -> None:
    up = "\x1b[1A\x1b[2K"
    drawn = f"head\r\nnode 1 s\r\nlast\r\x1b[2K{up}node 2 s\r\nlast\r\nend"
    assert left_on_screen(drawn) == "head\nnode 2 s\nlast\nend"


def test_a_line_that_is_written_again_has_only_the_last_text() -> None:
    assert left_on_screen("reading\rwriting\x1b[32m ok\x1b[0m\r\n") == "writing\x1b[32m ok\x1b[0m\n"
