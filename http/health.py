"""For orchestrators: /healthz, /readyz; and what answers here: /api/v1."""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

import trio
from quart import Blueprint, Response

from picloud.errors import PicloudError
from picloud.http.bodies import View
from picloud.http.node import node
from picloud.http.responses import respond
from picloud.version import __version__

blueprint = Blueprint("health", __name__)

READINESS_SECS = 5.0
"""An orchestrator gives up on a probe soon: an answer that says so is better than none."""


class HealthView(View):
    """The process lives."""

    status: Literal["ok"] = "ok"


class ReadinessView(View):
    """Whether the node can serve, and if not, why."""

    ready: bool
    reasons: list[str]


class VersionView(View):
    """What answers here."""

    name: Literal["picloud"] = "picloud"
    version: str = __version__


@blueprint.get("/healthz")
async def healthz() -> Response:
    """Tell that the process answers, whatever the state of the database."""
    return respond(HealthView())


@blueprint.get("/readyz")
async def readyz() -> Response:
    """Tell whether the node can serve: 503 with the reasons if not."""
    reasons = await _ask_readiness()
    status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
    return respond(ReadinessView(ready=not reasons, reasons=reasons), status)


@blueprint.get("/api/v1")
async def version() -> Response:
    """Return name and version."""
    return respond(VersionView())


async def _ask_readiness() -> list[str]:
    with trio.move_on_after(READINESS_SECS):
        try:
            return await node().readiness()
        except PicloudError as error:
            return [str(error)]
    return [f"no answer from the node within {READINESS_SECS:g} s"]
