"""Attacks on certificates, and what their chains may look like."""

import base64
import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from daybook.errors import DaybookError
from daybook.proof.certificate import CertificateLink, CloseStatement, SealedRun, SealedWorkspace, statement_payload
from daybook.proof.envelope import sign
from daybook.proof.sealed_data import DataFolder
from daybook.proof.verification import DataQuestion, Trust, Verification, verify_files
from tests.certificates import KEY, OTHER_KEY, TRUST, envelope, link, public, statement, written


def verify(folder: Path, *documents: Any, trust: Trust = TRUST) -> tuple[Verification, ...]:
    paths = [written(folder, f"c{number}.json", document) for number, document in enumerate(documents)]
    return verify_files(paths, trust)


def changed(document: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The envelope with another payload under the old signature."""
    payload = json.loads(base64.b64decode(document["payload"]))
    change(payload)
    return document | {"payload": base64.b64encode(json.dumps(payload).encode()).decode()}


def chain(months: int) -> list[dict[str, Any]]:
    documents = [envelope(1)]
    for number in range(2, months + 1):
        documents.append(envelope(number, previous=link(documents[-1], number - 1)))
    return documents


def test_a_certificate_is_valid_by_the_key_that_signed_it(tmp_path: Path) -> None:
    (verification,) = verify(tmp_path, envelope())
    assert verification.is_valid
    assert (verification.signer, verification.workspace, verification.period) == ("controlling", "w-1", "2026-01")
    assert [(subject.name, subject.data, subject.recomputed) for subject in verification.subjects] == [
        ("p@2026-01:lake.all", "not asked", "not asked"),
        ("p@2026-01:lake.few", "not asked", "not asked"),
    ]


def _swap_digests(payload: dict[str, Any]) -> None:
    first, second = payload["subject"]
    first["digest"], second["digest"] = second["digest"], first["digest"]


def _swap_names(payload: dict[str, Any]) -> None:
    first, second = payload["subject"]
    first["name"], second["name"] = second["name"], first["name"]


def _change_row_count(payload: dict[str, Any]) -> None:
    payload["subject"][0]["annotations"]["rows"] += 1


def _rename_approver(payload: dict[str, Any]) -> None:
    payload["predicate"]["sealed_by"] = "bert"


@pytest.mark.parametrize("change", [_swap_digests, _swap_names, _change_row_count, _rename_approver])
def test_a_payload_that_was_changed_is_signed_by_nobody(tmp_path: Path, change: Callable[[Any], None]) -> None:
    (verification,) = verify(tmp_path, changed(envelope(), change))
    assert not verification.is_valid
    assert verification.signer is None


def test_a_signature_of_another_key_does_not_count(tmp_path: Path) -> None:
    (verification,) = verify(tmp_path, envelope(key=OTHER_KEY))
    assert (verification.is_valid, verification.signer) == (False, None)


def test_the_signature_of_another_certificate_does_not_count(tmp_path: Path) -> None:
    january, february = envelope(1), envelope(2)
    (verification,) = verify(tmp_path, january | {"signatures": february["signatures"]})
    assert (verification.is_valid, verification.signer) == (False, None)


def test_a_key_inside_of_the_file_is_never_trusted(tmp_path: Path) -> None:
    document = envelope(key=OTHER_KEY)
    document["signatures"][0]["public"] = public(OTHER_KEY).keyval["public"]
    assert not verify(tmp_path, document)[0].is_valid
    (verification,) = verify(tmp_path, envelope(), trust=Trust(keys={}))
    assert (verification.is_valid, verification.signer) == (False, None)


def test_a_certificate_of_another_period_or_workspace_is_no_answer(tmp_path: Path) -> None:
    for trust in (replace(TRUST, period="2026-02"), replace(TRUST, workspace="other-close")):
        (verification,) = verify(tmp_path, envelope(), trust=trust)
        assert not verification.is_valid
    (verification,) = verify(tmp_path, envelope(), trust=replace(TRUST, period="2026-01", workspace="acme-close"))
    assert verification.is_valid


def test_subjects_belong_to_the_outputs_of_the_runs(tmp_path: Path) -> None:
    subjects, close = statement()
    missing = sign(statement_payload(subjects[:1], close), KEY)
    (run,) = close.runs
    first, second = run.outputs
    swapped = (replace(first, subject=second.subject), replace(second, subject=first.subject))
    wrong_rows = sign(statement_payload(subjects, replace(close, runs=(replace(run, outputs=swapped),))), KEY)
    for document in (missing, wrong_rows):
        (verification,) = verify(tmp_path, document)
        assert verification.signer == "controlling"
        assert not verification.is_valid


def test_certificates_of_consecutive_periods_are_a_chain(tmp_path: Path) -> None:
    assert [item.is_valid for item in verify(tmp_path, *chain(3))] == [True, True, True]


def test_one_certificate_of_a_chain_can_be_verified_alone(tmp_path: Path) -> None:
    (verification,) = verify(tmp_path, chain(3)[2])
    assert verification.is_valid


def test_a_chain_without_a_middle_period_is_broken(tmp_path: Path) -> None:
    january, _, march = chain(3)
    assert [item.is_valid for item in verify(tmp_path, january, march)] == [True, False]


def test_a_certificate_that_follows_another_version_of_the_period_before_breaks_the_chain(tmp_path: Path) -> None:
    january, february = chain(2)
    other_january = envelope(1, sealed_by="bert")
    assert [item.is_valid for item in verify(tmp_path, other_january, february)] == [True, False]
    assert [item.is_valid for item in verify(tmp_path, january, february)] == [True, True]


def test_a_certificate_that_names_none_before_it_though_one_was_sealed_breaks_the_chain(tmp_path: Path) -> None:
    assert [item.is_valid for item in verify(tmp_path, envelope(1), envelope(2))] == [True, False]


def test_a_link_names_the_period_that_it_leads_to(tmp_path: Path) -> None:
    january = envelope(1)
    wrong = CertificateLink("2025-12", link(january, 1).payload)
    assert [item.is_valid for item in verify(tmp_path, january, envelope(2, previous=wrong))] == [True, False]


def test_a_period_that_was_sealed_again_says_what_it_replaces_and_later_ones_stay_valid(tmp_path: Path) -> None:
    january, february = chain(2)
    again = envelope(1, sealed_by="bert", replaces=link(january, 1))
    verifications = verify(tmp_path, january, february, again)
    assert [item.is_valid for item in verifications] == [True, True, True]
    assert [item.replaced_by for item in verifications] == [link(again, 1).payload, None, None]
    # The certificate that was replaced is not needed for the chain.
    assert [item.is_valid for item in verify(tmp_path, again, february)] == [True, True]


def test_a_period_that_was_sealed_three_times_is_one_row_of_replacements(tmp_path: Path) -> None:
    first = envelope(1)
    second = envelope(1, sealed_by="bert", replaces=link(first, 1))
    third = envelope(1, sealed_by="carla", replaces=link(second, 1))
    assert [item.is_valid for item in verify(tmp_path, first, second, third)] == [True, True, True]


def test_two_certificates_of_a_period_that_do_not_know_each_other_are_not_valid(tmp_path: Path) -> None:
    assert [item.is_valid for item in verify(tmp_path, envelope(1), envelope(1, sealed_by="bert"))] == [False, False]


def test_certificates_of_two_workspaces_are_no_chain(tmp_path: Path) -> None:
    other = envelope(2, workspace=SealedWorkspace("w-2", "acme-close"))
    assert [item.is_valid for item in verify(tmp_path, envelope(1), other)] == [False, False]


def test_an_untrusted_file_replaces_nothing(tmp_path: Path) -> None:
    january = envelope(1)
    forged = envelope(1, key=OTHER_KEY, replaces=link(january, 1))
    verification, _ = verify(tmp_path, january, forged)
    assert verification.is_valid
    assert verification.replaced_by is None


@pytest.mark.parametrize(
    "change",
    [
        {"n": 2},
        {"n": 0},
        {"n": True},
        {"rows": -1},
        {"rows": 10**4000},
        {"rows": "40"},
        {"columns": [["account"]]},
        {"columns": [["account", "text"]]},
        {"columns": [["account", "decimal( 18, 2)"]]},
        {"columns": [["\ud800", "string"]]},
    ],
    ids=lambda change: str(change)[:40],
)
def test_annotations_that_fit_no_tree_are_malformed(tmp_path: Path, change: dict[str, Any]) -> None:
    subjects, close = statement()
    payload = json.loads(statement_payload(subjects, close))
    payload["subject"][0]["annotations"] |= change
    document = sign(json.dumps(payload).encode(), KEY)
    with pytest.raises(DaybookError) as raised:
        verify(tmp_path, document)
    assert raised.value.code == "PROOF_001"


@pytest.mark.parametrize(
    "change",
    [
        {"_type": "https://in-toto.io/Statement/v0.1"},
        {"predicateType": "https://slsa.dev/provenance/v1"},
        {"predicate": {}},
        {"subject": [{"name": "x"}]},
        {"subject": [{"name": "x", "digest": {"sha256": "00"}}]},
        {"subject": [{"name": "x", "digest": {"sha256": "0" * 64}}] * 2},
        {"subject": {}},
    ],
    ids=str,
)
def test_a_statement_about_something_else_is_malformed(tmp_path: Path, change: dict[str, Any]) -> None:
    payload = json.loads(statement_payload(*statement())) | change
    with pytest.raises(DaybookError) as raised:
        verify(tmp_path, sign(json.dumps(payload).encode(), KEY))
    assert raised.value.code == "PROOF_001"


@pytest.mark.parametrize(
    "change",
    [
        {"runs": [{}] * 50},
        {"approvals": [1] * 50},
        {"not_covered": [1] * 50},
        {"versions": {str(number): number for number in range(20_000)}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_first_wrong_value_of_millions_ends_the_reading(change: dict[str, Any]) -> None:
    """An error takes a thousand bytes."""
    predicate = _payload(envelope())["predicate"] | change
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(CloseStatement).validate_python(predicate)
    # An empty run lacks each of its fields.
    assert raised.value.error_count() <= len(fields(SealedRun))


def test_data_that_is_asked_for_and_not_looked_at_is_missing(tmp_path: Path) -> None:
    """Nothing that a file names is read before a trusted key was found to have signed it."""
    question = DataQuestion(DataFolder(tmp_path / "nowhere", "state"), is_stored=True, is_recomputed=False)
    (verification,) = verify_files([written(tmp_path, "c.json", envelope(key=OTHER_KEY))], TRUST, question)
    assert {(subject.data, subject.recomputed) for subject in verification.subjects} == {("missing", "not asked")}


def test_a_period_on_the_first_day_of_all_and_times_without_zone(tmp_path: Path) -> None:
    beginning = _payload(envelope())
    beginning["predicate"]["period"]["start"] = "0001-01-01"
    document = sign(json.dumps(beginning).encode(), KEY)
    verifications = verify(tmp_path, document, envelope(2, previous=link(document, 1)))
    assert all(verification.is_valid for verification in verifications)
    timeless = _payload(envelope())
    timeless["predicate"]["sealed_at"] = "2026-02-03T08:00:00"
    with pytest.raises(DaybookError) as raised:
        verify(tmp_path, sign(json.dumps(timeless).encode(), KEY))
    assert raised.value.code == "PROOF_001"


def _payload(document: dict[str, Any]) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(base64.b64decode(document["payload"]))
    return payload
