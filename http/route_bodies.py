"""What a handler sees of a body: JSON, the fields of a form, or text, as the media type says; None for all else."""

from __future__ import annotations

import base64
import re
from typing import Any

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header

from picloud.errors import InvalidPayload, MalformedBody, UnsupportedMediaType
from picloud.http.requests import decode_json
from picloud.http.route_calls import MAX_FIELDS, parse_fields, shorten
from picloud.payload import check_json

_CHARSET = re.compile(
    r"utf-?8|utf-(16|32)(le|be)?|us-ascii|ascii|latin-?1|iso-8859-\d{1,2}|windows-125\d|koi8-[ru]|shift_jis|euc-(jp|kr)"
    r"|gbk|gb18030|big5",
    re.IGNORECASE,
)
"""Those that browsers know; Python's own codecs do far more than decode text."""


def decode_body(data: bytes, content_type: str, content_encoding: str = "") -> Any:
    """Return the body as its media type says.

    Raises: InvalidPayload for a body that is not what it says it is, UnsupportedMediaType for what cannot be decoded.
    """
    if not data:
        return None
    if content_encoding.strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType(f"Content-Encoding {content_encoding[:40]!r} is not decoded here: send it as it is")
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    options = parse_options_header(content_type)[1] if parameters else {}
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        return _decode_json(data, options.get("charset", "utf-8")) if data.strip() else None
    if kind == "application/x-www-form-urlencoded":
        return _check({name: shorten(values) for name, values in parse_fields(data, "the form").items()})
    if kind == "multipart/form-data":
        return _check(_decode_multipart(data, options.get("boundary", "")))
    if kind.startswith("text/") or not kind:
        return _decode_text(data, options.get("charset"))
    return None


def _decode_json(data: bytes, charset: str) -> Any:
    if charset.lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
        data = _decode_text(data, charset).encode()
    try:
        value = decode_json(data)
    except MalformedBody as error:
        raise InvalidPayload(str(error)) from None
    return _check(value)


def _check(value: Any) -> Any:
    check_json(value, "body", area="")
    return value


def _decode_text(data: bytes, charset: str | None) -> str:
    if charset is None:
        return data.decode("utf-8", "replace")
    if not _CHARSET.fullmatch(charset):
        raise UnsupportedMediaType(f"unknown charset {charset[:40]!r}: send UTF-8")
    try:
        return data.decode(charset)
    except LookupError:
        raise UnsupportedMediaType(f"unknown charset {charset[:40]!r}: send UTF-8") from None
    except UnicodeDecodeError as error:
        raise InvalidPayload(f"the body is not {charset} text: {error.reason} at byte {error.start}") from None


def _decode_multipart(data: bytes, boundary: str) -> dict[str, Any]:
    """Return the fields of a form; a file is an object with its name, type, size and content in base64."""
    from werkzeug.sansio import multipart

    if not boundary:
        raise InvalidPayload("the body is multipart/form-data without a boundary")
    fields: dict[str, list[Any]] = {}
    part: multipart.Field | multipart.File | None = None
    content = b""
    try:
        decoder = multipart.MultipartDecoder(boundary.encode(), max_parts=MAX_FIELDS)
        decoder.receive_data(data)
        decoder.receive_data(None)
        while not isinstance(event := decoder.next_event(), multipart.Epilogue):
            if isinstance(event, multipart.NeedData):
                raise InvalidPayload("the body is multipart/form-data that ends too soon")
            if isinstance(event, multipart.Field | multipart.File):
                part, content = event, b""
            elif isinstance(event, multipart.Data) and part is not None:
                content += event.data
                if not event.more_data:
                    fields.setdefault(part.name, []).append(_read_part(part, content))
    except RequestEntityTooLarge:
        raise InvalidPayload(f"the form has more than {MAX_FIELDS} fields") from None
    except (ValueError, KeyError):
        raise InvalidPayload("the body is not multipart/form-data with that boundary") from None
    return {name: shorten(values) for name, values in fields.items()}


def _read_part(part: Any, content: bytes) -> Any:
    if hasattr(part, "filename"):
        return {
            "filename": part.filename,
            "content_type": part.headers.get("content-type", "application/octet-stream"),
            "size": len(content),
            "base64": base64.b64encode(content).decode(),
        }
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidPayload(f"the field {part.name[:100]!r} is not UTF-8 text: {error.reason}") from None
