"""Short ways to fill and empty the outbox, for tests on a real database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from uuid_utils.compat import uuid7

from picloud.db.connection import Connection
from picloud.db.messages import Effect, Pulled, Settlement
from picloud.db.outbox import Delivery, Rotation, insert_invocations, pull_deliveries
from picloud.db.scripts import put_script
from picloud.types import AppId, ClaimToken, NewInvocation


@dataclass
class Pull:
    """What one pull claimed, and its token."""

    token: ClaimToken
    pulled: Pulled[Delivery]

    @property
    def deliveries(self) -> list[Delivery]:
        return self.pulled.messages

    @property
    def ids(self) -> list[UUID]:
        return [delivery.id for delivery in self.deliveries]

    @property
    def apps(self) -> list[AppId]:
        return [delivery.app_id for delivery in self.deliveries]


@dataclass
class Outbox:
    """The outbox of a database."""

    conn: Connection
    rotation: Rotation = field(default_factory=Rotation)

    async def invoke(self, app_id: AppId, count: int = 1, *, depth: int = 1) -> list[UUID]:
        """Write rows as `invoke_async` does."""
        script = (await put_script(self.conn, app_id, "later", "def handle(event, ctx): pass")).script
        rows = [NewInvocation(uuid7(), script.id, f'{{"body": {n}, "caller": "main"}}', depth) for n in range(count)]
        await insert_invocations(self.conn, app_id, rows)
        return [row.id for row in rows]

    async def pull(
        self,
        limit: int = 10,
        *,
        done: Pull | None = None,
        effects: Sequence[Effect] = (),
        rotation: Rotation | None = None,
    ) -> Pull:
        """Pull once, acknowledging all of `done`."""
        token = ClaimToken(uuid7())
        settle = Settlement(token) if done is None else Settlement(done.token, done.ids, effects)
        rotation = rotation or Rotation()
        pulled = await pull_deliveries(self.conn, settle=settle, claim_token=token, limit=limit, rotation=rotation)
        rotation.advance(pulled.messages)
        return Pull(token, pulled)

    async def count(self) -> int:
        """Return how many rows there are, claimed or not."""
        row = await (await self.conn.execute("select count(*) from outbox")).fetchone()
        assert row is not None
        return int(row[0])

    async def age_claims(self, seconds: float) -> None:
        """Let every lease be older, by the database's clock."""
        await self.conn.execute(
            "update outbox set claimed_at = claimed_at - make_interval(secs => %s) where claim_token is not null",
            (seconds,),
        )
