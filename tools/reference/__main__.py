"""Writes the pages of the reference that are made from the code."""

from tools.reference.pages import FOLDER, PAGES

for name, page in PAGES.items():
    (FOLDER / name).write_text(page(), encoding="utf-8")
    print(FOLDER / name)
