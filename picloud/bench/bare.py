"""What `/fn/` is compared to: a quart-trio route that answers JSON, on hypercorn as it comes, in a process of its own.

`python -m picloud.bench.bare` prints its port and serves until it is ended.
"""

from __future__ import annotations

import socket
from typing import Any

import hypercorn.trio
import trio
from hypercorn.config import Config
from quart import request
from quart_trio import QuartTrio

app = QuartTrio("bare")


@app.post("/noop")
async def noop() -> dict[str, Any]:
    """Read the body as JSON and answer with JSON, as a handler of a route does."""
    await request.get_json()
    return {"ok": True}


def serve() -> None:
    """Serve on a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        config = Config()
        config.bind = [f"fd://{listener.detach()}"]
        config.errorlog = None
    trio.run(hypercorn.trio.serve, app, config)


if __name__ == "__main__":
    serve()
