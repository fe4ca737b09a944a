"""Call another script of the same app."""

from __future__ import annotations

from picloud.sdk.outside import refuse
from picloud.types import Json


def invoke(target: str, args: Json = None, *, method: str | None = None) -> Json:
    """Run another script of this app at once, in this thread, and return what its `handle` returns.

    `target` is a script's name (`"price"`, or `"shop/price"` from within the app `shop`), or a route's path
    (`"/price"`); `method` chooses among the routes of one path. `args` is copied, and is the callee's `event.body`; its
    result is a copy, too. A `Response` gives its body. The callee has fresh globals, its own execution id, one more of
    `ctx.trigger_depth`, and the time that its caller has left.

    Atomic: the callee's effects are its caller's; a callee that raises takes its own back.
    Raises: what the callee raises; InvokeError (no such script, another app's script, deeper than the limit, functions
    in `args`).
    """
    refuse("invoke")


def invoke_async(target: str, args: Json = None, *, method: str | None = None) -> str:
    """Have another script of this app run later, once; return the delivery's id.

    `target`, `args` and `method` are those of `invoke`. It runs after what this execution did is committed, with a unit
    of work of its own; a failure goes straight to the dead letters.
    Raises: InvokeError (no such script, another app's script, deeper than the limit, functions in `args`).
    """
    refuse("invoke_async")
