"""Rules of a route: who may call it, how a delivery's signature is checked, and which pages of browsers may."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from picloud.config import suggest
from picloud.errors import InvalidInput, InvalidName
from picloud.names import check_secret_name
from picloud.types import Json

Auth = Literal["none", "token", "signature"]

MAX_SECRETS = 10
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z")
_ORIGIN = re.compile(r"(\*|null|[a-z][a-z0-9+.-]*://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?)\Z")


def _check_token(value: str, what: str) -> str:
    if not _TOKEN.match(value):
        raise _fault(f"{value[:60]!r} is not {what} that HTTP can carry")
    return value


def _fault(text: str) -> PydanticCustomError:
    return PydanticCustomError("rules", "{text}", {"text": text})


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Signature(_Rules):
    """An HMAC over the raw body, in a header."""

    header: str
    algorithm: Literal["sha256", "sha1"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    prefix: str = Field(default="", pattern=r"^[!-~ ]{0,50}$")
    """What stands before the digest: `sha256=`."""

    @field_validator("header")
    @classmethod
    def _check_header(cls, value: str) -> str:
        return _check_token(value, "a header's name")


GITHUB = Signature(header="X-Hub-Signature-256", algorithm="sha256", encoding="hex", prefix="sha256=")
PRESETS: Mapping[str, Signature] = {"github": GITHUB}


def _read_signature(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in PRESETS:
        hint = suggest(value, PRESETS) or f" (use {', '.join(PRESETS)}, or a table with header, algorithm, …)"
        raise PydanticCustomError("preset", "unknown form of signature{hint}", {"hint": hint})
    return PRESETS[value]


class Cors(_Rules):
    """Which pages of other origins may call the route from a browser."""

    origins: tuple[str, ...] = Field(strict=False, min_length=1, max_length=100)
    """`https://app.example.com`, or `*` for all."""
    methods: tuple[str, ...] = Field(default=(), strict=False, max_length=20)
    """Empty: the route's own."""
    headers: tuple[str, ...] = Field(default=("content-type",), strict=False, max_length=100)
    """Of requests, besides those that need no leave."""
    credentials: bool = False
    max_age: int = Field(default=600, ge=0, le=86_400)
    """Seconds for which a browser may remember the answer."""

    @field_validator("origins")
    @classmethod
    def _check_origins(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            if not _ORIGIN.match(value):
                raise _fault(
                    f"{value[:60]!r} is no origin: write it as 'https://app.example.com', in lower case, or '*'"
                )
        return values

    @field_validator("methods", "headers")
    @classmethod
    def _check_names(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_check_token(value, "a name") for value in values)

    @model_validator(mode="after")
    def _check_credentials(self) -> Cors:
        if self.credentials and "*" in (*self.origins, *self.methods, *self.headers):
            raise _fault("credentials cannot go with '*': name the origins, methods and headers")
        return self

    def allows(self, origin: str) -> bool:
        """Tell whether a page of that origin may call."""
        return "*" in self.origins or origin in self.origins


class RuleFields(_Rules):
    """The rules of a route, each checked by itself."""

    auth: Auth = "none"
    """token: a bearer token of the instance, or one of `secrets`; signature: an HMAC by one of `secrets`."""
    secrets: tuple[str, ...] = Field(default=(), strict=False, max_length=MAX_SECRETS)
    """Names of the app's secrets: several while one is being replaced by another."""
    signature: Annotated[Signature | None, BeforeValidator(_read_signature)] = None
    cors: Cors | None = None

    @field_validator("secrets")
    @classmethod
    def _check_secrets(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            try:
                check_secret_name(value)
            except InvalidName as error:
                raise _fault(str(error)) from None
        return values

    def rules(self) -> RouteRules:
        """Return the rules alone, checked as a whole."""
        return RouteRules(**{name: getattr(self, name) for name in RULES})


class RouteRules(RuleFields):
    """The rules of one route, which go together."""

    @model_validator(mode="after")
    def _check_whole(self) -> RouteRules:
        if self.auth == "signature" and (self.signature is None or not self.secrets):
            raise _fault("auth = 'signature' needs `signature` (such as 'github') and `secrets`, the names of its keys")
        if self.auth != "signature" and self.signature is not None:
            raise _fault("`signature` needs auth = 'signature'")
        if self.auth == "none" and self.secrets:
            raise _fault("`secrets` needs auth = 'token' or auth = 'signature'")
        return self

    def to_json(self) -> dict[str, Json]:
        """Return what differs from the defaults, as it is written; a preset by its name."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        for name, preset in PRESETS.items():
            if self.signature == preset:
                values["signature"] = name
        return values


NO_RULES = RouteRules()
RULES = tuple(RuleFields.model_fields)


def read_rules(values: Mapping[str, Json]) -> RouteRules:
    """Return the rules that a JSON object or a TOML table says; NO_RULES' own where it says nothing.

    Raises: InvalidInput; its `pointer` leads to the value.
    """
    if not values:
        return NO_RULES
    try:
        return RouteRules.model_validate(dict(values))
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        parts = [str(part) for part in fault["loc"]]
        where = ".".join(parts)
        message = fault["msg"]
        if fault["type"] == "extra_forbidden":
            nested: dict[str, type[_Rules]] = {"signature": Signature, "cors": Cors}
            known = list(nested.get(parts[0], RouteRules).model_fields)
            hint = suggest(parts[-1], known) or f" (known: {', '.join(known)})"
            message = f"unknown key{hint}"
        pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
        raise InvalidInput(f"{where}: {message}" if where else message, pointer=pointer) from None
