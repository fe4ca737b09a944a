"""Values of a script on their way out as JSON text."""

from __future__ import annotations

from picloud.engine.sandbox import ExportError, Meter, export_value
from picloud.errors import InvalidPayload, PayloadTooLarge, SdkError
from picloud.payload import encode_payload
from picloud.types import Json


def encode_value(value: Json, what: str, *, area: str, fault: type[SdkError], meter: Meter, max_bytes: int) -> str:
    """Return a value as JSON text. Raises: `fault`, whose text begins with the area of the SDK."""
    try:
        plain = export_value(value, path=what, meter=meter)
        return encode_payload(plain, area=area, what=what, max_bytes=max_bytes)
    except ExportError as error:
        raise fault(f"{area}: {error}") from None
    except (InvalidPayload, PayloadTooLarge) as error:
        raise fault(str(error)) from None
