"""Tables: what is a number, what is a name, and rows that a stray quote or comma spoils."""

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbora.errors import ReadError
from arbora.io.tables import read_table


def table(folder, text, **options):
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return read_table(path, **options)


ODD = ["1_1", "\u0661\u0662", "\uff11", "1_000.5", "0x10", "1e", "--1", "1.2.3", "\u00b2", "1 2", "1e5_0", "5\u00a0"]
PLAIN = ["1", "-1", "+1", "1.", ".5", "1e5", "1E-5", " 7\t", "007", "-.5e+3", "1" * 400 + "e-399"]


@pytest.mark.parametrize("cell", ODD)
def test_what_python_takes_for_a_number_is_not_always_one(tmp_path, cell):
    with pytest.raises(ReadError, match=r"t\.csv, line 3, column 'b': .* wanted a number"):
        table(tmp_path, f"a,b\n1,2\n3,{cell}\n")
    found = table(tmp_path, f"id,b\n{cell},2\n{cell},4\n")
    assert found.names == [cell, cell]
    assert found.columns == ["b"]


@pytest.mark.parametrize("cell", PLAIN)
def test_plain_numbers_are_numbers(tmp_path, cell):
    assert table(tmp_path, f"a,b\n{cell},2\n3,{cell}\n").X.tolist() == [[float(cell), 2.0], [3.0, float(cell)]]


def test_ids_that_look_like_numbers_are_names_where_one_does_not(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        found = table(tmp_path, "id,x\n1e5,1\n2e7,2\n12ab,3\n")
    assert found.names == ["1e5", "2e7", "12ab"]
    assert found.X.tolist() == [[1.0], [2.0], [3.0]]
    assert "the column 'id' is taken for names of rows, since '12ab' in line 4 is no number" in caplog.text
    assert table(tmp_path, "id,x\n1e5,1\n2e7,2\n").X.tolist() == [[1e5, 1.0], [2e7, 2.0]]


@pytest.mark.parametrize("word", ["nan", "NA", "inf", "-Infinity", "", "null"])
def test_a_number_that_is_not_there_is_told(tmp_path, word):
    """It is neither a header in the first line nor a name in the first column."""
    with pytest.raises(ReadError, match=r"t\.csv, line 1, column '2'"):
        table(tmp_path, f"1,{word}\n3,4\n")
    with pytest.raises(ReadError, match=r"t\.csv, line 3, column 'a'"):
        table(tmp_path, f"a,b\n1,2\n{word},4\n")
    with pytest.raises(ReadError, match="wanted a finite number"):
        table(tmp_path, "a,b\n1,2\n3,1e999\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('n,x\n"a,1\nb,2\nc",3\nd,4\n', r"line 2: a quoted cell continues to line 4"),
        ('n,x\na,1\n"b,2\nc,3\nd,4\n', r"line 3: not a row of a table \(unexpected end of data\); close the quote"),
        ('n,x\na,1\n"b"x,2\nc,3\n', r"line 3: not a row of a table"),
        ('n,x\n"a,1\nb,2\n"c,3\n', r"line 2: not a row of a table"),
        ("n,x\na,1\nb,2,3\n", r"line 3: 3 cells; wanted 2"),
        ("n,x\na,1\nb\n", r"line 3: 1 cells; wanted 2"),
        ('"n\nm",x\na,1\n', r"line 1: a quoted cell continues to line 2"),
    ],
)
def test_rows_that_a_quote_or_comma_spoils_are_told_with_their_line(tmp_path, text, told):
    with pytest.raises(ReadError, match=told):
        table(tmp_path, text)


@pytest.mark.parametrize("text", ["a;b\n1,5;2\n-3,25;4\n", "1,5;2;3\n2;3;4\n", "a;b\n,5;2\n1,5e3;4\n"])
def test_decimal_commas_are_not_names(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(ReadError, match=r"line \d, column '.': '[,15]*' has a decimal comma, wanted a point"):
        read_table(path)
    assert read_table(path, names="1").names[0] in ("1,5", ",5")


def test_quotes_in_order_are_read(tmp_path):
    found = table(tmp_path, 'n,x\n"a,b",1\n"say ""x""",2\nit"s,3\n')
    assert found.names == ["a,b", 'say "x"', 'it"s']


@given(
    rows=st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53)), min_size=1)
)
def test_numbers_come_back_as_they_are_written(tmp_path_factory, rows):
    text = "".join(f"{x!r},{n}\n" for x, n in rows)
    found = table(tmp_path_factory.mktemp("t"), text, header=False).X
    assert np.array_equal(found, np.array(rows, float))


@given(text=st.text(alphabet='01ae"",;.\n\r _-\u0661', max_size=60))
def test_no_row_is_lost(tmp_path_factory, text):
    """A table that is read has as many rows as lines that hold something, less the header."""
    try:
        found = table(tmp_path_factory.mktemp("t"), text, names="1", header=False)
    except ReadError:
        return
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert len(found.X) <= len(lines)
    assert len(found.X) >= sum(any(c in "0123456789" for c in line) for line in lines)
