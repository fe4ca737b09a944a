"""Binding the server's socket, and what is said where it cannot be bound."""

from __future__ import annotations

import socket

import pytest

from picloud.actors.server import bind
from picloud.errors import AddressInUse, ServerError


def test_busy_port_is_named_with_what_to_do() -> None:
    taken = bind("127.0.0.1", 0)
    port = taken.getsockname()[1]
    with pytest.raises(AddressInUse) as caught:
        bind("127.0.0.1", port)
    assert str(caught.value) == (f"port {port} on 127.0.0.1 is in use by another process: choose another with --port")
    taken.close()
    bind("127.0.0.1", port).close()


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("no-such-host.invalid", 0, "unknown host 'no-such-host.invalid'"),
        ("a" * 300, 0, "unknown host"),
        ("203.0.113.7", 0, "this machine has no address 203.0.113.7"),
        ("127.0.0.1", 65536, "no port 65536"),
        ("127.0.0.1", -1, "no port -1"),
    ],
)
def test_address_that_cannot_be_bound_is_explained(host: str, port: int, said: str) -> None:
    with pytest.raises(ServerError, match=said) as caught:
        bind(host, port)
    assert "choose" in str(caught.value)


def test_localhost_and_ipv6_can_be_bound() -> None:
    with bind("localhost", 0) as sock:
        assert sock.family == socket.AF_INET
    if socket.has_ipv6:
        with bind("::1", 0) as sock:
            assert sock.family == socket.AF_INET6
