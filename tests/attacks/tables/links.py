"""Links and second names in a data folder: what they are, and the word of the refusal, or the rows that are read.

A folder `data` has `2026-01/a.csv` with one row; beside it lies `secret/b.csv` with another.
"""

# (name of the link below data, what it leads to, relative to where it lies; a word of the refusal)
REFUSED: list[tuple[str, str, str]] = [
    ("loop", ".", "read already"),
    ("2026-01/loop", "..", "read already"),
    ("2026-01/loop", ".", "read already"),
    ("latest", "2026-01", "read already"),
    ("a-latest", "2026-01", "read already"),
    ("2026-01/again.csv", "a.csv", "read already"),
    ("again.csv", "2026-01/a.csv", "read already"),
    ("out", "../secret", "leads out of"),
    ("out.csv", "../secret/b.csv", "leads out of"),
    ("2026-01/out.csv", "../../secret/b.csv", "leads out of"),
    ("up", "..", "leads out of"),
    ("root", "/", "leads out of"),
    ("proc", "/proc/self/root", "leads out of"),
    ("gone.csv", "nothing.csv", "leads nowhere"),
    ("itself", "itself", "leads nowhere"),
    ("through", "2026-01/a.csv/x", "leads nowhere"),
]

# Links whose names nobody reads.
PASSED_OVER: list[tuple[str, str]] = [("_latest", "2026-01"), (".out", "../secret"), (".gone.csv", "nothing")]
