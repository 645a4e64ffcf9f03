"""Text that a spreadsheet takes for a formula."""

# Begins with a sign of a formula, its wide form, or what spreadsheets skip in front of one.
# Written with the characters themselves, so that Python, Java and RE2 read it the same way.
FORMULA_START = "^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
