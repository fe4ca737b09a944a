"""The kinds of pydantic models that requests and responses are made of, and their field types."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from picloud.durations import parse_duration
from picloud.errors import InvalidInput
from picloud.field_checks import MAX_RETRY_ATTEMPTS, MAX_RETRY_BASE_MS


class RequestBody(BaseModel):
    """A request's JSON object: unknown fields are refused, values are never converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Query(BaseModel):
    """A request's query parameters: text that is converted; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class View(BaseModel):
    """A response's JSON object."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, record: object) -> Self:
        """Return the view of a record with the same field names."""
        return cls.model_validate(record)


def is_storable(text: str) -> bool:
    """Tell whether PostgreSQL can store the text: neither NUL nor a lone surrogate is in it."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_text(text: str) -> str:
    if not is_storable(text):
        raise PydanticCustomError("text", "must hold neither a NUL character nor a lone surrogate")
    return text


def _read_delay(value: Any) -> float:
    try:
        return parse_duration(value)
    except InvalidInput as error:
        raise PydanticCustomError("delay", "{text}", {"text": str(error)}) from error


def _read_moment(value: Any) -> datetime:
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        moment = None
    if moment is None or moment.tzinfo is None:
        raise PydanticCustomError("moment", "must be a time with its zone, such as 2026-12-01T08:30:00Z")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("moment", "is out of range") from None


Text = Annotated[str, AfterValidator(_check_text)]
"""Text that PostgreSQL can store."""

RetryAttempts = Annotated[int, Field(ge=1, le=MAX_RETRY_ATTEMPTS)]

RetryBase = Annotated[int, Field(ge=1, le=MAX_RETRY_BASE_MS)]
"""Milliseconds."""

Delay = Annotated[float, BeforeValidator(_read_delay)]
"""Seconds, given as a number or as text such as "5m"."""

Moment = Annotated[datetime, BeforeValidator(_read_moment)]
"""A time of a request, as RFC 3339 text with its zone."""

Time = Annotated[datetime, AfterValidator(lambda time: time.astimezone(UTC))]
"""RFC 3339 in UTC, whatever the session's time zone was."""
