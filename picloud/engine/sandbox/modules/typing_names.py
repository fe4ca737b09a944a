"""typing: names for annotations, which are never evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TYPING: Final[Mapping[str, Mapping[str, Any]]] = {
    "typing": dict.fromkeys(
        "Any Optional Union List Dict Tuple Set FrozenSet Callable Iterable Iterator Sequence Mapping Literal Final "
        "ClassVar TypedDict NamedTuple Protocol".split()
    ),
    "__future__": {"annotations": None},
}
