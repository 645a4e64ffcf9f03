"""Names that would end a quoted identifier or literal, or mean something to a database."""

# May name a column; each must stay one name in every SQL text.
NAMES: list[str] = [
    "a b",
    'a"b',
    "a''b",
    '"; drop table t; --',
    "'; drop table t; --",
    "a) from t; --",
    "select",
    "a\\b",
    "a\\",
    "[a]",
    "{a}",
    "$1",
    ":a",
    "?",
    "a%sb",
    "a--b",
    "a/*b*/",
    "\u00e4\u00f6\u00fc",
    "\u540d\u524d",
    "\u0130stanbul",
    "a\u00a0b",
]

# May not name a column or a table.
REFUSED: list[str] = ["", " ", "a`b", "`", "a.b", " a", "a ", "a\nb", "a\0b", "a\u202eb", "\ud800"]
