"""Channels: frames arrive whole and in order, in any pieces; nothing blocks; the end is told."""

import os
import selectors
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grain._src.transport.channel import Channel, ChannelClosed, channel_pair

FRAMES = st.lists(
    st.tuples(st.one_of(st.integers(), st.text(max_size=20)), st.sampled_from([0, 1, 100, 65_000, 70_000, 300_000])),
    max_size=8,
)


def two_channels() -> tuple[Channel, Channel]:
    ours, other = channel_pair()
    return ours, Channel(other)


def test_a_frame_carries_message_and_body() -> None:
    a, b = two_channels()
    a.send(("block", 3), b"body")
    frame = b.recv()
    assert frame == (("block", 3), b"body", ())
    a.close()
    b.close()


@given(FRAMES)
def test_frames_of_any_size_arrive_in_order(frames: list[tuple[object, int]]) -> None:
    a, b = two_channels()
    for i, (message, size) in enumerate(frames):
        a.send(message, bytes([i % 256]) * size)
    received = []
    while len(received) < len(frames):
        received += [(frame.message, bytes(frame.body)) for frame in b.receive_ready()]
        a.flush()
    assert received == [(message, bytes([i % 256]) * size) for i, (message, size) in enumerate(frames)]
    a.close()
    b.close()


@given(st.lists(st.integers(1, 50), min_size=1, max_size=200))
def test_a_frame_that_arrives_in_pieces_is_given_out_when_it_is_whole(cuts: list[int]) -> None:
    recorder, tap = channel_pair()
    recorder.send("first", b"x" * 100)
    recorder.send("second")
    stream = tap.recv(1 << 16)
    b, raw = channel_pair()
    messages = []
    position = 0
    for cut in [*cuts, len(stream)]:
        raw.sendall(stream[position : position + cut])
        position += cut
        messages += [frame.message for frame in b.receive_ready()]
        if position >= len(stream):
            break
    assert messages == ["first", "second"]
    for end in (recorder, tap, b, raw):
        end.close()


def test_sending_never_blocks_and_says_that_bytes_wait() -> None:
    a, b = two_channels()
    a.send("large", bytes(20 << 20))
    assert a.outgoing
    assert not a.flush()
    received = []
    while not received:
        received = b.receive_ready()
        a.flush()
    assert len(received[0].body) == 20 << 20
    assert not a.outgoing
    assert a.flush()
    a.close()
    b.close()


def test_two_ends_that_both_write_large_frames_finish() -> None:
    a, b = two_channels()
    size = 8 << 20

    def talk(channel: Channel, got: list[int]) -> None:
        for _ in range(3):
            channel.send("large", bytes(size))
            channel.drain(60)
        got += [len(channel.recv(60).body) for _ in range(3)]

    got_a: list[int] = []
    got_b: list[int] = []
    other = threading.Thread(target=talk, args=(b, got_b))
    other.start()
    talk(a, got_a)
    other.join()
    assert got_a == got_b == [size] * 3
    a.close()
    b.close()


def test_receiving_writes_what_is_queued() -> None:
    a, b = two_channels()
    a.send("question", bytes(5 << 20))
    assert a.outgoing

    def answer() -> None:
        b.send(len(b.recv(60).body))

    other = threading.Thread(target=answer)
    other.start()
    assert a.recv(60).message == 5 << 20
    other.join()
    a.close()
    b.close()


def test_a_selector_waits_for_many_channels() -> None:
    pairs = [two_channels() for _ in range(4)]
    selector = selectors.DefaultSelector()
    for i, (ours, _) in enumerate(pairs):
        selector.register(ours, selectors.EVENT_READ, i)
    pairs[2][1].send("from the third")
    ready = selector.select(10)
    assert [key.data for key, _ in ready] == [2]
    assert [frame.message for frame in pairs[2][0].receive_ready()] == ["from the third"]
    assert selector.select(0) == []
    selector.close()
    for ours, other in pairs:
        ours.close()
        other.close()


def test_descriptors_arrive_with_their_frame() -> None:
    a, b = two_channels()
    ends = [os.pipe() for _ in range(3)]
    a.send("none")
    a.send("one", b"x", [ends[0][1]])
    a.send("two", b"", [ends[1][1], ends[2][1]])
    a.send("none again")
    frames = [b.recv(10) for _ in range(4)]
    assert [len(frame.fds) for frame in frames] == [0, 1, 2, 0]
    for fd, (reader, writer) in zip([fd for frame in frames for fd in frame.fds], ends, strict=True):
        os.close(writer)
        assert not os.get_inheritable(fd)
        os.write(fd, b"hello")
        os.close(fd)
        assert os.read(reader, 10) == b"hello"
        os.close(reader)
    a.close()
    b.close()


def test_descriptors_behind_a_frame_that_waits_arrive_with_their_own() -> None:
    a, b = two_channels()
    reader, writer = os.pipe()
    a.send("large", bytes(5 << 20))
    for number in range(3):
        a.send(number, b"", [writer])
    frames = []
    while len(frames) < 4:
        frames += b.receive_ready()
        a.flush()
    assert [len(frame.fds) for frame in frames] == [0, 1, 1, 1]
    for fd in (reader, writer, *(fd for frame in frames for fd in frame.fds)):
        os.close(fd)
    a.close()
    b.close()


def test_descriptors_that_nobody_takes_are_closed_with_the_channel() -> None:
    a, b = two_channels()
    reader, writer = os.pipe()
    a.send("with a descriptor", b"", [writer])
    a.send("wakes the reader")
    b._read()
    os.close(writer)
    b.close()
    assert os.read(reader, 1) == b""
    os.close(reader)
    a.close()


def test_the_end_comes_after_the_last_frame() -> None:
    a, b = two_channels()
    a.send("last words")
    a.close()
    assert [frame.message for frame in b.receive_ready()] == ["last words"]
    with pytest.raises(ChannelClosed, match="gone"):
        b.receive_ready()
    with pytest.raises(ChannelClosed, match="gone"):
        b.recv()
    b.close()


def test_what_was_sent_before_an_end_can_be_received_after_a_failed_send() -> None:
    a, b = two_channels()
    a.send("last words")
    a.close()
    with pytest.raises(ChannelClosed):
        b.send("nobody reads this")
    assert b.recv().message == "last words"
    b.close()


def test_an_end_in_the_middle_of_a_frame_says_so() -> None:
    a, raw = channel_pair()
    raw.sendall(b"\x01\x02\x03")
    raw.close()
    with pytest.raises(ChannelClosed, match="middle of a frame"):
        a.recv()
    a.close()


def test_a_deadline_ends_the_wait() -> None:
    a, b = two_channels()
    with pytest.raises(TimeoutError):
        a.recv(0.01)
    a.send("too large to go", bytes(20 << 20))
    with pytest.raises(TimeoutError):
        a.drain(0.01)
    a.close()
    b.close()


def test_a_closed_channel_says_that_it_is_closed() -> None:
    a, b = two_channels()
    a.close()
    a.close()
    assert a.closed
    assert a.fileno() == -1
    with pytest.raises(ChannelClosed, match="closed"):
        a.recv()
    with pytest.raises(ChannelClosed):
        a.send("x")
    b.close()


def test_too_many_descriptors_are_refused() -> None:
    a, b = two_channels()
    with pytest.raises(ValueError, match="at most 64 descriptors, got 65"):
        a.send("x", b"", [0] * 65)
    a.close()
    b.close()


def test_a_channel_is_made_of_a_socket_by_number() -> None:
    a, other = channel_pair()
    b = Channel(socket.socket(fileno=other.detach()))
    b.send("hello")
    assert a.recv().message == "hello"
    a.close()
    b.close()
