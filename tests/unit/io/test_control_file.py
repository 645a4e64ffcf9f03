"""What a control file says, and how it is compared."""

from decimal import Decimal
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.control_file import ControlFigures, read_control_file


def read(folder: Path, content: bytes) -> ControlFigures:
    path = folder / "control.csv"
    path.write_bytes(content)
    return read_control_file(str(path), {"amount", "net"})


@pytest.mark.parametrize(
    "content",
    [
        b"rows,total_amount\n1203,10452.17\n",
        b"\xef\xbb\xbfrows;total_amount\r\n1203;10452.17\r\n\r\n",
        b" total_amount , rows \n 10452.17 , 1203\n",
        b"rows,total_amount\r1203,10452.17\r",
        b'"rows","total_amount"\n"1203.0","+1.045217e4"\n',
    ],
)
def test_a_control_file_has_one_row(tmp_path: Path, content: bytes) -> None:
    figures = read(tmp_path, content)
    assert (figures.rows, figures.totals) == (1203, {"amount": Decimal("10452.17")})


def test_it_may_say_less(tmp_path: Path) -> None:
    assert read(tmp_path, b"rows\n3\n").totals == {}
    assert read(tmp_path, b"total_net\n-3.5\n").rows is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"rows,total_amount\n",
        b"rows\n1\n2\n",
        b"rows,total_amount\n1\n",
        b"rows,rows\n1,2\n",
        b"rows,amount\n1,2\n",
        b"rows,total_other\n1,2\n",
        b"rows,total_amount\n1,many\n",
        b"rows,total_amount\n1,\n",
        b"rows\n-1\n",
        b"rows\n1.5\n",
        b"rows\nNaN\n",
        # Python reads these as numbers, and a sender may mean others.
        b"rows\n1.000\n",
        b"rows\n1_000\n",
        b"rows,total_amount\n1,10_452.17\n",
        "rows,total_amount\n1,\u0662\u0662\u0660\n".encode(),
        b"rows,total_amount\n1,1e400000000\n",
        b'rows,total_amount\n1,"10,452.17"\n',
        b'rows,total_amount\n1,"10452,17"\n',
        b"rows;total_amount\n1;10.452,17\n",
        b"rows,total_amount\n1,10 452.17\n",
        b"rows,total_amount\n1,10452.17-\n",
        b'rows,total_amount\n1,"10452.17\n',
        b"\xff\xfe\x00",
    ],
)
def test_anything_else_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DaybookError) as raised:
        read(tmp_path, content)
    assert raised.value.code == "TOTALS_012"


def test_a_zero_has_no_sign(tmp_path: Path) -> None:
    assert str(read(tmp_path, b"total_net\n-0.00\n").totals["net"]) == "0.00"
