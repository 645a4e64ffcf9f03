"""Which character of a file gave which character of a scalar's value."""

from daybook.model.node import ScalarNode

_ESCAPE_DIGITS = {"x": 2, "u": 4, "U": 8}
_SPACE = frozenset(" \t\r\n")


def align(node: ScalarNode, text: str) -> tuple[int, ...] | None:
    """The offset in `text` of every character of the value and of its end; None where they do not line up.

    Escapes count as the one character they stand for; indentation and the line ends of folded scalars are skipped.
    """
    position = node.start
    match node.style:
        case "'" | '"':
            position += 1
        case "|" | ">":
            position = text.find("\n", position) + 1
        case _:
            pass
    offsets: list[int] = []
    for character in node.text:
        if node.style == '"':
            position = _skip_joined_lines(text, position)
        if position >= node.end:
            position = node.end
        elif text[position] == "\\" and node.style == '"':
            offsets.append(position)
            position += 2 + _ESCAPE_DIGITS.get(text[position + 1 : position + 2], 0)
            continue
        elif character in _SPACE and text[position] in _SPACE:
            offsets.append(position)
            position = _after_break(text, position, node.end)
            continue
        else:
            while position < node.end and text[position] in _SPACE and text[position] != character:
                position += 1
            if text[position : position + 1] != character:
                return None
        offsets.append(position)
        position += 2 if character == "'" and node.style == "'" else 1
    offsets.append(min(position, node.end))
    return tuple(offsets)


def _after_break(text: str, position: int, end: int) -> int:
    """Past one space, or past a whole line break with the indentation that follows it."""
    stop = position
    while stop < end and text[stop] in " \t\r":
        stop += 1
    if stop >= end or text[stop] != "\n":
        return position + 1
    return stop + 1


def _skip_joined_lines(text: str, position: int) -> int:
    """Past a backslash that ends a line, with the indentation of the next."""
    while text[position : position + 2] == "\\\n":
        position += 2
        while text[position : position + 1] in (" ", "\t"):
            position += 1
    return position
