"""Texts that steer a terminal, hide text or look like markup, as values, headers, file names and names."""

# (text, whether it may be a name of a column)
CASES: list[tuple[str, bool]] = [
    ("\x1b]0;title\x07", False),
    ("\x1b[2J\x1b[H", False),
    ("\x1b[31mred\x1b[0m", False),
    ("\x9b31m", False),
    ("over\rwritten", False),
    ("back\x08space", False),
    ("bell\x07", False),
    ("delete\x7f", False),
    ("left\u202eright", False),
    ("\u2066isolated\u2069", False),
    ("zero\u200bwidth", False),
    ("line\u2028separator", False),
    ("tag\U000e0041", False),
    ("\ufeffmark", False),
    ("[bold red]markup[/]", True),
    ("[link=https://example.com]click[/link]", True),
    ("<script>alert(1)</script>", True),
    ("{placeholder}", True),
    ("%s %(name)s", True),
    ("$(id)", True),
    ("'; drop table t; --", True),
]
