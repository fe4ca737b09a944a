"""What one execution may use, as the node is configured."""

from __future__ import annotations

from dataclasses import dataclass

from picloud.engine.sandbox import Limits
from picloud.payload import MAX_PAYLOAD_BYTES

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Limits of every execution of one engine."""

    timeout_secs: float = 10.0
    """Seconds of wall clock, nested invokes included."""
    cpu_secs: float | None = None
    """Seconds of CPU time; None: only the wall clock counts."""
    memory_bytes: int = 256 * MIB
    """Allocated by large results, freed or not."""
    memory_growth_bytes: int = 512 * MIB
    """Growth of the whole process while an execution runs."""
    max_payload_bytes: int = MAX_PAYLOAD_BYTES
    """One message's payload, as JSON text."""
    max_result_bytes: int = MIB
    """The returned value, and the arguments of an invoke, as JSON text."""
    max_effects: int = 10_000
    max_trigger_depth: int = 8
    """How deep invoke and triggers may cause each other."""
    max_log_lines: int = 1000
    max_log_bytes: int = 64 * KIB
    max_cached_scripts: int = 512
    max_http_bytes: int = 4 * MIB
    """The body of a request to the outside, and of its answer."""
    http_allow_private: bool = False
    """Whether such requests may go to private, loopback and link-local addresses."""

    def limits(self) -> Limits:
        """Return what the sandbox enforces."""
        return Limits(
            wall=self.timeout_secs,
            cpu=self.cpu_secs,
            memory_bytes=self.memory_bytes,
            memory_growth_bytes=self.memory_growth_bytes,
            log_bytes=self.max_log_bytes,
            log_lines=self.max_log_lines,
            result_bytes=self.max_result_bytes,
        )
