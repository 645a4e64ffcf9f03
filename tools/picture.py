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


def shown_by(program: str, *arguments: str) -> str:
    """What a command leaves on a terminal, colours included."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = pexpect.spawn(
            program, list(arguments), cwd=folder, dimensions=(60, COLUMNS), encoding="utf-8", timeout=TIMEOUT
        )
        terminal.expect(pexpect.EOF)
        terminal.close()
    text = (terminal.before or "").replace("\r\n", "\n")
    return "\n".join(line.rsplit("\r", 1)[-1] for line in text.split("\n"))


def picture(text: str) -> str:
    """The run of the close, its headline table and the chart."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-LN-Za-ln-z]", "", text)
    close = re.search(r"^close for .*$", plain, re.MULTILINE)
    second = re.search(r"^\S+ for .*$", plain[close.end() :], re.MULTILINE) if close else None
    if close is None or second is None:
        raise LookupError("the demonstration looks different now")
    # How long it took says more about the machine than about the demonstration.
    run = plain[close.end() : close.end() + second.start()].strip("\n")
    numbers = plain[plain.index(BEGIN) : plain.index(END)].rstrip()
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
