"""Object stores: an address as Spark, pyarrow, deltalake and pyiceberg need it, with endpoint and credential.

Users write `s3://bucket/key` everywhere. Spark knows S3 as `s3a`, the others as `s3`. Endpoint and credential go to
each client with the request that needs them: to Spark as options of one reader or writer, which Hadoop takes per
bucket, so that they are in no configuration of a session, in no process list and in no environment.

Hadoop keeps a file system by scheme, bucket and user, whatever the options say, so another credential would be served
by the file system of the first. Without that cache every file opens a file system of its own: writing eight files
started 270 threads that never ended. So each access has a scheme of its own, such as `s3a-1f0c2b9d6e3a`, which means
the same client of Hadoop.
"""

import datetime
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.model.datasource import DataSource, FolderSource, StorageSettings
from daybook.model.secrets import read_credential
from daybook.model.settings import WorkspaceSettings
from daybook.resolve.paths import canonical_uri

if TYPE_CHECKING:
    # Imported lazily, since it imports numpy: commands that only list local files need neither.
    from pyarrow import fs

    from daybook.io.state_tables import StateTables

# The beginning of the address of a state that is in a schema.
STATE_ADDRESS = "catalog://state"
_OBJECT_ADDRESS = re.compile(r"(?P<bucket>(?:s3|gs|abfss)://[^/]+)(?P<key>/.*)?", re.DOTALL)
_DEFAULT_REGION = "us-east-1"
_CONNECT_SECONDS = 5
_REQUEST_SECONDS = 30
_ATTEMPTS = 5
# Google's client would try for a quarter of an hour.
_GIVE_UP_AFTER = datetime.timedelta(seconds=60)


def bucket_of(uri: str) -> str | None:
    """The bucket of an address, `s3://bucket`; None for an address outside of object stores."""
    match = _OBJECT_ADDRESS.fullmatch(uri)
    return match["bucket"] if match else None


@dataclass(frozen=True, slots=True)
class AccessKey:
    """An access key of S3; never shown."""

    id: str = field(repr=False)
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket with its settings; its key is read when a client needs it, so that it may be renewed."""

    address: str
    settings: StorageSettings
    root: Path

    @property
    def scheme(self) -> str:
        return self.address.partition("://")[0]

    @property
    def name(self) -> str:
        return self.address.partition("://")[2].partition("@")[0]

    @property
    def account(self) -> str:
        """The account of an Azure container: `account` of abfss://container@account.dfs.core.windows.net."""
        return self.address.partition("@")[2].partition(".")[0]

    @property
    def is_path_style(self) -> bool:
        path_style, endpoint = self.settings.options.path_style, self.settings.options.endpoint
        return path_style if path_style is not None else endpoint is not None

    @property
    def is_unencrypted(self) -> bool:
        return (self.settings.options.endpoint or "").startswith("http://")

    def key(self) -> AccessKey | None:
        """The access key, read now since it may be renewed; None where the provider's own chain finds one."""
        reference = self.settings.credential_ref
        if reference is None:
            return None
        if problem := _REFUSED_REFERENCES.get((self.scheme, reference.partition("://")[0])):
            hint = "remove credential_ref: the clients find the credential by the provider's own chain"
            raise DaybookError("IO_071", reference=reference, bucket=self.address, problem=problem, hint=hint)
        if reference.startswith("profile://"):
            return _key_of_profile(reference, self.address)
        parts = read_credential(reference, self.root).strip().split(":")
        if not 2 <= len(parts) <= 3 or not all(parts):
            raise DaybookError("IO_071", reference=reference, bucket=self.address, problem="it is not ID:SECRET")
        return AccessKey(*parts)


_NO_KEY_OF_GOOGLE = "clients of Google Cloud Storage take no access key"
_REFUSED_REFERENCES = {
    ("gs", "env"): _NO_KEY_OF_GOOGLE,
    ("gs", "file"): _NO_KEY_OF_GOOGLE,
    ("gs", "profile"): _NO_KEY_OF_GOOGLE,
    ("abfss", "profile"): "profiles have keys of Amazon's",
}


def _key_of_profile(reference: str, bucket: str) -> AccessKey:
    name = reference.partition("://")[2]
    try:
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ModuleNotFoundError:
        raise DaybookError("IO_072", reference=reference, bucket=bucket) from None
    try:
        credentials = Session(profile=name).get_credentials()
        key = credentials.get_frozen_credentials() if credentials is not None else None
    except BotoCoreError as failure:
        raise DaybookError("IO_071", reference=reference, bucket=bucket, problem=str(failure), hint="") from None
    if key is None or not key.access_key or not key.secret_key:
        raise DaybookError("IO_071", reference=reference, bucket=bucket, problem="it has no access key", hint="")
    return AccessKey(key.access_key, key.secret_key, key.token)


@dataclass(frozen=True, slots=True)
class ArrowPath:
    """A file system of pyarrow and the path of one place on it."""

    system: "fs.FileSystem"
    path: str


def _no_sources() -> Iterable[DataSource]:
    return ()


@dataclass(frozen=True, eq=False)
class Storage:
    """How the object stores of a workspace are reached: by its settings, by its data sources, else by their provider.

    The data sources are asked for when the first address of an object store is met.
    """

    root: Path = Path()
    settings: Mapping[str, StorageSettings] = field(default_factory=dict)
    datasources: Callable[[], Iterable[DataSource]] = _no_sources
    # The state of the workspace where it shares no folder with Spark.
    tables: "StateTables | None" = None
    _clients: "dict[tuple[Bucket, AccessKey | None], fs.FileSystem]" = field(default_factory=dict, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets the settings of the buckets, and opens clients of its own."""
        return Storage, (self.root, dict(self._buckets))

    @cached_property
    def _buckets(self) -> Mapping[str, StorageSettings]:
        return described_buckets(self.settings, self.datasources())

    def bucket(self, uri: str) -> Bucket | None:
        """The bucket of an address with its settings; None for an address outside of object stores."""
        address = bucket_of(uri)
        return Bucket(address, self._buckets.get(address, StorageSettings()), self.root) if address else None

    def described(self) -> tuple[str, ...]:
        """The buckets that settings or data sources configure."""
        return tuple(sorted(self._buckets))

    def arrow_path(self, uri: str) -> ArrowPath:
        """The file system of pyarrow, and the path on it, of an address that is not on this machine."""
        from pyarrow import fs

        bucket = self.bucket(uri)
        if bucket is None:
            system, path = fs.FileSystem.from_uri(uri)
            return ArrowPath(system, path)
        key = bucket.key()
        client = self._clients.get((bucket, key))
        if client is None:
            # Two threads may both create a client; the first one is kept.
            client = self._clients.setdefault((bucket, key), _arrow_client(bucket, key))
        return ArrowPath(client, f"{bucket.name}{uri[len(bucket.address) :]}")

    def delta_options(self, uri: str) -> dict[str, str]:
        """The options of deltalake for an address."""
        bucket = self.bucket(uri)
        return _delta_options(bucket, bucket.key()) if bucket is not None else {}

    def iceberg_options(self, uri: str) -> dict[str, str]:
        """The options of pyiceberg for an address; empty for a bucket without settings, which a catalog may have."""
        bucket = self.bucket(uri)
        if bucket is None or bucket.settings == StorageSettings():
            return {}
        return _iceberg_options(bucket, bucket.key())

    def spark_options(self, *uris: str) -> dict[str, str]:
        """The options of one reader or writer of Spark for some addresses."""
        buckets = {bucket.address: bucket for uri in uris if (bucket := self.bucket(uri)) is not None}
        options: dict[str, str] = {}
        for bucket in buckets.values():
            options |= _Access(bucket, bucket.key()).hadoop_options
        return options

    def hadoop_uri(self, uri: str) -> str:
        """The form of an address that Spark knows, with `spark_options`."""
        bucket = self.bucket(uri)
        if bucket is None:
            return uri
        scheme = _Access(bucket, bucket.key()).hadoop_scheme
        return f"{scheme}{uri[uri.index('://') :]}"


def storage_of(root: Path, settings: WorkspaceSettings, definitions: Definitions) -> Storage:
    """How the object stores of a workspace are reached by its settings and the data sources of some definitions."""
    return Storage(root.resolve(), settings.storage, lambda: datasources_in_use(definitions))


def datasources_in_use(definitions: Definitions) -> tuple[DataSource, ...]:
    ids = definitions.ids("datasource")
    return tuple(datasource for id_ in ids if (datasource := definitions.datasource(id_)) is not None)


# Without settings: every store is reached through the default credentials of its provider.
PROVIDER_STORAGE = Storage()


def described_buckets(
    settings: Mapping[str, StorageSettings], datasources: Iterable[DataSource]
) -> dict[str, StorageSettings]:
    """The settings of every bucket; IO_070 where two differ."""
    buckets: dict[str, tuple[str, StorageSettings]] = {}
    for name, bucket, description in _descriptions(settings, datasources):
        if description == StorageSettings():
            continue
        first, other = buckets.setdefault(bucket, (name, description))
        if other != description:
            raise DaybookError("IO_070", bucket=bucket, first=first, other=name)
    return {bucket: description for bucket, (_, description) in buckets.items()}


def _descriptions(
    settings: Mapping[str, StorageSettings], datasources: Iterable[DataSource]
) -> Iterator[tuple[str, str, StorageSettings]]:
    for address, description in settings.items():
        yield "daybook.yaml", address, description
    for datasource in datasources:
        if isinstance(datasource, FolderSource) and (bucket := bucket_of(canonical_uri(datasource.options.path))):
            yield f"data source {datasource.id}", bucket, datasource.storage


def _arrow_client(bucket: Bucket, key: AccessKey | None) -> "fs.FileSystem":
    from pyarrow import fs

    options = bucket.settings.options
    endpoint = urlsplit(options.endpoint) if options.endpoint else None
    match bucket.scheme:
        case "s3":
            arguments: dict[str, Any] = {}
            if key is not None:
                arguments = {"access_key": key.id, "secret_key": key.secret, "session_token": key.token}
            if endpoint is not None:
                arguments |= {"endpoint_override": endpoint.netloc, "scheme": endpoint.scheme}
            region = options.region or (_DEFAULT_REGION if endpoint else fs.resolve_s3_region(bucket.name))
            return fs.S3FileSystem(
                region=region,
                force_virtual_addressing=not bucket.is_path_style,
                # A small object is one request instead of three.
                allow_delayed_open=True,
                retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
                connect_timeout=_CONNECT_SECONDS,
                request_timeout=_REQUEST_SECONDS,
                **arguments,
            )
        case "gs":
            arguments = {"retry_time_limit": _GIVE_UP_AFTER}
            if endpoint is not None:
                arguments |= {"endpoint_override": endpoint.netloc, "scheme": endpoint.scheme}
                # Emulators: nobody sends a token of Google's without encryption.
                arguments |= {"anonymous": True} if bucket.is_unencrypted else {}
            return fs.GcsFileSystem(**arguments)
        case _:
            arguments = {"account_key": key.secret} if key is not None else {}
            if endpoint is not None:
                arguments |= {"blob_storage_authority": endpoint.netloc, "blob_storage_scheme": endpoint.scheme}
                arguments |= {"dfs_storage_authority": endpoint.netloc, "dfs_storage_scheme": endpoint.scheme}
            return fs.AzureFileSystem(bucket.account, **arguments)


def _delta_options(bucket: Bucket, key: AccessKey | None) -> dict[str, str]:
    options = bucket.settings.options
    match bucket.scheme:
        case "s3":
            client_options = {"aws_conditional_put": "etag"}
            if options.endpoint is not None:
                client_options["aws_endpoint"] = options.endpoint.rstrip("/")
                client_options["aws_allow_http"] = str(bucket.is_unencrypted).lower()
            if options.region is not None or options.endpoint is not None:
                client_options["aws_region"] = options.region or _DEFAULT_REGION
            client_options["aws_virtual_hosted_style_request"] = str(not bucket.is_path_style).lower()
            if key is not None:
                client_options |= {"aws_access_key_id": key.id, "aws_secret_access_key": key.secret}
            if key is not None and key.token is not None:
                client_options["aws_session_token"] = key.token
            return client_options
        case "gs":
            client_options = {}
            if options.endpoint is not None:
                client_options["google_base_url"] = options.endpoint.rstrip("/")
            if bucket.is_unencrypted:
                client_options |= {"google_skip_signature": "true", "allow_http": "true"}
            return client_options
        case _:
            client_options = {"azure_storage_account_name": bucket.account}
            if options.endpoint is not None:
                # Of a server of one's own the account is the first part of every path.
                client_options["azure_storage_endpoint"] = f"{options.endpoint.rstrip('/')}/{bucket.account}"
            if bucket.is_unencrypted:
                client_options["allow_http"] = "true"
            if key is not None:
                client_options["azure_storage_account_key"] = key.secret
            return client_options


def _iceberg_options(bucket: Bucket, key: AccessKey | None) -> dict[str, str]:
    options = bucket.settings.options
    match bucket.scheme:
        case "s3":
            client_options = {"s3.force-virtual-addressing": str(not bucket.is_path_style).lower()}
            if options.endpoint is not None:
                client_options["s3.endpoint"] = options.endpoint
            if options.region is not None or options.endpoint is not None:
                client_options["s3.region"] = options.region or _DEFAULT_REGION
            if key is not None:
                client_options |= {"s3.access-key-id": key.id, "s3.secret-access-key": key.secret}
            if key is not None and key.token is not None:
                client_options["s3.session-token"] = key.token
            return client_options
        case "gs":
            return {"gcs.service.host": options.endpoint} if options.endpoint is not None else {}
        case _:
            client_options = {"adls.account-name": bucket.account}
            if key is not None:
                client_options["adls.account-key"] = key.secret
            if options.endpoint is not None:
                endpoint = urlsplit(options.endpoint)
                for kind in ("blob", "dfs"):
                    client_options[f"adls.{kind}-storage-authority"] = endpoint.netloc
                    client_options[f"adls.{kind}-storage-scheme"] = endpoint.scheme
            return client_options


_HADOOP_CLIENTS = {"s3": "org.apache.hadoop.fs.s3a.S3AFileSystem"}
_HADOOP_SCHEMES = {"s3": "s3a"}


@dataclass(frozen=True, slots=True)
class _Access:
    """The scheme and the options under which Hadoop reaches a bucket."""

    bucket: Bucket
    key: AccessKey | None

    @property
    def hadoop_scheme(self) -> str:
        plain = _HADOOP_SCHEMES.get(self.bucket.scheme, self.bucket.scheme)
        if self.bucket.scheme not in _HADOOP_CLIENTS or not self._client_options:
            return plain
        described = json.dumps(sorted(self._client_options.items()))
        return f"{plain}-{hashlib.blake2b(described.encode(), digest_size=6).hexdigest()}"

    @property
    def hadoop_options(self) -> dict[str, str]:
        options = self._client_options
        if not options or self.bucket.scheme not in _HADOOP_CLIENTS:
            return options
        return {**options, f"fs.{self.hadoop_scheme}.impl": _HADOOP_CLIENTS[self.bucket.scheme]}

    @property
    def _client_options(self) -> dict[str, str]:
        match self.bucket.scheme:
            case "s3":
                return self._s3_options()
            case "gs":
                endpoint = self.bucket.settings.options.endpoint
                return {"fs.gs.storage.root.url": endpoint} if endpoint is not None else {}
            case _:
                host = self.bucket.address.partition("@")[2]
                return {f"fs.azure.account.key.{host}": self.key.secret} if self.key is not None else {}

    def _s3_options(self) -> dict[str, str]:
        options, key = self.bucket.settings.options, self.key
        client_options: dict[str, str] = {}
        if options.endpoint is not None:
            client_options["endpoint"] = options.endpoint
            client_options["connection.ssl.enabled"] = str(options.endpoint.startswith("https://")).lower()
        if options.region is not None or options.endpoint is not None:
            client_options["endpoint.region"] = options.region or _DEFAULT_REGION
        if self.bucket.is_path_style:
            client_options["path.style.access"] = "true"
        if key is not None:
            provider = "TemporaryAWSCredentialsProvider" if key.token else "SimpleAWSCredentialsProvider"
            client_options["aws.credentials.provider"] = f"org.apache.hadoop.fs.s3a.{provider}"
            client_options |= {"access.key": key.id, "secret.key": key.secret}
        if key is not None and key.token is not None:
            client_options["session.token"] = key.token
        return {f"fs.s3a.bucket.{self.bucket.name}.{name}": value for name, value in client_options.items()}
