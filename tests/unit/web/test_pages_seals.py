"""The page of a sealed period, and its certificate over HTTP."""

import datetime
from pathlib import Path

import pytest

from daybook.proof.envelope import envelope_text, read_envelope
from daybook.store.records import Seal
from tests.certificates import envelope, link, month
from tests.page import RUN, client, page_folder, record_run
from tests.workspaces import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = page_folder(tmp_path)
    record_run(folder)
    return folder


def record_seal(folder: Folder, document: dict[str, object]) -> Seal:
    period = month(1)
    seal = Seal(
        read_envelope(document, Path("x")).digest,
        period.calendar,
        period.identifier,
        period.level,
        period.start,
        period.end,
        datetime.datetime(2026, 2, 3, 8, tzinfo=datetime.UTC),
        "anna <b>",
        "key",
        envelope_text(document),
        (RUN,),
    )
    with folder.around() as around, around.store.write() as transaction:
        transaction.seals.record(seal)
    return seal


def test_a_sealed_period_says_by_whom_and_offers_the_certificate(folder: Folder) -> None:
    seal = record_seal(folder, envelope())
    page = client(folder).get("/periods/2026-01").text
    assert "anna &lt;b&gt;" in page
    assert f'href="/api/v1/seals/{seal.payload}/certificate"' in page
    answer = client(folder).get(f"/api/v1/seals/{seal.payload}/certificate")
    assert answer.text == seal.certificate
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "Sealed</h2>" not in client(folder).get("/periods/2026-02").text


def test_certificates_are_listed_with_what_replaces_them(folder: Folder) -> None:
    first = record_seal(folder, envelope())
    second = record_seal(folder, envelope(sealed_by="bert", replaces=link(envelope(), 1)))
    answer = client(folder).get("/api/v1/seals?period=2026-01").json()
    assert [(seal["digest"], seal["replaced_by"]) for seal in answer] == [
        (first.payload, second.payload),
        (second.payload, None),
    ]
    assert answer[0]["subjects"][0] == {
        "name": "p@2026-01:lake.all",
        "digest": answer[0]["subjects"][0]["digest"],
        "rows": 40,
    }
    assert [seal["digest"] for seal in client(folder).get("/api/v1/seals").json()] == [first.payload, second.payload]


def test_an_unknown_certificate_is_not_found(folder: Folder) -> None:
    assert client(folder).get(f"/api/v1/seals/{'0' * 64}/certificate").status_code == 404


def test_a_certificate_needs_a_token(folder: Folder) -> None:
    seal = record_seal(folder, envelope())
    assert client(folder, token=None).get(f"/api/v1/seals/{seal.payload}/certificate").status_code == 401
