"""picloud.cli.credentials: the file between `picloud up` and the other commands."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from picloud.cli.credentials import Credentials, find_credentials, read_credentials, save_credentials
from picloud.errors import InvalidSetting, NodeUnreachable, Unauthorized

URL = "http://127.0.0.1:8080"


def test_the_file_is_for_its_owner_only_even_where_it_was_not(tmp_path: Path) -> None:
    path = tmp_path / "client.json"
    path.write_text("{}")
    path.chmod(0o644)
    save_credentials(tmp_path, url=URL, token="pc_1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text()) == {"url": URL, "token": "pc_1"}
    assert os.listdir(tmp_path) == ["client.json"]


def test_a_later_start_has_a_new_address_and_keeps_the_token(tmp_path: Path) -> None:
    save_credentials(tmp_path / "new", url=URL, token="pc_1")
    save_credentials(tmp_path / "new", url="http://127.0.0.1:9", token=None)
    assert read_credentials(tmp_path / "new") == Credentials("http://127.0.0.1:9", "pc_1")


def test_a_damaged_file_is_replaced_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "client.json").write_text('{"url": 3')
    save_credentials(tmp_path, url=URL, token=None)
    assert read_credentials(tmp_path) == Credentials(URL, None)


def test_without_a_file_the_error_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(NodeUnreachable, match=r"no node is known in .*: start one with `picloud up`"):
        find_credentials(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"url": 1}', '{"url": "", "token": "x"}', '{"url": "u", "token": 3}']
)
def test_a_damaged_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "client.json").write_text(content)
    with pytest.raises(InvalidSetting, match=r"client\.json is damaged: delete it"):
        find_credentials(tmp_path)


def test_what_is_given_wins_over_the_file(tmp_path: Path) -> None:
    save_credentials(tmp_path, url=URL, token="pc_1")
    assert find_credentials(tmp_path, token="pc_2") == Credentials(URL, "pc_2")
    assert find_credentials(tmp_path, url="https://cloud.example/", token="pc_2") == Credentials(
        "https://cloud.example", "pc_2"
    )
    assert find_credentials(tmp_path, url=URL + "/") == Credentials(URL, "pc_1")


def test_the_stored_token_is_not_sent_to_another_node(tmp_path: Path) -> None:
    save_credentials(tmp_path, url=URL, token="pc_1")
    with pytest.raises(Unauthorized, match=r"no token for https://elsewhere\.example: a token comes from"):
        find_credentials(tmp_path, url="https://elsewhere.example")


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://host", "http://", "http://host:99999", "http://[::1", "x"])
def test_an_address_of_the_wrong_form_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidSetting, match=r"--url: cannot use .* write it like http://"):
        find_credentials(tmp_path, url=url, token="pc_1")


@pytest.mark.parametrize("token", ["", "  ", "pc_\nx", "pc_é"])
def test_a_token_that_no_header_carries_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(InvalidSetting, match="--token: not a token"):
        find_credentials(tmp_path, url=URL, token=token)
