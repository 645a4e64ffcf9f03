"""Where a server may listen, whose tokens it knows, and the command that starts it."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from daybook.errors import DaybookError
from daybook.web.server import ServeRequest, open_site, serve
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from tests.page import page_folder
from tests.workspaces import Folder

LONG = "a token that is long enough"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return page_folder(tmp_path)


def opened(folder: Folder, **settings: Any) -> OpenedWorkspace:
    (folder.root / "daybook.yaml").write_text(yaml.safe_dump({"name": "tests", "serve": settings}))
    return open_workspace(folder.root)


def refusal(workspace: OpenedWorkspace, request: ServeRequest) -> str:
    with pytest.raises(DaybookError) as caught:
        open_site(workspace, request)
    return caught.value.code


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "close.example.com", "127.0.0.1.example.com"])
def test_other_hosts_need_encryption(folder: Folder, host: str) -> None:
    workspace = opened(folder)
    assert refusal(workspace, ServeRequest(host)) == "WEB_001"
    site, _ = open_site(workspace, ServeRequest(host, behind_proxy=True))
    assert site.is_secure
    assert "0.0.0.0" not in site.hosts


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"])
def test_this_machine_needs_none(folder: Folder, host: str) -> None:
    site, token = open_site(opened(folder), ServeRequest(host))
    assert not site.is_secure
    assert token is not None
    assert len(token) >= 32


def test_a_certificate_and_its_key_belong_together(folder: Folder, tmp_path: Path) -> None:
    workspace = opened(folder)
    assert refusal(workspace, ServeRequest("0.0.0.0", tls_cert=tmp_path / "c.pem")) == "WEB_003"
    (tmp_path / "c.pem").write_text("no certificate")
    both = ServeRequest("0.0.0.0", tls_cert=tmp_path / "c.pem", tls_key=tmp_path / "c.pem")
    assert refusal(workspace, both) == "WEB_003"


def test_named_tokens_come_from_references(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = opened(folder, tokens={"controlling": "env://PAGE_TOKEN"}, hosts=["Close.example.com"])
    assert refusal(workspace, ServeRequest()) == "RESOLVE_081"
    monkeypatch.setenv("PAGE_TOKEN", "short")
    assert refusal(workspace, ServeRequest()) == "WEB_004"
    monkeypatch.setenv("PAGE_TOKEN", LONG)
    site, made = open_site(workspace, ServeRequest())
    assert (dict(site.tokens), made) == ({"controlling": LONG}, None)
    assert "close.example.com" in site.hosts


def test_a_token_is_not_written_into_the_file(folder: Folder) -> None:
    with pytest.raises(DaybookError, match="MODEL_051"):
        opened(folder, tokens={"controlling": LONG})


def test_a_port_that_is_taken_is_an_error_with_a_code(folder: Folder) -> None:
    workspace = opened(folder)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        request = ServeRequest(port=taken.getsockname()[1])
        site, _ = open_site(workspace, request)
        with pytest.raises(DaybookError, match="WEB_002"):
            serve(workspace, request, site, on_ready=lambda _: None)


def test_the_command_prints_where_to_look_and_ends_by_ctrl_c(folder: Folder) -> None:
    command = [sys.executable, "-m", "daybook", "-w", str(folder.root), "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        token = process.stdout.readline().removeprefix("token: ").strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        with urllib.request.urlopen(f"{address}health", timeout=30) as answer:
            assert json.load(answer) == {"status": "ok"}
        request = urllib.request.Request(f"{address}api/v1/runs", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert json.load(answer) == {"runs": [], "next": None}
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert "Traceback" not in errors
    assert token not in errors
    assert process.returncode in (0, 130)


# What takes long to import and the close does not need; the API has a type for each answer.
UNUSED = (
    *("pyspark", "py4j", "pyarrow", "deltalake", "pandas", "alembic", "sqlalchemy.dialects.postgresql"),
    *("daybook.expression.compiler", "daybook.plan.steps", "daybook.web.api"),
)
SHOW_CLOSE = f"""
import sys, time
from pathlib import Path
from starlette.testclient import TestClient
from daybook.web.server import WorkspaceLoader, create_app
from daybook.web.server import ServeRequest, open_site
from daybook.workspace.open_workspace import open_workspace

imported = []
# The API is loaded after the first answer; here it must not be, so that one sees what came before.
WorkspaceLoader.load_api = lambda self: imported.append([name for name in {UNUSED} if name in sys.modules])
workspace = open_workspace(Path(sys.argv[1]))
app = create_app(workspace, open_site(workspace, ServeRequest(is_open=True))[0])
with TestClient(app, base_url="http://127.0.0.1:8484") as client:
    answer = client.get("/close")
    assert answer.status_code == 200 and "Close" in answer.text, answer.text
until = time.monotonic() + 60
while not imported and time.monotonic() < until:
    time.sleep(0.01)
print(imported)
"""


def test_the_first_close_page_waits_for_neither_spark_nor_the_api(tmp_path: Path) -> None:
    """Also where nothing has been stored yet: an empty store needs no migrations."""
    folder = page_folder(tmp_path)
    done = subprocess.run([sys.executable, "-c", SHOW_CLOSE, str(folder.root)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[[]]"
