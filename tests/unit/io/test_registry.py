"""Formats by name, and those whose packages are extras."""

import sys

import pytest

from daybook.errors import DaybookError
from daybook.io.registry import format_named


def test_a_format_whose_package_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("daybook.io.formats.iceberg")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    with pytest.raises(DaybookError) as caught:
        format_named.__wrapped__("iceberg")
    assert caught.value.code == "IO_061"
    assert (caught.value.parameters["package"], caught.value.parameters["extra"]) == ("pyiceberg", "iceberg")
