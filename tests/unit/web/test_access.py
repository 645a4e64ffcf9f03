"""Who may ask, and from where."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.web.access import Access, Site, Visitor, check_tokens, local_path
from tests.event_loops import run_coroutine
from tests.page import TOKEN, client, log_in, page_folder, site
from tests.workspaces import Folder

HERE = {"Origin": "http://testserver"}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return page_folder(tmp_path)


def test_without_a_token_there_is_only_health_and_the_login(folder: Folder) -> None:
    visitor = client(folder, token=None)
    assert visitor.get("/health").json() == {"status": "ok"}
    assert visitor.get("/login").status_code == 200
    assert visitor.get("/static/daybook.css").status_code == 200
    page = visitor.get("/runs?project=p")
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2Fruns%3Fproject%3Dp")
    for path in ("/api/v1/runs", "/api/v1/openapi.json", "/api/v1/nothing"):
        refused = visitor.get(path)
        assert (refused.status_code, refused.json()["code"]) == (401, "WEB_005")
        assert refused.headers["www-authenticate"] == 'Bearer realm="daybook"'


def test_the_login_becomes_a_cookie_that_scripts_and_other_pages_do_not_get(folder: Folder) -> None:
    browser = client(folder, token=None)
    answer = browser.post("/login", data={"token": TOKEN, "next": "/runs"}, headers=HERE)
    cookie = answer.headers["set-cookie"]
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert browser.get("/runs").status_code == 200


def test_a_cookie_over_tls_is_secure(folder: Folder) -> None:
    browser = client(folder, token=None, is_behind_proxy=True)
    answer = browser.post("/login", data={"token": TOKEN}, headers={"Origin": "https://testserver"})
    assert "Secure" in answer.headers["set-cookie"]
    assert "max-age" in answer.headers["strict-transport-security"]


def test_logging_out_ends_the_session(folder: Folder) -> None:
    browser = client(folder, token=None)
    log_in(browser)
    page = browser.get("/runs").text
    csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
    cookies = dict(browser.cookies)
    assert browser.post("/logout", data={"csrf": "wrong"}, headers=HERE).status_code == 403
    assert browser.post("/logout", data={"csrf": csrf}, headers=HERE).status_code == 303
    browser.cookies.update(cookies)
    assert browser.get("/runs").status_code == 303


def test_sessions_end_by_themselves() -> None:
    now = 0.0
    access = Access(site(), lambda: now)
    session = access.log_in(Visitor("ann"))
    found = access.session(session)
    assert found is not None
    assert found.name == "ann"
    now = 12 * 3600.0
    assert access.session(session) is None


@dataclass
class Moments:
    """A clock that goes on where somebody sleeps."""

    now: float = 0.0
    naps: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds

    def check(self, access: Access, token: str, address: str = "a") -> str:
        try:
            return run_coroutine(access.holder_of(token, address)).name or ""
        except DaybookError as refusal:
            return refusal.code


def test_wrong_tokens_are_slowed_down_and_right_ones_are_not_refused() -> None:
    moments = Moments()
    access = Access(site(), moments.clock, moments.sleep)
    assert [moments.check(access, f"wrong {number}") for number in range(10)] == ["WEB_006"] * 10
    assert moments.naps == []
    assert [moments.check(access, f"wrong {number}") for number in range(3)] == ["WEB_006"] * 3
    assert moments.naps == [pytest.approx(0.1)] * 3
    assert moments.check(access, TOKEN) == "controlling"
    assert len(moments.naps) == 4


def test_a_token_that_an_address_has_used_never_waits() -> None:
    moments = Moments()
    access = Access(site(), moments.clock, moments.sleep)
    moments.check(access, TOKEN)
    for number in range(20):
        moments.check(access, f"wrong {number}")
    naps = len(moments.naps)
    assert moments.check(access, TOKEN) == "controlling"
    assert len(moments.naps) == naps


def test_another_address_does_not_wait_and_a_minute_later_nobody_does() -> None:
    moments = Moments()
    access = Access(site(), moments.clock, moments.sleep)
    for number in range(10):
        moments.check(access, f"wrong {number}")
    assert moments.check(access, TOKEN, "b") == "controlling"
    moments.now = 61.0
    assert moments.check(access, TOKEN) == "controlling"
    assert moments.naps == []


def test_guesses_that_arrive_together_are_checked_one_after_the_other() -> None:
    moments = Moments()
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        await asyncio.sleep(0)

    access = Access(site(), moments.clock, sleep)

    async def guess() -> list[BaseException | Visitor]:
        tokens = [f"wrong {number}" for number in range(160)]
        return await asyncio.gather(*(access.holder_of(each, "a") for each in tokens), return_exceptions=True)

    for number in range(10):
        moments.check(access, f"wrong {number}")
    codes = [each.code for each in run_coroutine(guess()) if isinstance(each, DaybookError)]
    assert (codes.count("WEB_006"), codes.count("WEB_007")) == (100, 60)
    assert naps == [pytest.approx(0.1 * turn) for turn in range(1, 101)]


def test_a_right_token_is_answered_between_wrong_ones(folder: Folder) -> None:
    visitor = client(folder, token=None)
    wrong = [visitor.get("/api/v1/runs", headers={"Authorization": f"Bearer {number}"}) for number in range(12)]
    assert [(each.status_code, each.json()["code"]) for each in wrong] == [(401, "WEB_006")] * 12
    right = visitor.get("/api/v1/runs", headers={"Authorization": f"Bearer {TOKEN}"})
    assert right.status_code == 200


def test_open_lets_everybody_read_and_nobody_act(folder: Folder) -> None:
    visitor = client(folder, token=None, is_open=True)
    assert visitor.get("/runs").status_code == 200
    assert visitor.get("/api/v1/runs").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "testserver:80:80", "[::1", "a b"])
def test_a_foreign_name_is_refused(folder: Folder, host: str) -> None:
    answer = client(folder).get("/api/v1/runs", headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (421, "WEB_008")


@pytest.mark.parametrize("host", ["127.0.0.1:8484", "LOCALHOST", "[::1]:8484"])
def test_names_of_this_machine_are_known(folder: Folder, host: str) -> None:
    assert client(folder).get("/api/v1/runs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://testserver"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Cookie": "a=b"},
    ],
)
def test_what_comes_from_another_page_changes_nothing(folder: Folder, headers: dict[str, str]) -> None:
    answer = client(folder, token=None).post("/login", data={"token": TOKEN}, headers=headers)
    assert answer.status_code == 403
    assert "WEB_009" in answer.text


def test_every_answer_forbids_framing_and_foreign_content(folder: Folder) -> None:
    browser = client(folder)
    for path in ("/close", "/login", "/api/v1/runs", "/api/v1/nothing", "/static/daybook.js", "/nothing"):
        headers = browser.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
    assert browser.get("/close").headers["cache-control"] == "no-store"


def test_what_is_too_large_is_refused(folder: Folder) -> None:
    visitor = client(folder)
    assert visitor.get("/runs?project=" + "x" * 9000).status_code == 413
    assert visitor.get("/api/v1/runs?project=" + "x" * 9000).json()["code"] == "WEB_011"
    assert visitor.post("/login", content=b"x" * 70_000, headers=HERE).status_code == 413

    def parts() -> "list[bytes]":
        return [b"token=" + b"x" * 40_000, b"x" * 40_000]

    streamed = visitor.post(
        "/login",
        content=iter(parts()),
        headers={**HERE, "Content-Type": "application/x-www-form-urlencoded"},
    )
    assert streamed.status_code == 413


@pytest.mark.parametrize(
    "text", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\r\nb", "", None]
)
def test_the_login_leads_nowhere_else(text: str | None) -> None:
    assert local_path(text) == "/"


def test_the_login_leads_back(folder: Folder) -> None:
    assert local_path("/runs?project=p&after=x") == "/runs?project=p&after=x"


@pytest.mark.parametrize("token", ["123456", " " * 20, "\t" * 20, f"{' ' * 10}123456{' ' * 10}"])
def test_a_short_token_is_refused(token: str) -> None:
    with pytest.raises(DaybookError, match="WEB_004"):
        check_tokens({"ann": token})


def test_logging_in_again_ends_the_session_before(folder: Folder) -> None:
    browser = client(folder, token=None)
    log_in(browser)
    before = dict(browser.cookies)
    log_in(browser)
    after = dict(browser.cookies)
    assert before != after
    browser.cookies.clear()
    assert browser.get("/runs", headers={"Cookie": "; ".join(f"{n}={v}" for n, v in before.items())}).status_code == 303
    assert browser.get("/runs", headers={"Cookie": "; ".join(f"{n}={v}" for n, v in after.items())}).status_code == 200


def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(folder: Folder) -> None:
    both = {**HERE, "Content-Length": "5", "Transfer-Encoding": "chunked"}
    answer = client(folder).request("GET", "/api/v1/runs", headers=both)
    assert (answer.status_code, answer.json()["code"]) == (400, "WEB_019")
    assert answer.headers["connection"] == "close"


def test_two_servers_of_a_machine_have_two_cookies() -> None:
    assert Site({}, port=1).cookie != Site({}, port=2).cookie
