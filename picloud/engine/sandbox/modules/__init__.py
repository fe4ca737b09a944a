"""The modules that scripts may import: frozen facades, one file per group, a table at the end of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from picloud.engine.sandbox.facade import Facade
from picloud.engine.sandbox.modules.calling import CALLING
from picloud.engine.sandbox.modules.collecting import COLLECTING
from picloud.engine.sandbox.modules.copying import COPYING
from picloud.engine.sandbox.modules.encoding import ENCODING
from picloud.engine.sandbox.modules.figures import FIGURES
from picloud.engine.sandbox.modules.iterating import ITERATING
from picloud.engine.sandbox.modules.numeric import NUMERIC
from picloud.engine.sandbox.modules.ordering import ORDERING
from picloud.engine.sandbox.modules.patterns import PATTERNS
from picloud.engine.sandbox.modules.randomness import RANDOMNESS
from picloud.engine.sandbox.modules.timing import TIMING
from picloud.engine.sandbox.modules.typing_names import TYPING
from picloud.engine.sandbox.modules.urls import URLS

_TABLES: Final = (
    CALLING, COLLECTING, COPYING, ENCODING, FIGURES, ITERATING, NUMERIC, ORDERING, PATTERNS, RANDOMNESS, TIMING,
    TYPING, URLS,
)  # fmt: skip
MODULES: Final[Mapping[str, Facade]] = {
    name: Facade(name, attributes) for table in _TABLES for name, attributes in sorted(table.items())
}
