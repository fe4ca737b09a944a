"""picloud.cli.client: every way in which a node can fail to answer is one clear error."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
from cli_probes import TOKEN, Request, ScriptedNode, run_cli, scripted_node

from picloud.cli.client import Client, path
from picloud.cli.credentials import Credentials
from picloud.errors import NodeRefused, NodeUnreachable, Unauthorized


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    with scripted_node() as node:
        yield node


@pytest.fixture
def client(node: ScriptedNode) -> Iterator[Client]:
    with Client(Credentials(node.url, TOKEN)) as client:
        yield client


def test_the_token_goes_along_and_the_body_is_json(node: ScriptedNode, client: Client) -> None:
    node.answers["POST /apps"] = (201, {"name": "shop"})
    assert client.post("/apps", {"name": "shop"}) == {"name": "shop"}
    assert node.requests == [Request("POST", "/apps", {}, {"name": "shop"}, f"Bearer {TOKEN}")]


def test_what_goes_into_a_path_is_quoted() -> None:
    assert path("apps", "a/b", "queues", "ä ?") == "/apps/a%2Fb/queues/%C3%A4%20%3F"


def test_a_list_is_read_to_its_end(node: ScriptedNode, client: Client) -> None:
    def page(request: Request) -> tuple[int, object]:
        cursor = request.query.get("cursor")
        assert request.query["queue_name"] == ["orders"]
        return 200, {"items": [{"n": 2}], "next_cursor": None} if cursor else {"items": [{"n": 1}], "next_cursor": "c"}

    node.answers["GET /list"] = page
    assert list(client.items("/list", queue_name="orders", other=None)) == [{"n": 1}, {"n": 2}]


def test_a_node_that_is_not_there(unused_port: int) -> None:
    url = f"http://127.0.0.1:{unused_port}"
    expected = rf"cannot reach {url}: is `picloud up` running\?"
    with Client(Credentials(url, TOKEN)) as client, pytest.raises(NodeUnreachable, match=expected) as caught:
        client.get("/apps")
    assert not caught.value.maybe_done


def test_a_connection_that_breaks_leaves_the_outcome_open(node: ScriptedNode, client: Client) -> None:
    node.answers["POST /apps"] = (0, None)
    with pytest.raises(NodeUnreachable, match=r"the connection to .* broke") as caught:
        client.post("/apps", {})
    assert caught.value.maybe_done


def test_an_unknown_token_is_told_how_to_get_one(node: ScriptedNode, client: Client) -> None:
    node.answers["GET /apps"] = (401, {"detail": "no", "code": "unauthorized"})
    with pytest.raises(Unauthorized, match="does not know this token: a token comes from `picloud token create NAME`"):
        client.get("/apps")


def test_a_problem_document_shows_its_detail_and_its_errors(node: ScriptedNode, client: Client) -> None:
    errors = [
        {"detail": "no such name 'x'", "pointer": "/scripts/triage", "line": 3, "column": 5},
        {"detail": "must be a number", "parameter": "limit"},
        {"detail": "said above"},
    ]
    problem = {"status": 422, "code": "invalid_fields", "detail": "two faults; said above", "errors": errors}
    node.answers["GET /apps"] = (422, problem)
    with pytest.raises(NodeRefused) as caught:
        client.get("/apps")
    assert str(caught.value).splitlines() == [
        "two faults; said above",
        "  /scripts/triage, line 3, column 5: no such name 'x'",
        "  limit: must be a number",
    ]
    assert caught.value.problem == problem


@pytest.mark.parametrize("answer", [(200, b"<html>"), (502, b"<html>"), (500, {"error": "x"})])
def test_something_else_at_that_address_is_recognised(
    node: ScriptedNode, client: Client, answer: tuple[int, object]
) -> None:
    node.answers["GET /apps"] = answer
    with pytest.raises(NodeRefused, match=f"answered {answer[0]} with .*: is it a picloud node"):
        client.get("/apps")


def test_json_errors_carry_what_the_problem_document_says(node: ScriptedNode) -> None:
    problem = {"type": "urn:x", "status": 409, "code": "conflict", "detail": "taken", "instance": "/api/v1/apps"}
    node.answers["GET /apps"] = (409, problem)
    ran = run_cli("apps", "--json", *node.options())
    assert (ran.code, ran.out) == (1, "")
    assert json.loads(ran.err) == {"code": "conflict", "detail": "taken", "status": 409, "instance": "/api/v1/apps"}


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
