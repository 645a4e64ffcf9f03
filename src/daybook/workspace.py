"""Daybook for programs and notebooks; `import daybook` gives its names."""
