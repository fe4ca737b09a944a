"""Reading requests: the body as checked JSON, the query, ids in paths. Every fault is an error with a place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn, TypeVar, get_args
from uuid import UUID

import trio
from pydantic import BaseModel, ValidationError
from quart import request

from picloud.config import suggest
from picloud.errors import InvalidFields, InvalidPayload, MalformedBody, NotFound, UnsupportedMediaType
from picloud.payload import MAX_DEPTH
from picloud.types import FieldFault, Json

MAX_BODY_BYTES = 16 * 1024 * 1024
"""Of one whole request; a single payload has its own limit."""
THREAD_BYTES = 256 * 1024
"""Bodies from here on are read in a thread: parsing them would hold up everything else on the node."""

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


async def read_body(convert: Callable[[Json], T], *, optional: bool = False) -> T:
    """Return the request's JSON as `convert` makes it; `optional`: no body counts as an empty object.

    Raises: MalformedBody, UnsupportedMediaType, InvalidPayload, and what `convert` raises.
    """
    data = await request.get_data(cache=False, as_text=False, parse_form_data=False)
    if optional and not data.strip():
        return convert({})
    _check_media_type()
    if len(data) < THREAD_BYTES:
        return convert(decode_json(data))
    return await trio.to_thread.run_sync(lambda: convert(decode_json(data)), abandon_on_cancel=True)


async def read_model(model: type[M], *, optional: bool = False) -> M:
    """Return the request's body as a model. Raises: as `read_body`, and InvalidFields."""
    return await read_body(partial(validate, model), optional=optional)


def read_query(model: type[M]) -> M:
    """Return the request's query parameters as a model. Raises: InvalidFields."""
    try:
        return model.model_validate(request.args.to_dict())
    except ValidationError as error:
        raise _invalid(
            [FieldFault(f.message, parameter=(f.pointer or "/")[1:]) for f in _faults(model, error)]
        ) from None


def decode_json(data: bytes) -> Json:
    """Return the JSON value in `data`.

    Raises: MalformedBody with line and column, InvalidPayload for JSON nested deeper than the parser goes.
    """
    try:
        return _DECODER.decode(data.decode())
    except RecursionError:
        raise InvalidPayload(f"the body is nested too deeply: payloads may have {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        raise MalformedBody(f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise MalformedBody(f"the body is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except ValueError:
        raise MalformedBody("the body holds an integer of more than 4300 digits") from None


def validate(model: type[M], raw: Json) -> M:
    """Return `raw` as a model. Raises: InvalidFields with a fault for each field that is wrong."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise _invalid(list(_faults(model, error))) from None


def refuse_fields(faults: list[FieldFault]) -> NoReturn:
    """Refuse the request for `faults`. Raises: InvalidFields."""
    raise _invalid(faults)


def parse_id(text: str, missing: type[NotFound], what: str) -> UUID:
    """Return an id from a path; a malformed one is as unknown as any other. Raises: `missing`."""
    try:
        return UUID(text)
    except ValueError:
        raise missing(f"no {what} {text!r}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedBody(f"the body is not JSON: {name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""Made once: `json.loads` makes one for each call that wants its own constants."""


def _invalid(faults: list[FieldFault]) -> InvalidFields:
    where = faults[0].pointer or faults[0].parameter
    first = f"{where}: {faults[0].message}" if where else faults[0].message
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return InvalidFields(first + more, faults)


def _check_media_type() -> None:
    kind = request.mimetype
    if kind and kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise UnsupportedMediaType(f"the body is {kind}: send JSON, with 'Content-Type: application/json'")


def _faults(model: type[BaseModel], error: ValidationError) -> Iterator[FieldFault]:
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        location = fault["loc"]
        pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in location)
        if fault["type"] == "extra_forbidden":
            name = str(location[-1])
            message = f"unknown field '{name}'{suggest(name, _known_fields(model, location))}"
        elif fault["type"] in {"model_type", "model_attributes_type", "dict_type"}:
            message = "must be a JSON object"
        else:
            message = fault["msg"]
        yield FieldFault(message, pointer)


def _known_fields(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the fields of the model, perhaps a nested one, that holds the last part of `location`."""
    for part in location[:-1]:
        field = model.model_fields.get(str(part))
        nested = _find_model(field.annotation) if field else None
        model = nested or model
    return list(model.model_fields)


def _find_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _find_model(part))), None)
