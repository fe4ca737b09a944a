"""What may be told of a script's error: its type, its text, and the author's own lines."""

from __future__ import annotations

from typing import Any, NamedTuple

from picloud.engine.sandbox.text import to_repr, to_text

MAX_MESSAGE = 2000
"""Characters of an error's text."""
MAX_FRAMES = 5000
SCRIPT_PREFIX = "<script "


class ScriptFrame(NamedTuple):
    """One line of a script on the way to an error."""

    filename: str
    line: int
    function: str


def error_type(error: BaseException) -> str:
    """Return the name of the error's class."""
    return type(error).__name__


def error_message(error: BaseException) -> str:
    """Return the error's text. May run the script's own `__str__`: only under its meter."""
    try:
        text = to_text(error)
    except Exception as broken:
        return f"<the error's text cannot be shown: {type(broken).__name__}>"
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "…"


def script_frames(error: BaseException) -> tuple[ScriptFrame, ...]:
    """Return the scripts' frames of the traceback, outermost first; of a very deep one its ends."""
    frames: list[ScriptFrame] = []
    step = error.__traceback__
    seen = 0
    while step is not None and seen < MAX_FRAMES:
        code = step.tb_frame.f_code
        if code.co_filename.startswith(SCRIPT_PREFIX):
            name = "<module>" if code.co_name == "_module_" else code.co_name
            frames.append(ScriptFrame(code.co_filename, step.tb_lineno, name))
        step = step.tb_next
        seen += 1
    return tuple(frames)


def script_line(error: BaseException, filename: str) -> int | None:
    """Return the last line of that script in the traceback."""
    lines = [frame.line for frame in script_frames(error) if frame.filename == filename]
    return lines[-1] if lines else None


def safe_str(value: Any) -> str:
    """Return a value as text. Raises: LimitError for one that is too large to show."""
    return to_text(value)


def safe_repr(value: Any) -> str:
    """Return a value's repr. Raises: LimitError for one that is too large to show."""
    return to_repr(value)
