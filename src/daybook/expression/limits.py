"""How large an expression may be; checked while the tree is built, before any pass recurses over it."""

MAX_DEPTH = 64
MAX_NODES = 2_000

# Spark nests sums to the left and runs out of stack at about 500 terms.
MAX_REACH = 250

MAX_CHARACTERS = 100_000

# Parts after Spark has repeated what some functions repeat.
MAX_WEIGHT = 6_000
