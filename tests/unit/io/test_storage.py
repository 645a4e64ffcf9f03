"""What the clients of object stores are told of a bucket, and what is refused."""

import sys
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.filesystem import list_files, spark_uri, uri_identity
from daybook.io.storage import Storage, bucket_of
from daybook.model.datasource import FolderSource, StorageSettings
from daybook.resolve.paths import absolute_root

ENDPOINT = "http://127.0.0.1:9"


def settings(credential: str | None = None, **options: object) -> StorageSettings:
    return StorageSettings.model_validate({"options": options, "credential_ref": credential})


def source(id_: str, path: str, credential: str | None = None, **options: object) -> FolderSource:
    values = {"id": id_, "name": id_, "type": "delta", "options": {"path": path, **options}}
    return FolderSource.model_validate({**values, "credential_ref": credential})


def storage(settings_: StorageSettings, bucket: str = "s3://close") -> Storage:
    return Storage(Path(), {bucket: settings_})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOSE_KEY", "reader:hush")
    monkeypatch.setenv("SESSION_KEY", "reader:hush:token")


@pytest.mark.parametrize("written", ["s3://close/a", "s3a://close/a", "S3N://close/a/"])
def test_an_address_has_one_spelling_and_spark_gets_its_own(written: str) -> None:
    assert absolute_root(written, Path()) == "s3://close/a"
    assert spark_uri(written) == "s3a://close/a"
    assert uri_identity(written, Path()) == "s3://close/a"
    assert bucket_of(absolute_root(written, Path())) == "s3://close"


def test_spark_is_told_of_one_bucket_by_options_of_hadoop() -> None:
    reached = storage(settings("env://CLOSE_KEY", endpoint=ENDPOINT, region="eu-central-1"))
    prefix = "fs.s3a.bucket.close."
    scheme = spark_uri("s3://close/x", reached).partition("://")[0]
    assert reached.spark_options("s3://close/x", "/local", "s3://close/y") == {
        f"{prefix}endpoint": ENDPOINT,
        f"{prefix}connection.ssl.enabled": "false",
        f"{prefix}endpoint.region": "eu-central-1",
        f"{prefix}path.style.access": "true",
        f"{prefix}aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        f"{prefix}access.key": "reader",
        f"{prefix}secret.key": "hush",
        f"fs.{scheme}.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    }


def test_hadoop_keeps_a_file_system_for_each_credential() -> None:
    addresses = {
        spark_uri("s3://close/x", storage(settings(credential, endpoint=endpoint)))
        for credential in ("env://CLOSE_KEY", "env://SESSION_KEY")
        for endpoint in (ENDPOINT, None)
    }
    assert len(addresses) == 4
    assert all(address.startswith("s3a-") and address.endswith("://close/x") for address in addresses)
    assert spark_uri("s3://close/x", storage(settings())) == "s3a://close/x"


def test_the_token_of_a_session_is_passed_on() -> None:
    reached = storage(settings("env://SESSION_KEY"))
    options = reached.spark_options("s3://close/x")
    assert options["fs.s3a.bucket.close.session.token"] == "token"
    assert options["fs.s3a.bucket.close.aws.credentials.provider"].endswith("TemporaryAWSCredentialsProvider")
    assert reached.delta_options("s3://close/x")["aws_session_token"] == "token"


def test_without_a_credential_every_client_asks_its_provider() -> None:
    reached = storage(settings(region="eu-central-1"))
    assert not [name for name in reached.spark_options("s3://close/x") if "key" in name or "cache" in name]
    assert not [name for name in reached.delta_options("s3://close/x") if "key" in name]


def test_deltalake_commits_by_conditional_puts() -> None:
    options = storage(settings("env://CLOSE_KEY", endpoint=ENDPOINT)).delta_options("s3://close/x")
    assert options["aws_conditional_put"] == "etag"
    assert options["aws_endpoint"] == ENDPOINT
    assert options["aws_allow_http"] == "true"
    assert options["aws_access_key_id"] == "reader"


AZURE = "abfss://lake@acme.dfs.core.windows.net"


def other_store(bucket: str, credential: str | None = None, **options: object) -> Storage:
    return Storage(Path(), {bucket: settings(credential, **options)})


def test_a_server_of_ones_own_has_the_account_in_its_paths() -> None:
    options = other_store(AZURE, "env://CLOSE_KEY", endpoint="http://localhost:10000/").delta_options(f"{AZURE}/x")
    assert options["azure_storage_endpoint"] == "http://localhost:10000/acme"
    assert options["allow_http"] == "true"
    assert options["azure_storage_account_key"] == "hush"
    assert "allow_http" not in other_store(AZURE, "env://CLOSE_KEY").delta_options(f"{AZURE}/x")


def test_no_token_of_google_is_sent_to_a_server_without_encryption() -> None:
    emulator = other_store("gs://close", endpoint="http://localhost:9090").delta_options("gs://close/x")
    assert emulator["google_skip_signature"] == "true"
    private = other_store("gs://close", endpoint="https://restricted.example").delta_options("gs://close/x")
    assert private == {"google_base_url": "https://restricted.example"}


@pytest.mark.parametrize(
    ("bucket", "reference"), [("gs://close", "env://CLOSE_KEY"), ("gs://close", "profile://p"), (AZURE, "profile://p")]
)
def test_a_credential_that_a_provider_does_not_take_is_refused_and_not_ignored(bucket: str, reference: str) -> None:
    with pytest.raises(DaybookError) as refused:
        other_store(bucket, reference).delta_options(f"{bucket}/x")
    assert refused.value.code == "IO_071"


def test_local_places_need_nothing() -> None:
    reached = storage(settings("env://NOT_SET"))
    assert reached.spark_options("/data/x") == {}
    assert reached.delta_options("/data/x") == {}


def test_other_buckets_get_nothing_of_it() -> None:
    assert "reader" not in str(storage(settings("env://CLOSE_KEY")).spark_options("s3://other/x"))


def test_a_data_source_says_how_its_bucket_is_reached() -> None:
    lake = source("lake", "s3a://close/lake", "env://CLOSE_KEY", endpoint=ENDPOINT)
    reached = Storage(Path(), {}, lambda: [lake, source("local", "warehouse")])
    assert reached.spark_options("s3://close/other")["fs.s3a.bucket.close.access.key"] == "reader"


def test_two_descriptions_of_one_bucket_are_refused() -> None:
    both = [source("lake", "s3://close/a", "env://CLOSE_KEY"), source("files", "s3://close/b", "env://SESSION_KEY")]
    reached = Storage(Path(), {}, lambda: both)
    with pytest.raises(DaybookError) as refused:
        reached.spark_options("s3://close/a")
    assert refused.value.code == "IO_070"
    assert "s3://close" in refused.value.message
    assert "hush" not in str(refused.value)


def test_data_sources_that_say_the_same_or_nothing_agree() -> None:
    sources = [source("lake", "s3://close/a", "env://CLOSE_KEY"), source("files", "s3://close/b")]
    reached = Storage(Path(), {"s3://close": settings("env://CLOSE_KEY")}, lambda: sources)
    assert "fs.s3a.bucket.close.access.key" in reached.spark_options("s3://close/b")


@pytest.mark.parametrize("secret", ["hush", ":hush", "reader:", "a:b:c:d"])
def test_a_credential_that_is_no_key_is_refused_and_not_shown(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOSE_KEY", secret)
    with pytest.raises(DaybookError) as refused:
        storage(settings("env://CLOSE_KEY")).delta_options("s3://close/x")
    assert refused.value.code == "IO_071"
    assert secret not in str(refused.value)


def test_a_profile_is_resolved_by_botocore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "credentials"
    file.write_text("[month-end]\naws_access_key_id = reader\naws_secret_access_key = hush\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    assert storage(settings("profile://month-end")).delta_options("s3://close/x")["aws_access_key_id"] == "reader"
    with pytest.raises(DaybookError) as refused:
        storage(settings("profile://nobody")).delta_options("s3://close/x")
    assert refused.value.code == "IO_071"


def test_a_profile_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    with pytest.raises(DaybookError) as refused:
        storage(settings("profile://month-end")).delta_options("s3://close/x")
    assert refused.value.code == "IO_072"


def test_a_store_that_does_not_answer_has_a_code_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daybook.io.storage._ATTEMPTS", 1)
    reached = storage(settings("env://CLOSE_KEY", endpoint=ENDPOINT))
    with pytest.raises(DaybookError) as refused:
        list_files("s3://close/x", storage=reached)
    assert refused.value.code == "IO_073"
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "s3://key:secret@close/a",
        "s3://key@close/a",
        "s3://Close/a",
        "s3://c/a",
        "s3://close_1/a",
        "s3://clo..se/a",
        "s3:///a",
        "s3://close/../other",
        "s3://close/a//b",
        "s3://close/a*",
        "s3://close/a%2e%2e",
        "s3://close/a\\b",
        "s3://close/a?versionId=1",
        "s3://close/a#b",
        "s3a://close/./a",
        "s3://close/a\nb",
        "abfss://container/a",
        "gs://key@close/a",
    ],
)
def test_odd_addresses_are_refused(address: str) -> None:
    with pytest.raises(DaybookError) as refused:
        absolute_root(address, Path())
    assert refused.value.code == "RESOLVE_035"
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("address", ["s3://close/März 2026/a b", "s3://a.b-c/x", "abfss://c@a.dfs.core.windows.net/x"])
def test_ordinary_addresses_are_not(address: str) -> None:
    assert absolute_root(address, Path()) == address


@pytest.mark.parametrize("endpoint", ["localhost:9000", "http://key:secret@host", "http://host/path", "ftp://host"])
def test_an_endpoint_is_the_address_of_a_server(endpoint: str) -> None:
    with pytest.raises(ValueError, match="MODEL_028"):
        settings(endpoint=endpoint)
