"""Places boxes in layers from left to right, so that every edge leads to the right and few edges cross.

Longest paths give the layers, barycentres the order in a layer, and least squares the heights. An edge over several
layers keeps a gap open in each of them, so that it never runs through a box.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

COLUMN_GAP = 70.0
ROW_GAP = 14.0
_PASSING_HEIGHT = 6.0
_SWEEPS = 12
_ALIGNMENTS = 8
_GRID_WIDTH = 1100.0

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Size:
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Box:
    """The position and size of a box; `x` and `y` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def right(self) -> float:
        return self.x + self.width


@dataclass(frozen=True, slots=True)
class Layout:
    """The box of every node, and for every edge the heights at which it passes the layers in between."""

    boxes: Mapping[str, Box]
    passes: Mapping[tuple[str, str], tuple[Box, ...]]
    width: float
    height: float


@dataclass
class _Slot:
    """A node, or an edge that passes a layer; `name` is None for the latter."""

    size: Size
    name: str | None = None
    before: list["_Slot"] = field(default_factory=list)
    after: list["_Slot"] = field(default_factory=list)
    rank: int = 0
    middle: float = 0.0


def lay_out(sizes: Mapping[str, Size], edges: Iterable[tuple[str, str]], *, gap: float = COLUMN_GAP) -> Layout:
    """Edges from unknown nodes, or from a node to itself, are left out; an edge of a cycle runs backwards."""
    drawn = [edge for edge in dict.fromkeys(edges) if edge[0] != edge[1] and edge[0] in sizes and edge[1] in sizes]
    forward = _without_cycles(sizes, drawn)
    joined = {name for edge in drawn for name in edge}
    alone = [name for name in sizes if name not in joined]
    layers, chains = _make_slots({name: sizes[name] for name in sizes if name in joined}, forward)
    _order(layers)
    _align(layers)
    boxes: dict[str, Box] = {}
    passing: dict[int, Box] = {}
    top = min((slot.middle - slot.size.height / 2 for layer in layers for slot in layer), default=0.0)
    x = 0.0
    for layer in layers:
        width = max(slot.size.width for slot in layer)
        for slot in layer:
            y = slot.middle - slot.size.height / 2 - top
            if slot.name is None:
                passing[id(slot)] = Box(x, y, width, slot.size.height)
            else:
                boxes[slot.name] = Box(x, y, slot.size.width, slot.size.height)
        x += width + gap
    passes = {
        edge: tuple(passing[id(slot)] for slot in (chain if edge in forward else chain[::-1]))
        for edge, chain in zip(drawn, (chains[_ordered(edge, forward)] for edge in drawn), strict=True)
    }
    bottom = max((box.y + box.height for box in (*boxes.values(), *passing.values())), default=0.0)
    _place_in_rows(alone, sizes, boxes, bottom + (ROW_GAP * 2 if boxes else 0.0))
    width = max((box.right for box in boxes.values()), default=0.0)
    height = max((box.y + box.height for box in (*boxes.values(), *passing.values())), default=0.0)
    return Layout({name: boxes[name] for name in sizes}, passes, width, height)


def _ordered(edge: tuple[str, str], forward: set[tuple[str, str]]) -> tuple[str, str]:
    return edge if edge in forward else (edge[1], edge[0])


def _without_cycles(names: Iterable[str], edges: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges, with those that close a cycle turned around."""
    following: dict[str, list[str]] = {name: [] for name in names}
    for maker, reader in edges:
        following[maker].append(reader)
    forward: set[tuple[str, str]] = set()
    done: set[str] = set()
    for start in following:
        if start in done:
            continue
        path = {start}
        pending = [(start, iter(following[start]))]
        while pending:
            name, rest = pending[-1]
            for reader in rest:
                if reader in path:
                    forward.add((reader, name))
                    continue
                forward.add((name, reader))
                if reader not in done:
                    path.add(reader)
                    pending.append((reader, iter(following[reader])))
                    break
            else:
                pending.pop()
                path.remove(name)
                done.add(name)
    return forward


def _make_slots(
    sizes: Mapping[str, Size], forward: set[tuple[str, str]]
) -> tuple[list[list[_Slot]], dict[tuple[str, str], list[_Slot]]]:
    layer_of = _longest_paths(sizes, forward)
    slots = {name: _Slot(size, name) for name, size in sizes.items()}
    layers: list[list[_Slot]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for name, slot in slots.items():
        layers[layer_of[name]].append(slot)
    chains: dict[tuple[str, str], list[_Slot]] = {}
    for maker, reader in sorted(forward):
        chain = [_Slot(Size(0.0, _PASSING_HEIGHT)) for _ in range(layer_of[maker] + 1, layer_of[reader])]
        for offset, slot in enumerate(chain):
            layers[layer_of[maker] + 1 + offset].append(slot)
        whole = [slots[maker], *chain, slots[reader]]
        for one, other in pairwise(whole):
            one.after.append(other)
            other.before.append(one)
        chains[maker, reader] = chain
    return layers, chains


def _longest_paths(names: Iterable[str], forward: set[tuple[str, str]]) -> dict[str, int]:
    """The layer of each node: one more than the last of those before it; sources stand next to their first reader."""
    before: dict[str, list[str]] = {name: [] for name in names}
    after: dict[str, list[str]] = {name: [] for name in before}
    for maker, reader in forward:
        before[reader].append(maker)
        after[maker].append(reader)
    waiting = {name: len(makers) for name, makers in before.items()}
    layer = dict.fromkeys(before, 0)
    ready = [name for name, count in waiting.items() if not count]
    for name in ready:
        for reader in after[name]:
            layer[reader] = max(layer[reader], layer[name] + 1)
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    for name in before:
        if not before[name] and after[name]:
            layer[name] = min(layer[reader] for reader in after[name]) - 1
    lowest = min(layer.values(), default=0)
    return {name: depth - lowest for name, depth in layer.items()}


def _order(layers: list[list[_Slot]]) -> None:
    """Each slot near those it is joined to; the order with the fewest crossings stays."""
    _number(layers)
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(_SWEEPS):
        is_forward = sweep % 2 == 0
        for layer in layers[1:] if is_forward else layers[-2::-1]:
            layer.sort(key=lambda slot: _barycentre(slot, slot.before if is_forward else slot.after))
            _number([layer])
        if (crossings := _crossings(layers)) < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    for layer, order in zip(layers, best, strict=True):
        layer[:] = order
    _number(layers)


def _number(layers: Iterable[list[_Slot]]) -> None:
    for layer in layers:
        for rank, slot in enumerate(layer):
            slot.rank = rank


def _barycentre(slot: _Slot, others: Sequence[_Slot]) -> float:
    return sum(other.rank for other in others) / len(others) if others else float(slot.rank)


def _crossings(layers: Iterable[list[_Slot]]) -> int:
    count = 0
    for layer in layers:
        ends = [(slot.rank, other.rank) for slot in layer for other in slot.after]
        count += sum(
            (one[0] - other[0]) * (one[1] - other[1]) < 0
            for index, one in enumerate(ends)
            for other in ends[index + 1 :]
        )
    return count


def _align(layers: list[list[_Slot]]) -> None:
    """Heights near those of the neighbours, in the order of the layer and apart from one another."""
    for layer in layers:
        _separate(layer, [0.0] * len(layer))
    for number in range(_ALIGNMENTS):
        is_forward = number % 2 == 0
        for layer in layers[1:] if is_forward else layers[-2::-1]:
            targets = []
            for slot in layer:
                others = slot.before if is_forward else slot.after
                targets.append(sum(other.middle for other in others) / len(others) if others else slot.middle)
            _separate(layer, targets)


def _separate(layer: Sequence[_Slot], targets: Sequence[float]) -> None:
    """The heights nearest to the targets, by least squares, that keep order and distance: pooled neighbours."""
    offsets = [0.0]
    for one, other in pairwise(layer):
        offsets.append(offsets[-1] + (one.size.height + other.size.height) / 2 + ROW_GAP)
    pools: list[tuple[float, int]] = []
    for target, offset in zip(targets, offsets, strict=True):
        total, count = target - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            earlier = pools.pop()
            total, count = total + earlier[0], count + earlier[1]
        pools.append((total, count))
    values = [total / count for total, count in pools for _ in range(count)]
    for slot, value, offset in zip(layer, values, offsets, strict=True):
        slot.middle = value + offset


def _place_in_rows(names: Sequence[str], sizes: Mapping[str, Size], boxes: dict[str, Box], top: float) -> None:
    """Nodes without edges, beside and below one another."""
    x, y, tallest = 0.0, top, 0.0
    for name in names:
        size = sizes[name]
        if x and x + size.width > _GRID_WIDTH:
            x, y, tallest = 0.0, y + tallest + ROW_GAP, 0.0
        boxes[name] = Box(x, y, size.width, size.height)
        x, tallest = x + size.width + ROW_GAP * 2, max(tallest, size.height)


def edge_path(start: Point, passes: Sequence[Box], end: Point) -> str:
    """A smooth line from one point to another, straight where it passes a layer."""
    text = f"M{start[0]:.1f} {start[1]:.1f}"
    here = start
    for box in passes:
        text += _curve(here, (box.x, box.middle)) + f"L{box.right:.1f} {box.middle:.1f}"
        here = (box.right, box.middle)
    return text + _curve(here, end)


def _curve(start: Point, end: Point) -> str:
    middle = (start[0] + end[0]) / 2
    return f"C{middle:.1f} {start[1]:.1f} {middle:.1f} {end[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
