"""A folder of scripts as a world of its own: handlers run without a server or a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import cast

from uuid_utils.compat import uuid7

from picloud.engine.world import EmptyWorld
from picloud.errors import InvalidName, ScriptInvalid
from picloud.names import check_script_name
from picloud.types import AppId, Fault, MessageId, NewMessage, Script, ScriptId


class FolderWorld(EmptyWorld):
    """Scripts are the *.py files of a folder, named by their stem; what is sent at once is kept in `sent`."""

    def __init__(self, folder: Path) -> None:
        self.app_id = cast("AppId", uuid7())
        self.sent: list[NewMessage] = []
        self._folder = folder
        self._scripts: dict[str, Script] = {}

    def find_script(self, app_id: AppId, name: str) -> Script | None:
        """Return the script in `name`.py, or None.

        Raises: ScriptInvalid when the file is not text.
        """
        if name not in self._scripts:
            script = self._load(name)
            if script is None:
                return None
            self._scripts[name] = script
        return self._scripts[name]

    def count_depth(self, app_id: AppId, queue_name: str) -> tuple[int, int]:
        """Return what was sent to a queue at once; nobody handles it."""
        waiting = [message for message in self.sent if message.queue_name == queue_name]
        return len(waiting), sum(message.delay <= 0 and message.deliver_after is None for message in waiting)

    def send_now(self, app_id: AppId, messages: Sequence[NewMessage]) -> list[MessageId]:
        """Keep messages."""
        self.sent.extend(messages)
        return [message.id for message in messages]

    def _load(self, name: str) -> Script | None:
        try:
            path = self._folder / f"{check_script_name(name)}.py"
        except InvalidName:
            return None
        if not path.is_file():
            return None
        source = read_source(path)
        digest = sha256(source.encode()).hexdigest()
        return Script(cast("ScriptId", uuid7()), self.app_id, name, 1, source, digest, datetime.now(UTC))


def read_source(path: Path) -> str:
    """Return the text of a script's file.

    Raises: ScriptInvalid when it cannot be read or is not UTF-8.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ScriptInvalid(path.stem, [Fault(0, 0, f"cannot be read: {error.strerror}")]) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScriptInvalid(path.stem, [Fault(line, 0, f"not UTF-8 text: {error.reason}")]) from None
