"""Lists in pages: an opaque cursor holds the key of the last item shown."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar
from uuid import UUID

from pydantic import BaseModel, Field, SerializeAsAny

from picloud.errors import InvalidFields
from picloud.http.bodies import Query
from picloud.types import FieldFault

R = TypeVar("R")


class PageQuery(Query):
    """Which part of a list to return."""

    limit: int = Field(default=50, ge=1, le=1000)
    cursor: str | None = None

    @property
    def after_name(self) -> str | None:
        """The name to go on after. Raises: InvalidFields."""
        return None if self.cursor is None else decode_cursor(self.cursor)

    @property
    def after_id(self) -> UUID | None:
        """The id to go on after. Raises: InvalidFields."""
        if self.cursor is None:
            return None
        try:
            return UUID(decode_cursor(self.cursor))
        except ValueError:
            refuse_cursor()

    @property
    def after_number(self) -> int | None:
        """The number to go on after. Raises: InvalidFields."""
        if self.cursor is None:
            return None
        text = decode_cursor(self.cursor)
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            refuse_cursor()
        return int(text)


class Page(BaseModel):
    """One page of a list; `next_cursor` is null on the last."""

    items: list[SerializeAsAny[BaseModel]]
    next_cursor: str | None


def make_page(rows: Sequence[R], query: PageQuery, view: Callable[[R], BaseModel], key: Callable[[R], object]) -> Page:
    """Return a page of `rows`, which hold one more than `query.limit` where there is a next page."""
    shown = rows[: query.limit]
    more = len(rows) > query.limit
    return Page(items=[view(row) for row in shown], next_cursor=encode_cursor(str(key(shown[-1]))) if more else None)


def encode_cursor(key: str) -> str:
    """Return a key as a cursor."""
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """Return the key in a cursor. Raises: InvalidFields."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        key = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (UnicodeError, binascii.Error):
        refuse_cursor()
    if not key or "\0" in key:
        refuse_cursor()
    return key


def refuse_cursor() -> NoReturn:
    """Refuse a cursor. Raises: InvalidFields."""
    fault = FieldFault("not a cursor of this list: use next_cursor of the page before", parameter="cursor")
    raise InvalidFields(f"cursor: {fault.message}", [fault])
