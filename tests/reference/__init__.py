"""A second implementation of Daybook's language and operations in plain Python, written from the specification.

Nothing here but `planning`, which hands projects over, imports from `daybook.expression`, `daybook.plan` or
`daybook.engine`: where the two disagree, the specification decides which one is wrong.
"""
