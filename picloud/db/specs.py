"""From a stored trigger back to the spec that it was made of."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S", bound="DataclassInstance")


def read_spec(spec: type[S], stored: object) -> S:
    """Return a spec whose fields are those of `stored`, `script` its `script_name`."""
    named = {field.name: "script_name" if field.name == "script" else field.name for field in fields(spec)}
    return spec(**{name: getattr(stored, column) for name, column in named.items()})
