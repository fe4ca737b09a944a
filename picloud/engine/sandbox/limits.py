"""How much one operation, one script and one execution may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# A script's source.
MAX_SOURCE_BYTES: Final = 128 * KIB
MAX_SOURCE_NODES: Final = 20_000
MAX_SOURCE_NESTING: Final = 60
MAX_COMPILED_NODES: Final = 5 * MAX_SOURCE_NODES
MAX_BRACKET_NESTING: Final = 120

MAX_NAME: Final = 255
"""Characters of a name: of a function or a class, it is part of many texts."""

# One value.
MAX_TEXT: Final = 4 * MIB
"""Characters (str) or bytes (bytes) of one text."""
MAX_ITEMS: Final = 1_000_000
MAX_INT_BITS: Final = 64 * KIB
MAX_POW_MOD_BITS: Final = 4096
SMALL: Final = 1 << 62
"""Integers below this cost nothing, and neither does a product of two of them."""
MAX_FORMAT_WIDTH: Final = 10_000
MAX_FORMAT_SPEC: Final = 200
MAX_DECIMAL_EXPONENT: Final = 5000
MAX_DECIMAL_INT_BITS: Final = 20_000
"""Of an integer that a Decimal is made of, or meets."""
MAX_NUMBER_TEXT: Final = 20_000
"""Characters of a text that is read as a number."""
MAX_GENERATORS: Final = 100_000
"""Of one execution at once."""
MAX_ITERATOR_NESTING: Final = 20
"""Iterators in iterators: each level is C recursion that nothing in CPython counts."""

# Walking over nested data: comparing, hashing, printing, encoding.
MAX_WALK_NODES: Final = 200_000
"""Values, each counted as often as it is reachable: a value shared by two lists counts twice."""
MAX_WALK_NESTING: Final = 100
MAX_WALK_TEXT: Final = 16 * MIB
MAX_KEY_NODES: Final = 10_000
"""Values in a tuple that is a key: it is compared with every key of the same hash."""
MAX_KEY_TEXT: Final = 256 * KIB

CHARGE_FROM: Final = 4096
"""Results smaller than this many bytes are not charged to the execution: they would cost more to count than to make."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one execution may use. Past a limit it is stopped with BudgetExceeded."""

    wall: float = 10.0
    """Seconds from the start of the execution."""
    cpu: float | None = 5.0
    """Seconds of CPU time of the thread; None: no limit (the platform may not tell: then only `wall` counts)."""
    memory_bytes: int = 256 * MIB
    """All large results together, freed or not."""
    memory_growth_bytes: int = 512 * MIB
    """Growth of the whole process while the execution runs."""
    log_bytes: int = 64 * KIB
    log_lines: int = 1000
    result_bytes: int = MIB
    """The returned value as JSON text."""


def seconds_text(seconds: float) -> str:
    """Write a duration for a message: `10 s`, `0.25 s`."""
    return f"{seconds:.4g} s"


def mib_text(size_bytes: int) -> str:
    """Write a size for a message: `256 MiB`."""
    return f"{size_bytes / MIB:.4g} MiB"
