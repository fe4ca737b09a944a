"""Patterns of routes, and which of them a path belongs to."""

from __future__ import annotations

import pytest

from picloud.errors import InvalidInput
from picloud.routes import RouteTable, parse_pattern


def table(*routes: str) -> RouteTable[str]:
    made: RouteTable[str] = RouteTable()
    for route in routes:
        method, _, path = route.partition(" ")
        made.add(method, parse_pattern(path), route)
    return made


def found(routes: RouteTable[str], path: str, method: str = "GET") -> tuple[str, dict[str, str]] | None:
    for match in routes.find(path):
        if method in match.routes:
            target, pattern = match.routes[method]
            return target, match.params(pattern)
    return None


@pytest.mark.parametrize(
    ("path", "target", "params"),
    [
        ("/", "GET /", {}),
        ("/orders", "GET /orders", {}),
        ("/orders/new", "GET /orders/new", {}),
        ("/orders/17", "GET /orders/:id", {"id": "17"}),
        ("/orders/17/items", "GET /orders/:id/items", {"id": "17"}),
        ("/orders/new/items", "GET /orders/:id/items", {"id": "new"}),
        ("/files/a", "GET /files/*path", {"path": "a"}),
        ("/files/a/b/c", "GET /files/*path", {"path": "a/b/c"}),
    ],
)
def test_exact_comes_before_parameter_before_rest(path: str, target: str, params: dict[str, str]) -> None:
    routes = table(
        "GET /files/*path",
        "GET /orders/:id",
        "GET /orders/:id/items",
        "GET /orders/new",
        "GET /orders",
        "GET /",
    )
    assert found(routes, path) == (target, params)


@pytest.mark.parametrize("path", ["/none", "/orders/", "/orders//items", "/Orders", "/orders/17/", "/files"])
def test_what_matches_nothing_is_not_found(path: str) -> None:
    assert found(table("GET /orders/:id", "GET /orders/:id/items", "GET /files/*path"), path) is None


def test_less_exact_route_answers_the_method_that_the_exact_one_does_not_take() -> None:
    routes = table("GET /orders/new", "POST /orders/:id")
    assert found(routes, "/orders/new", "POST") == ("POST /orders/:id", {"id": "new"})
    assert found(routes, "/orders/new", "PUT") is None


def test_each_method_names_the_parameters_its_own_way() -> None:
    routes = table("GET /a/:id", "POST /a/:key")
    assert found(routes, "/a/1") == ("GET /a/:id", {"id": "1"})
    assert found(routes, "/a/1", "POST") == ("POST /a/:key", {"key": "1"})
    assert parse_pattern("/a/:id").key == parse_pattern("/a/:key").key != parse_pattern("/a/*id").key


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("orders", "must begin with '/'"),
        ("/a//b", "is empty"),
        ("/a/", "is empty"),
        ("/a b", "has a character no path has"),
        ("/a?b", "has a character no path has"),
        ("/:", "needs a name of its own"),
        ("/:1", "needs a name of its own"),
        ("/:a/:a", "needs a name of its own"),
        ("/*a/b", "must be the last segment"),
        ("/" + "a" * 500, "500 characters at most"),
    ],
)
def test_path_that_cannot_be_a_route_is_refused(path: str, fault: str) -> None:
    with pytest.raises(InvalidInput, match="route: ") as refused:
        parse_pattern(path)
    assert fault in str(refused.value)
