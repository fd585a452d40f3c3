"""JSON lines: which lines count, and what is said of those that are not JSON."""

import gzip
import json
from pathlib import Path

import pytest

from grain import sources


def read(path: Path, data: bytes) -> list[object]:
    path.write_bytes(data)
    source = sources.JsonLinesDataSource(path)
    values = [source[index] for index in range(len(source))]
    assert source.__getitems__(range(len(source))) == list(source) == values
    assert source.__getitems__(range(len(source))[::-1]) == values[::-1]
    return values


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"", []),
        (b"\n", []),
        (b"\n\n \t\n\r\n", []),
        (b"1", [1]),
        (b"1\n", [1]),
        (b"1\n2", [1, 2]),
        (b"\n1\n\n\n2\n\n", [1, 2]),
        (b"1\r\n2\r\n", [1, 2]),
        (b"  1 \n\t[2] \n", [1, [2]]),
        (b'\xef\xbb\xbf{"a": 1}\n', [{"a": 1}]),
        ('"ü\u2028\u0085"\n"b"\n'.encode(), ["ü\u2028\u0085", "b"]),
        (b'""\n{}\n[]\n', ["", {}, []]),
    ],
)
def test_each_line_that_is_not_empty_is_a_value(tmp_path: Path, data: bytes, values: list[object]) -> None:
    assert read(tmp_path / "data.jsonl", data) == values


@pytest.mark.parametrize(
    "line", [b"{", b"1 2", b"1,2", b'{"a": 1} x', b"\xff", b"nul", b'"open', b"[" * 100_000, b"'a'"]
)
def test_a_line_that_is_not_json_is_an_error_with_its_place(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"a": 1}\n' + line + b"\n3\n")
    source = sources.JsonLinesDataSource(path)
    assert [source[0], source[2]] == [{"a": 1}, 3]
    for read in (lambda: source[1], lambda: source.__getitems__([0, 1]), lambda: source.__getitems__([2, 1])):
        with pytest.raises(sources.SourceError, match=r"data\.jsonl.*the line at byte 9: "):
            read()


def test_values_before_a_bad_line_are_handed_out_first(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"1\n2\n3\nbad\n")
    seen = []
    with pytest.raises(sources.SourceError, match="byte 6"):
        for value in sources.JsonLinesDataSource(path):
            seen.append(value)
    assert seen == [1, 2, 3]


def test_lines_that_would_join_to_json_do_not(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"[1\n2]\n3,4\n")
    source = sources.JsonLinesDataSource(path)
    with pytest.raises(sources.SourceError, match="byte 0"):
        source.__getitems__([0, 1, 2])


def test_a_value_of_fifty_megabytes(tmp_path: Path) -> None:
    large = {"text": "x" * 50_000_000}
    path = tmp_path / "large.jsonl"
    path.write_text(json.dumps(large) + '\n""\n')
    source = sources.JsonLinesDataSource(path)
    assert source[0] == large
    assert source.__getitems__([1, 0]) == ["", large]


def test_a_compressed_file_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"1\n2\n"))
    with pytest.raises(sources.SourceError, match="compressed"):
        len(sources.JsonLinesDataSource(tmp_path / "a.jsonl.gz"))


def test_the_index_follows_a_file_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "grows.jsonl"
    path.write_bytes(b"1234567\n" * 150_000)
    assert len(sources.JsonLinesDataSource(path)) == 150_000
    assert len(sources.JsonLinesDataSource(path)) == 150_000
    with path.open("ab") as file:
        file.write(b"5\n")
    assert sources.JsonLinesDataSource(path)[150_000] == 5
