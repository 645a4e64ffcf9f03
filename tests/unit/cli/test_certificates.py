"""Exit codes and JSON of `daybook keys` and `daybook verify`; neither needs a workspace."""

import json
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.workspace.certificates import make_key
from tests.certificates import KEY, envelope, link, written


@pytest.fixture
def public_key(tmp_path: Path) -> Path:
    from daybook.proof.envelope import public_pem

    path = tmp_path / "controlling.pub"
    path.write_bytes(public_pem(KEY.public_key()))
    return path


def verify(*words: object) -> int:
    return main(["verify", *map(str, words)])


def test_a_valid_certificate_ends_with_0_and_says_who_signed(
    tmp_path: Path, public_key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "c.json", envelope())
    assert verify(path, "--key", public_key, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == ["valid", "signer", "workspace", "period", "replaced_by", "subjects", "problems"]
    assert (answer["valid"], answer["signer"], answer["problems"]) == (True, "controlling", [])
    assert list(answer["subjects"][0]) == ["name", "digest", "data", "recomputed"]
    assert verify(path, "--key", public_key) == 0
    assert "signed by controlling" in capsys.readouterr().out


def test_what_does_not_hold_ends_with_1(tmp_path: Path, public_key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "c.json", envelope())
    assert verify(path) == 1
    assert verify(path, "--key", make_key("other", tmp_path).public_key) == 1
    assert verify(path, "--key", public_key, "--period", "2026-02") == 1
    assert "NOT VALID" in capsys.readouterr().out


def test_a_malformed_file_ends_with_2(tmp_path: Path, public_key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "c.json", "{}")
    assert verify(path, "--key", public_key, "--json") == 2
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "PROOF_001"


def test_several_certificates_are_verified_as_a_chain(
    tmp_path: Path, public_key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    january = envelope(1)
    february = envelope(2, previous=link(january, 1))
    files = [written(tmp_path, "1.json", january), written(tmp_path, "2.json", february)]
    assert verify(*files, "--key", public_key) == 0
    assert verify(written(tmp_path, "x.json", envelope(1, sealed_by="bert")), files[1], "--key", public_key) == 1
    assert "follows 2026-01" in capsys.readouterr().out


def test_the_signers_of_a_workspace_that_is_named_are_trusted(tmp_path: Path, public_key: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    path = written(tmp_path, "c.json", envelope())
    (workspace / "daybook.yaml").write_text("name: acme-close\nsigners: {controlling: ../controlling.pub}\n")
    assert verify(path, "--workspace", workspace) == 0
    (workspace / "daybook.yaml").write_text("name: another-close\nsigners: {controlling: ../controlling.pub}\n")
    assert verify(path, "--workspace", workspace) == 1


def test_signers_of_the_folder_around_are_not_trusted(
    tmp_path: Path, public_key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of a workspace may come with the certificate."""
    (tmp_path / "daybook.yaml").write_text("name: acme-close\nsigners: {controlling: controlling.pub}\n")
    monkeypatch.chdir(tmp_path)
    assert verify(written(tmp_path, "c.json", envelope())) == 1


def test_new_keys_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "new", "controlling", "--out", str(tmp_path / "keys")]) == 0
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == ["controlling.key", "controlling.pub"]
    assert main(["keys", "new", "controlling", "--out", str(tmp_path / "keys")]) == 2
    assert "PROOF_003" in capsys.readouterr().err
