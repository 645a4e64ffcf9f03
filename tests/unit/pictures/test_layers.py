"""Layouts: boxes never overlap, edges lead to the right and around boxes, whatever the graph is."""

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from daybook.pictures.layers import Box, Layout, Size, edge_path, lay_out

Sizes = dict[str, Size]
Edges = list[tuple[str, str]]

NAMES = [f"n{number}" for number in range(14)]
SIZES = st.dictionaries(
    st.sampled_from(NAMES), st.builds(Size, st.floats(20, 300), st.floats(10, 200)), min_size=1, max_size=14
)
EDGES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=40)


def overlap(one: Box, other: Box) -> bool:
    return (
        one.x < other.x + other.width - 1e-6
        and other.x < one.x + one.width - 1e-6
        and one.y < other.y + other.height - 1e-6
        and other.y < one.y + one.height - 1e-6
    )


def drawn_boxes(layout: Layout) -> list[Box]:
    return [*layout.boxes.values(), *(box for passes in layout.passes.values() for box in passes)]


@settings(deadline=None)
@given(SIZES, EDGES)
def test_no_two_boxes_overlap_and_no_edge_runs_through_one(sizes: Sizes, edges: Edges) -> None:
    layout = lay_out(sizes, edges)
    assert set(layout.boxes) == set(sizes)
    assert {name: Size(box.width, box.height) for name, box in layout.boxes.items()} == sizes
    assert not any(overlap(*pair) for pair in combinations(layout.boxes.values(), 2))
    for passes in layout.passes.values():
        assert not any(overlap(passing, box) for passing in passes for box in layout.boxes.values())
    assert all(box.x >= 0 and box.y >= -1e-6 for box in drawn_boxes(layout))
    assert all(box.y + box.height <= layout.height + 1e-6 for box in drawn_boxes(layout))
    assert all(box.right <= layout.width + 1e-6 for box in layout.boxes.values())


@settings(deadline=None)
@given(SIZES, EDGES)
def test_every_edge_is_there(sizes: Sizes, edges: Edges) -> None:
    layout = lay_out(sizes, edges)
    assert set(layout.passes) == {edge for edge in edges if edge[0] != edge[1] and set(edge) <= set(sizes)}


@settings(deadline=None)
@given(SIZES, EDGES)
def test_without_cycles_every_edge_leads_to_the_right(sizes: Sizes, edges: Edges) -> None:
    ordered = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    layout = lay_out(sizes, ordered)
    for (maker, reader), passes in layout.passes.items():
        way = [layout.boxes[maker], *passes, layout.boxes[reader]]
        assert all(one.right < other.x for one, other in pairwise(way))


def test_the_same_graph_is_drawn_the_same() -> None:
    sizes = dict.fromkeys("abcd", Size(50, 20))
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")]
    assert lay_out(sizes, edges) == lay_out(sizes, edges)


def test_a_chain_is_straight_and_a_fork_is_centred() -> None:
    sizes = dict.fromkeys("abcd", Size(50, 20))
    boxes = lay_out(sizes, [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]).boxes
    assert boxes["a"].middle == boxes["d"].middle == (boxes["b"].middle + boxes["c"].middle) / 2
    line = lay_out(sizes, [("a", "b"), ("b", "c"), ("c", "d")]).boxes
    assert len({box.middle for box in line.values()}) == 1


def test_a_line_passes_a_layer_straight() -> None:
    text = edge_path((0, 0), [Box(10, 15, 20, 10)], (40, 0))
    assert text == "M0.0 0.0C5.0 0.0 5.0 20.0 10.0 20.0L30.0 20.0C35.0 20.0 35.0 0.0 40.0 0.0"
