"""A month-end close of a year's journal lines, computed by several engines on the same files and cores."""
