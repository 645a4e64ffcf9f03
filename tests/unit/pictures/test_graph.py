"""Graphs as SVG: every node and edge is there, all texts are escaped, links stay on the page."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daybook.pictures.graph import PictureEdge, PictureNode, draw_graph

SVG = "{http://www.w3.org/2000/svg}"
IDS = st.sampled_from(["close", "plan", "a&b", "<script>", '"x"', "\u202eevil", "日本語", "x\x00y"])


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def classes(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in root.iter() if name in (each.get("class") or "").split()]


@settings(deadline=None)
@given(st.lists(IDS, unique=True, min_size=1), st.lists(st.tuples(IDS, IDS, IDS)))
def test_every_node_and_edge_is_drawn_once_and_escaped(names: list[str], ends: list[tuple[str, str, str]]) -> None:
    nodes = [PictureNode(each, each, note=each, state="fresh", href=f"/runs?project={each}") for each in names]
    edges = [PictureEdge(*each) for each in ends]
    text = draw_graph(nodes, edges, title="<Graph> & more")
    root = parsed(text)
    assert len(classes(root, "node")) == len(names)
    wanted = {(one, other) for one, other, _ in ends if one != other and {one, other} <= set(names)}
    assert len(classes(root, "edge")) == len(wanted)
    assert "<script" not in text
    assert "\u202e" not in text
    assert not {each.tag for each in root.iter()} & {f"{SVG}script", f"{SVG}style", f"{SVG}foreignObject"}
    assert not any(key.startswith("on") or key == "style" for each in root.iter() for key in each.attrib)


def test_a_picture_says_what_it_is() -> None:
    root = parsed(
        draw_graph([PictureNode("a", "a"), PictureNode("b", "b")], [PictureEdge("a", "b", "rows")], title="Close")
    )
    named = {each.get("id"): each.text for each in root.iter() if each.get("id")}
    assert named[(root.get("aria-labelledby") or "").split()[0]] == "Close"
    description = root.find(f"{SVG}desc")
    assert description is not None
    assert (description.text or "").startswith("2 boxes and 1 arrow from left to right")
    (edge,) = classes(root, "edge")
    assert [each.text for each in edge.iter(f"{SVG}title")] == ["b reads rows from a"]
    assert [each.text for each in classes(root, "on-line")] == ["rows"]


def test_a_state_is_written_and_coloured() -> None:
    root = parsed(draw_graph([PictureNode("a", "close", note="2026-01", state="stale")], [], title="t"))
    (node,) = classes(root, "stale")
    assert [each.text for each in node.iter(f"{SVG}text")] == ["close", "2026-01 · stale"]


def test_many_edges_are_named_by_tooltips_alone() -> None:
    nodes = [PictureNode(f"n{number}", f"n{number}") for number in range(20)]
    edges = [PictureEdge(f"n{number}", f"n{number + 1}", "rows") for number in range(19)]
    root = parsed(draw_graph(nodes, edges, title="t"))
    assert (len(classes(root, "edge")), classes(root, "on-line")) == (19, [])


@pytest.mark.parametrize("href", ["https://evil.example", "//evil.example", "javascript:alert(1)"])
def test_no_link_leads_out(href: str) -> None:
    with pytest.raises(ValueError, match="leads out"):
        draw_graph([PictureNode("a", "a", href=href)], [], title="t")


def test_long_names_are_shortened_and_whole_in_the_tooltip() -> None:
    long = "consolidated-profit-and-loss-of-all-companies-of-the-group"
    root = parsed(draw_graph([PictureNode("a", long)], [], title="t"))
    (node,) = classes(root, "node")
    assert [each.text for each in node.iter(f"{SVG}title")] == [long]
    (shown,) = [each.text or "" for each in node.iter(f"{SVG}text")]
    assert len(shown) < len(long)
    assert "\N{HORIZONTAL ELLIPSIS}" in shown


def test_an_empty_graph_is_a_picture() -> None:
    assert classes(parsed(draw_graph([], [], title="nothing")), "node") == []
