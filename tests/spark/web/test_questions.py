"""Questions that Spark computes are cancelled while it computes; the page says so, and the next one is answered."""

import re
import time

import pytest
from pyspark.sql import SparkSession
from starlette.testclient import TestClient

from daybook.web.server import create_app
from daybook.workspace.open_workspace import open_workspace
from tests.page import log_in, site
from tests.workspaces import Folder, to_table

ORIGIN = {"Origin": "http://testserver"}
SECONDS = 120.0
# So many lines that their sums are not there before somebody can cancel.
LINES = 200_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Folder:
    """Few orders, and orders of which the last run read many more than the one before."""
    made = Folder.new(tmp_path_factory.mktemp("questions") / "w", lambda: spark)
    totals = {
        "name": "By region",
        "type": "aggregate",
        "arguments": {"group_by": ["region"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]},
    }
    by_region = {"selector": "_operation_seq = 1"}
    made.project(totals, to_table("few", columns=["region", "amount"]) | by_region, id_="few")
    made.run("2026-01", "few")
    path = made.root / "data" / "orders.csv"
    lines = to_table("lines", columns=["order_id", "amount"]) | {"selector": "_operation_seq = 0"}
    made.project(totals, to_table("many", columns=["region", "amount"]) | by_region, lines, id_="many")
    made.run("2026-01", "many")
    with path.open("a") as stream:
        stream.writelines(f"L-{number},EMEA,{number % 1000}.25,2026-01\n" for number in range(LINES))
    made.run("2026-01", "many")
    return made


@pytest.fixture
def browser(folder: Folder) -> TestClient:
    app = create_app(open_workspace(folder.root, session=folder.session), site())
    made = TestClient(app, follow_redirects=False)
    log_in(made)
    return made


def newest_runs(browser: TestClient, project: str) -> list[str]:
    answer = browser.get("/api/v1/runs", params={"project": project}).json()
    return [run["id"] for run in answer["runs"]]


def settled(browser: TestClient, address: str) -> tuple[int, str]:
    """The page of an answer, after as many looks as it takes."""
    until = time.monotonic() + SECONDS
    while (page := browser.get(address)).status_code == 202:
        assert time.monotonic() < until
    return page.status_code, page.text


@pytest.mark.parametrize("kind", ["explain", "bridge", pytest.param("diff", marks=pytest.mark.slow)])
def test_a_question_is_cancelled_while_spark_computes(browser: TestClient, folder: Folder, kind: str) -> None:
    after, before = newest_runs(browser, "many")
    addresses = {
        "explain": f"/runs/{after}/explain/1?key=region%3DEMEA",
        "bridge": f"/compare?a={before}&b={after}&measure=amount&output=2",
        "diff": f"/compare?a={before}&b={after}&output=3&key=order_id",
    }
    waiting = browser.get(addresses[kind])
    assert waiting.status_code == 202
    question = re.search(r'data-question="([0-9a-f]+)"', waiting.text)
    csrf = re.search(r'name="csrf" value="([^"]+)"', waiting.text)
    assert question is not None
    assert csrf is not None
    asked = browser.app.state.loader.served.questions.find(question[1])  # type: ignore[attr-defined]
    until = time.monotonic() + SECONDS
    while not asked.total:
        assert time.monotonic() < until
        assert not asked.is_over
        time.sleep(0.01)
    form = {"csrf": csrf[1], "next": addresses[kind]}
    answer = browser.post(f"/questions/{question[1]}/cancel", data=form, headers=ORIGIN)
    assert (answer.status_code, answer.headers["location"]) == (303, addresses[kind])
    status, text = settled(browser, addresses[kind])
    assert (status, "WEB_016" in text, "Way out" in text or "cancelled" in text) == (409, True, True)
    assert asked.is_cancelled
    # The same session answers whoever asks next.
    few = newest_runs(browser, "few")[0]
    status, text = settled(browser, f"/runs/{few}/explain/1?key=region%3DEMEA")
    assert (status, "150.00" in text, "equal" in text) == (200, True, True)
