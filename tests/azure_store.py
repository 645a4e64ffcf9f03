"""A real server of Azure's blob storage for tests, Azurite on loopback, with a fresh container for each test."""

import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from daybook.io.storage import Storage
from daybook.model.datasource import StorageSettings
from tests.object_store import free_ports

_PROGRAM = Path(__file__).parents[1] / "build/azurite/node_modules/.bin/azurite-blob"
_SECONDS = 60
ACCOUNT = "closeaccount"
SECRET = "b25seS1mb3ItdGVzdHM="
ACCOUNT_VARIABLE = "DAYBOOK_TEST_AZURE_KEY"


def azurite_program() -> Path | None:
    """The emulator, where `tools/azurite` has fetched it."""
    return _PROGRAM if _PROGRAM.exists() and shutil.which("node") else None


@dataclass(frozen=True, slots=True)
class Container:
    """A container and how it is reached; the key is in the variable ACCOUNT_VARIABLE."""

    name: str
    endpoint: str

    @property
    def uri(self) -> str:
        return f"abfss://{self.name}@{ACCOUNT}.dfs.core.windows.net"

    @property
    def storage(self) -> Storage:
        settings = {"options": {"endpoint": self.endpoint}, "credential_ref": f"env://{ACCOUNT_VARIABLE}"}
        return Storage(Path(), {self.uri: StorageSettings.model_validate(settings)})


@dataclass(frozen=True, slots=True)
class AzureStore:
    endpoint: str
    process: "subprocess.Popen[bytes]"
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def new_container(self) -> Container:
        container = Container(f"test-{next(self._numbers)}", self.endpoint)
        container.storage.arrow_path(container.uri).system.create_dir(container.name)
        return container


@contextmanager
def running_azure_store() -> Iterator[AzureStore]:
    """A server that ends with the block, or with this process."""
    program = azurite_program()
    if program is None:
        raise RuntimeError("Azurite is not installed")
    folder = Path(tempfile.mkdtemp(prefix="daybook-azurite-"))
    (port,) = free_ports(1)
    command = [
        str(program),
        "--blobPort",
        str(port),
        "--location",
        str(folder),
        "--skipApiVersionCheck",
        "--disableTelemetry",
    ]
    environment = {**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{SECRET}"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment)
    store = AzureStore(f"http://127.0.0.1:{port}", process)
    try:
        _wait_until_it_writes(store, folder / "log")
        yield store
    finally:
        process.kill()
        process.wait(_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_it_writes(store: AzureStore, log: Path) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        with suppress(OSError):
            store.new_container()
            return
        if store.process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(log.read_text(errors="replace")[-4000:])
