"""What a script finds of picloud. Nothing is made before the script's code mentions it: most use one thing or two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from picloud.engine.bridges import LogBridge, QueueBridge, RetryBridge
from picloud.engine.http_bridge import HttpBridge
from picloud.engine.kv_bridge import KvBridge, SecretsBridge
from picloud.engine.sandbox import Facade
from picloud.sdk import SDK_VERSION
from picloud.sdk.response import Response
from picloud.types import Json

if TYPE_CHECKING:
    from picloud.engine.execution import Execution

SDK_MODULE = "picloud.sdk"


def respond(body: Json = None, status: int = 200, headers: dict[str, str | list[str]] | None = None) -> Response:
    """Make a Response: what the name stands for in a script."""
    return Response(body, status, headers)


_EMAIL_EVENT: Final = Facade("EmailEvent", {})
"""For annotations, which the sandbox does not look at: a name that can be imported."""

_MAKERS: Final[Mapping[str, Callable[[Execution], object]]] = {
    "queue": lambda execution: QueueBridge(execution.run),
    "invoke": lambda execution: execution.invoke,
    "invoke_async": lambda execution: execution.invoke_async,
    "retry": lambda execution: RetryBridge(execution.run),
    "log": lambda execution: LogBridge(execution.run),
    "kv": lambda execution: KvBridge(execution.run),
    "secrets": lambda execution: SecretsBridge(execution.run),
    "http": lambda execution: HttpBridge(execution.run),
    "Response": lambda execution: respond,
    "SDK_VERSION": lambda execution: SDK_VERSION,
    "EmailEvent": lambda execution: _EMAIL_EVENT,
}


class Offering(Mapping[str, Facade]):
    """The SDK of one execution: its names, and the module that offers the same objects."""

    __slots__ = ("_execution", "_facade", "_made")

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._made: dict[str, object] = {}
        self._facade: Facade | None = None

    def names(self, wanted: Iterable[str]) -> dict[str, object]:
        """Return the objects that names stand for."""
        made = self._made
        for name in wanted:
            if name not in made:
                made[name] = _MAKERS[name](self._execution)
        return made

    def __getitem__(self, module: str) -> Facade:
        if module != SDK_MODULE:
            raise KeyError(module)
        if self._facade is None:
            self._facade = Facade(SDK_MODULE, self.names(_MAKERS))
        return self._facade

    def __iter__(self) -> Iterator[str]:
        return iter((SDK_MODULE,))

    def __len__(self) -> int:
        return 1
