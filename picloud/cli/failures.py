"""How a command line ends: exit codes, one clear line on stderr, no traceback.

With `--json` an error is one line of JSON on stderr: `{"code", "detail"}`, and what the node's problem document has
besides (`status`, `errors`). Stdout then holds the result or nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import click

from picloud.cli.entry import Entrypoints
from picloud.errors import NodeRefused, PicloudError, SendStopped
from picloud.signals import ending_as_ctrl_c

EXIT_FAILED = 1


def run_command_line(root: click.Group, args: Sequence[str], entry: Entrypoints) -> int:
    """Run a command; show whatever goes wrong; return the exit code: 128 + n where signal n ended it."""
    with ending_as_ctrl_c() as ended:
        try:
            return _run(root, args, entry)
        except (KeyboardInterrupt, click.Abort):
            return ended.exit_code
        except BaseExceptionGroup as group:
            if group.subgroup(KeyboardInterrupt) is None:
                raise
            return ended.exit_code


def _run(root: click.Group, args: Sequence[str], entry: Entrypoints) -> int:
    as_json = "--json" in args
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # a terminal without UTF-8 shows '?' for a character instead of ending the command
            stream.reconfigure(errors="replace")
    try:
        code = root.main(list(args), prog_name="picloud", standalone_mode=False, obj=entry)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.Abort:
        raise
    except BrokenPipeError:
        _close_stdout()
        return EXIT_FAILED
    except click.ClickException as error:
        _show_usage(error, as_json)
        return error.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code
    except Exception as error:
        return _show(error, as_json, debug="--debug" in args[:1])


def describe(error: BaseException) -> dict[str, Any]:
    """Return an error as `--json` shows it."""
    if isinstance(error, NodeRefused):
        return {"code": error.problem.get("code", error.code), "detail": str(error), **_rest(error.problem)}
    if isinstance(error, SendStopped):
        return {"code": error.code, "detail": str(error), "sent": error.sent, "next_line": error.next_line}
    if isinstance(error, PicloudError):
        return {"code": error.code, "detail": str(error)}
    return {"code": "internal_error", "detail": f"internal error: {type(error).__name__}: {error}"}


def _rest(problem: dict[str, Any]) -> dict[str, Any]:
    return {key: problem[key] for key in ("status", "errors", "instance") if key in problem}


def _show(error: Exception, as_json: bool, *, debug: bool) -> int:
    known = next((leaf for leaf in _leaves(error) if isinstance(leaf, PicloudError)), None)
    if debug and known is None:
        traceback.print_exception(error)
    _say(describe(known or error), as_json, hint="" if known or debug else "\n(picloud --debug … shows the traceback)")
    return EXIT_FAILED


def _show_usage(error: click.ClickException, as_json: bool) -> None:
    if as_json:
        _say({"code": "usage", "detail": error.format_message()}, as_json)
    else:
        with contextlib.suppress(BrokenPipeError):
            error.show()


def _say(problem: dict[str, Any], as_json: bool, hint: str = "") -> None:
    with contextlib.suppress(BrokenPipeError):
        if as_json:
            click.echo(json.dumps(problem, ensure_ascii=False), err=True)
        else:
            label = click.style("Error:", fg="red", bold=True)
            click.echo(f"{label} {problem['detail']}{hint}", err=True)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _close_stdout() -> None:
    """Keep the interpreter from flushing into the closed pipe once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
