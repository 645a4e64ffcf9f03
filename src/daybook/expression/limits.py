"""How large an expression may be; checked while the tree is built, before any pass recurses over it."""

MAX_DEPTH = 64
MAX_NODES = 2_000
MAX_TOKENS = 8_000
MAX_CHARACTERS = 100_000
MAX_WEIGHT = 6_000
