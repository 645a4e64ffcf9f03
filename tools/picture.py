"""A picture of the demonstration for the README: its real output in a real terminal, as SVG.

python -m tools.picture docs/images/demo.svg
"""

import io
import re
import sys
import tempfile
from pathlib import Path

import pexpect
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS = 84
TIMEOUT = 1200
BEGIN, END = "Actual versus budget", "Where the numbers are"
BUILD, STATUS = "daybook build --period", "daybook status --period"


def shown_by(program: str, *arguments: str) -> str:
    """What a command leaves on a terminal, colours included."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = pexpect.spawn(
            program, list(arguments), cwd=folder, dimensions=(60, COLUMNS), encoding="utf-8", timeout=TIMEOUT
        )
        terminal.expect(pexpect.EOF)
        terminal.close()
    return left_on_screen(terminal.before or "")


def left_on_screen(text: str) -> str:
    """The lines that are there at the end, where tables and bars were drawn again over earlier ones."""
    lines, row, is_rewritten = [""], 0, False
    for part in re.split(r"(\r|\n|\x1b\[\d*A|\x1b\[2K)", text):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif re.fullmatch(r"\x1b\[\d*A", part):
            row = max(0, row - int(part[2:-1] or 1))
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part and part != "\r":
            # Whoever returns to the beginning of a line writes all of it again.
            lines[row] = part if is_rewritten else lines[row] + part
        if part:
            is_rewritten = part == "\r"
    return "\n".join(lines)


def picture(text: str) -> str:
    """The run of the close, its headline table, the charts, and the status of the quarter."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-LN-Za-ln-z]", "", text)
    close = re.search(r"^close for .*$", plain, re.MULTILINE)
    second = re.search(r"^\S+ for .*$", plain[close.end() :], re.MULTILINE) if close else None
    if close is None or second is None:
        raise LookupError("the demonstration looks different now")
    # How long the run and the build took says more about the machine than about the demonstration.
    run = plain[close.end() : close.end() + second.start()].strip("\n")
    numbers = plain[plain.index(BEGIN) : plain.index(BUILD)] + plain[plain.index(STATUS) : plain.index(END)].rstrip()
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ daybook demo\n\n{run}\n\n{numbers}"))
    svg = console.export_svg(title="daybook demo", theme=MONOKAI, font_aspect_ratio=0.6)
    # A page that shows the picture fetches no fonts from elsewhere.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg)
    return svg.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")


if __name__ == "__main__":
    daybook = str(Path(sys.executable).parent / "daybook")
    Path(sys.argv[1]).write_text(picture(shown_by(daybook, "demo")), encoding="utf-8")
