"""picloud.cli: how a command line starts and ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from cli_probes import run_cli

from picloud.cli.commands import SECTIONS, root
from picloud.cli.entry import NodeOptions
from picloud.config import Settings
from picloud.errors import AddressInUse

COMMANDS = {name: place for places in SECTIONS.values() for name, place in places.items()}


def test_help_lists_every_command_with_its_purpose() -> None:
    ran = run_cli("--help")
    assert ran.code == 0
    for name, place in COMMANDS.items():
        assert f"  {name} " in ran.out
        assert place.summary in " ".join(ran.out.split())


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys, contextlib\n"
        "from picloud import cli\n"
        "from picloud.cli.entry import Entrypoints\n"
        "with contextlib.suppress(SystemExit): cli.main(Entrypoints(run_node=None), ['--help'])\n"
        "heavy = {'rich', 'httpx', 'psycopg', 'quart', 'hypercorn', 'pydantic', 'trio', 'RestrictedPython', 'regex'}\n"
        "print('heavy:', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    context = click.Context(root)
    command = root.get_command(context, name)
    assert command is not None
    assert command.name == name
    ran = run_cli(name, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: picloud {name} ")


GROUPS = {"db", "token", "dead", "messages", "queues", "secrets", "cron"}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in GROUPS])
def test_every_command_can_print_json(name: str) -> None:
    assert "--json" in run_cli(name, "--help").out


def test_an_unknown_command_is_answered_with_the_closest_one() -> None:
    ran = run_cli("quues")
    assert (ran.code, ran.out) == (2, "")
    assert "Error: no command 'quues' (did you mean 'queues'?)" in ran.err


def test_a_usage_error_in_json() -> None:
    ran = run_cli("send", "shop", "--json")
    assert ran.code == 2
    assert json.loads(ran.err) == {"code": "usage", "detail": "Missing argument 'QUEUE'."}


def failing(error: BaseException) -> object:
    def run_node(settings: Settings, options: NodeOptions) -> int:
        raise error

    return run_node


def up(tmp_path: Path, error: BaseException, *before: str, json_too: bool = False) -> tuple[int, str, str]:
    more = ["--json"] if json_too else []
    ran = run_cli(*before, "up", "--data-dir", str(tmp_path), *more, run_node=failing(error))  # type: ignore[arg-type]
    return ran.code, ran.out, ran.err


def test_an_error_of_ours_is_one_line_on_stderr(tmp_path: Path) -> None:
    assert up(tmp_path, AddressInUse("port 8080 is in use")) == (1, "", "Error: port 8080 is in use\n")


def test_an_error_of_ours_in_json_has_its_code(tmp_path: Path) -> None:
    code, out, err = up(tmp_path, AddressInUse("port 8080 is in use"), json_too=True)
    assert (code, out, json.loads(err)) == (1, "", {"code": "address_in_use", "detail": "port 8080 is in use"})


def test_an_error_of_ours_is_found_inside_groups(tmp_path: Path) -> None:
    group = ExceptionGroup("outer", [ExceptionGroup("inner", [AddressInUse("port 8080 is in use")])])
    assert up(tmp_path, group) == (1, "", "Error: port 8080 is in use\n")


def test_a_bug_shows_no_traceback_unless_asked(tmp_path: Path) -> None:
    code, _, err = up(tmp_path, ZeroDivisionError("division by zero"))
    assert code == 1
    assert err.startswith("Error: internal error: ZeroDivisionError: division by zero\n")
    assert "Traceback" not in err
    assert "Traceback" in up(tmp_path, ZeroDivisionError(), "--debug")[2]


def test_ctrl_c_only_ends_the_line(tmp_path: Path) -> None:
    assert up(tmp_path, KeyboardInterrupt()) == (130, "", "\n")


def test_the_nodes_exit_code_is_the_commands(tmp_path: Path) -> None:
    assert run_cli("up", "--data-dir", str(tmp_path), run_node=lambda settings, options: 70).code == 70


def test_a_pipe_closed_by_its_reader_ends_the_command_quietly() -> None:
    program = (
        "import sys, os\n"
        "from picloud import cli\n"
        "from picloud.cli.entry import Entrypoints\n"
        "sys.stdin.read()\n"  # until the reader of stdout is gone
        "cli.main(Entrypoints(run_node=None), ['version'])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.close()
        assert (process.stderr.read(), process.wait()) == (b"", 1)


def test_version_names_picloud_and_python() -> None:
    values = json.loads(run_cli("version", "--json").out)
    assert values["python"] == ".".join(str(part) for part in sys.version_info[:3])
    assert run_cli("version").out.startswith(f"picloud {values['picloud']}\n")
    assert run_cli("--version").out == f"picloud {values['picloud']}\n"
