"""Errors in the author's terms: type, message, line, and the way through the scripts; nothing of picloud's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from picloud.engine.logs import clean_text
from picloud.engine.sandbox import CompiledScript, ScriptFrame, error_message, error_type, script_frames
from picloud.types import ErrorFrame, ScriptError

MAX_MESSAGE_CHARS = 2000
MAX_SOURCE_CHARS = 200
OUTERMOST_FRAMES = 10
INNERMOST_FRAMES = 30
"""Of a deep recursion only the ends of the stack are kept."""

STOPPED = "BudgetExceeded"
"""Type of the error of an execution that was stopped."""

_LINE_END = re.compile(r"\r\n|\r|\n")

Scripts = Mapping[str, CompiledScript]
"""The scripts of a run by the file name in their code."""


def describe_error(error: Exception, script: CompiledScript, scripts: Scripts) -> ScriptError:
    """Return what an author is to know. `line` is the line of `script`, the one that was started; `stack` tells all.

    Runs the author's `__str__`: only under the meter of the run.
    """
    return _build(error, error_type(error), error_message(error), script, scripts)


def describe_stop(error: BaseException, reason: str, script: CompiledScript, scripts: Scripts) -> ScriptError:
    """Return what an author is to know of an execution that was stopped; runs none of the author's code."""
    found = _build(error, STOPPED, reason, script, scripts)
    where = _place(found, script)
    return ScriptError(found.type, reason + where, found.line, found.source, found.stack)


def _build(error: BaseException, kind: str, message: str, script: CompiledScript, scripts: Scripts) -> ScriptError:
    frames = [
        ErrorFrame(
            scripts[frame.filename].name, frame.line, frame.function, _source(scripts[frame.filename], frame.line)
        )
        for frame in _ends(script_frames(error))
        if frame.filename in scripts
    ]
    own = next((frame for frame in reversed(frames) if frame.script == script.name), None)
    return ScriptError(
        clean_text(kind, MAX_SOURCE_CHARS),
        clean_text(message, MAX_MESSAGE_CHARS),
        own.line if own else None,
        own.source if own else None,
        tuple(frames),
    )


def _ends(frames: Sequence[ScriptFrame]) -> Sequence[ScriptFrame]:
    if len(frames) <= OUTERMOST_FRAMES + INNERMOST_FRAMES:
        return frames
    return [*frames[:OUTERMOST_FRAMES], *frames[-INNERMOST_FRAMES:]]


def _place(error: ScriptError, script: CompiledScript) -> str:
    if error.line is None:
        return ""
    last = error.stack[-1]
    return (
        f" (line {error.line})"
        if last.script == script.name
        else f" (line {error.line}, '{last.script}' line {last.line})"
    )


def _source(script: CompiledScript, line: int) -> str:
    lines = _LINE_END.split(script.source)
    return clean_text(lines[line - 1].strip(), MAX_SOURCE_CHARS) if 0 < line <= len(lines) else ""
