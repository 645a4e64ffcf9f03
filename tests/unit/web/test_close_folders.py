"""The grid of a large close: by folders, with a search and a filter, so that it can be read."""

import datetime
from pathlib import Path

from daybook.graph.close import NodeStatus
from daybook.graph.node_state import NodeState
from daybook.graph.nodes import Node
from daybook.model.calendar import Period
from daybook.web.pages.close import folder_rows, shown_reasons
from daybook.workspace.close import CloseStatus
from tests.page import client, page_folder
from tests.workspaces import to_table

JANUARY = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))


def large_close() -> CloseStatus:
    """Of 100 projects in two folders, every tenth is stale."""
    nodes = []
    for number in range(100):
        state: NodeState = "fresh" if number % 10 else "stale"
        reasons = () if state == "fresh" else ("rates.csv changed",)
        nodes.append(NodeStatus(Node(f"p{number:03}", JANUARY), state, False, None, reasons, causes=reasons))
    folders = {f"p{number:03}": "europe" if number < 70 else "asia" for number in range(100)}
    return CloseStatus(tuple(nodes), folders=folders)


def test_a_large_close_is_shown_by_folders() -> None:
    asia, europe = folder_rows(large_close())
    assert (asia.folder, asia.size, asia.projects) == ("asia", 30, ())
    assert europe.counts["2026-01"] == {"fresh": 63, "stale": 7}


def test_a_folder_opens_and_the_others_stay_closed() -> None:
    asia, europe = folder_rows(large_close(), folder="asia")
    assert len(asia.projects) == 30
    assert europe.projects == ()


def test_a_search_and_a_state_choose_projects() -> None:
    assert [row.projects for row in folder_rows(large_close(), search="P01")] == [
        tuple(f"p{number:03}" for number in range(10, 20))
    ]
    asia, europe = folder_rows(large_close(), state="stale")
    assert asia.projects == ("p070", "p080", "p090")
    assert len(europe.projects) == 7
    assert folder_rows(large_close(), search="nothing") == ()


def test_the_reasons_are_those_of_what_is_shown() -> None:
    status = large_close()
    assert len(shown_reasons(status).unclear) == 10
    assert [node.node.project for node in shown_reasons(status, folder="asia").unclear] == ["p070", "p080", "p090"]
    searched = shown_reasons(status, search="P05")
    assert [node.node.project for node in searched.unclear] == ["p050"]
    # A cause of a single node is said beside the node.
    assert searched.causes == ()
    assert [(cause.text, len(cause.nodes)) for cause in shown_reasons(status, state="stale").causes] == [
        ("rates.csv changed", 10)
    ]
    assert shown_reasons(status, state="failed").unclear == ()


def test_the_page_of_a_search_says_why_of_what_was_searched(tmp_path: Path) -> None:
    folder = page_folder(tmp_path)
    for name in ("first", "second"):
        folder.project(to_table(name), id_=name)
    folder.apply()
    for name in ("first", "second"):
        folder.activate(name)
        folder.project(to_table(f"{name}-changed"), id_=name)
    shown = client(folder).get("/close?period=2026-01&search=second").text
    assert "daybook activate second" in shown
    assert "daybook activate first" not in shown


def test_the_page_shows_what_was_searched(tmp_path: Path) -> None:
    folder = page_folder(tmp_path)
    folder.project(to_table("other"), id_="other")
    folder.apply()
    folder.activate("other")
    shown = client(folder).get("/close?period=2026-01&search=oth").text
    assert 'href="/definitions/project/other"' in shown
    assert "No project fits" in client(folder).get("/close?period=2026-01&search=nothing").text
