"""tf.train.Example is read and written as protocol buffers have it."""

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grain._src.conformance.equality import same
from grain.sources import SourceError, decode_example, encode_example


def feature(name: str, body: bytes) -> bytes:
    entry = b"\x0a" + bytes([len(name)]) + name.encode() + b"\x12" + bytes([len(body)]) + body
    return b"\x0a" + bytes([len(entry)]) + entry


def example(*features: bytes) -> bytes:
    body = b"".join(features)
    return b"\x0a" + bytes([len(body)]) + body


PACKED_INTEGERS = b"\x1a\x0f\x0a\x0d\x01\xac\x02" + b"\xff" * 9 + b"\x01"
SINGLE_INTEGERS = b"\x1a\x10\x08\x01\x08\xac\x02\x08" + b"\xff" * 9 + b"\x01"


@pytest.mark.parametrize("body", [PACKED_INTEGERS, SINGLE_INTEGERS])
def test_integers_packed_and_one_by_one(body: bytes) -> None:
    assert same(decode_example(example(feature("a", body))), {"a": np.array([1, 300, -1])})


def test_bytes_and_floats() -> None:
    record = example(feature("b", b"\x0a\x06\x0a\x02xy\x0a\x00"), feature("f", b"\x12\x06\x0a\x04\x00\x00\xc0\x3f"))
    assert same(decode_example(record), {"b": [b"xy", b""], "f": np.array([1.5], np.float32)})


def test_floats_one_by_one() -> None:
    record = example(feature("f", b"\x12\x0a\x0d\x00\x00\xc0\x3f\x0d\x00\x00\x00\x40"))
    assert same(decode_example(record), {"f": np.array([1.5, 2.0], np.float32)})


def test_empty_features_and_an_empty_example() -> None:
    record = example(feature("i", b"\x1a\x00"), feature("f", b"\x12\x00"), feature("b", b"\x0a\x00"), feature("n", b""))
    expected = {"i": np.empty(0, np.int64), "f": np.empty(0, np.float32), "b": [], "n": []}
    assert same(decode_example(record), expected)
    assert decode_example(b"") == {}


def test_unknown_fields_are_passed_over() -> None:
    unknown = b"\x18\x05" + b"\x21" + bytes(8) + b"\x2d" + bytes(4) + b"\x32\x01x"
    assert same(decode_example(unknown + example(feature("a", PACKED_INTEGERS))), {"a": np.array([1, 300, -1])})


@pytest.fixture(scope="module")
def example_class() -> Any:
    """The Example message as the official protocol buffers build it from its definition."""
    pb = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory

    file = pb.FileDescriptorProto(name="example.proto", package="t", syntax="proto3")
    kinds = pb.FieldDescriptorProto
    repeated, optional, message = kinds.LABEL_REPEATED, kinds.LABEL_OPTIONAL, kinds.TYPE_MESSAGE
    lists = {"BytesList": kinds.TYPE_BYTES, "FloatList": kinds.TYPE_FLOAT, "Int64List": kinds.TYPE_INT64}
    kind = file.message_type.add(name="Feature")
    kind.oneof_decl.add(name="kind")
    for number, (name, item) in enumerate(lists.items(), 1):
        file.message_type.add(name=name).field.add(name="value", number=1, label=repeated, type=item)
        kind.field.add(
            name=name.lower(), number=number, label=optional, type=message, type_name=f".t.{name}", oneof_index=0
        )
    features = file.message_type.add(name="Features")
    features.field.add(name="feature", number=1, label=repeated, type=message, type_name=".t.Features.FeatureEntry")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=optional, type=kinds.TYPE_STRING)
    entry.field.add(name="value", number=2, label=optional, type=message, type_name=".t.Feature")
    whole = file.message_type.add(name="Example")
    whole.field.add(name="features", number=1, label=optional, type=message, type_name=".t.Features")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Example"))


def test_official_protocol_buffers_read_what_is_written(example_class: Any) -> None:
    message = example_class.FromString(encode_example({"a": [1, -1], "b": [b"x", b""], "f": [0.5, -2.0]}))
    found = message.features.feature
    assert list(found["a"].int64list.value) == [1, -1]
    assert list(found["b"].byteslist.value) == [b"x", b""]
    assert list(found["f"].floatlist.value) == [0.5, -2.0]


def test_what_official_protocol_buffers_write_is_read(example_class: Any) -> None:
    message = example_class()
    numbers = [0, 1, -1, 127, 128, 2**63 - 1, -(2**63)]
    message.features.feature["a"].int64list.value.extend(numbers)
    message.features.feature["b"].byteslist.value.extend([b"", b"yes"])
    message.features.feature["f"].floatlist.value.extend([1.5, -0.25])
    decoded = decode_example(message.SerializeToString())
    expected = {"a": np.array(numbers), "b": [b"", b"yes"], "f": np.array([1.5, -0.25], np.float32)}
    assert same(dict(sorted(decoded.items())), expected)


values = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1).map(lambda numbers: np.array(numbers, np.int64)),
    st.lists(st.floats(width=32), min_size=1).map(lambda numbers: np.array(numbers, np.float32)),
    st.lists(st.binary(max_size=300), min_size=1),
)


@given(st.dictionaries(st.text(max_size=20), values, max_size=5))
def test_what_is_encoded_is_decoded(features: dict[str, object]) -> None:
    assert same(decode_example(encode_example(features)), dict(sorted(features.items())))


def test_strings_scalars_and_bools_are_encoded() -> None:
    decoded = decode_example(encode_example({"s": "text", "i": 7, "b": [True, False], "f": 0.5}))
    assert same(decoded["s"], [b"text"])
    assert same(decoded["i"], np.array([7]))
    assert same(decoded["b"], np.array([1, 0]))
    assert same(decoded["f"], np.array([0.5], np.float32))


def test_what_cannot_be_a_feature_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="feature 'z' must hold"):
        encode_example({"z": [1j]})


@given(st.binary(max_size=200))
def test_foreign_bytes_are_an_error_or_a_dict(data: bytes) -> None:
    with contextlib.suppress(SourceError):
        assert isinstance(decode_example(data), dict)
