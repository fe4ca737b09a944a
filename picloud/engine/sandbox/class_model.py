"""The classes that scripts define: one metaclass, so that they are told from the host's at a glance."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

ALLOWED_METHODS = frozenset(
    "__init__ __repr__ __str__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __contains__ __len__ __iter__ __next__"
    " __getitem__ __call__ __bool__".split()
)
"""Special methods that a class of a script may define."""

_MADE_BY_COMPILER = frozenset(
    "__module__ __qualname__ __classcell__ __doc__ __firstlineno__ __static_attributes__ __annotations__"
    " __conditional_annotations__ __annotate_func__ __annotate__ _fields_".split()
)
_KEPT = ALLOWED_METHODS | {"__module__", "__qualname__", "__classcell__", "_fields_", "_"}

BUILTIN_EXCEPTIONS: tuple[type[Exception], ...] = (
    ArithmeticError, AssertionError, AttributeError, BufferError, ConnectionError, EOFError, Exception,
    FileExistsError, FileNotFoundError, FloatingPointError, ImportError, IndexError, InterruptedError, KeyError,
    LookupError, ModuleNotFoundError, NameError, NotImplementedError, OSError, OverflowError, PermissionError,
    RecursionError, RuntimeError, StopIteration, TimeoutError, TypeError, UnboundLocalError, UnicodeDecodeError,
    UnicodeEncodeError, UnicodeError, ValueError, ZeroDivisionError,
)  # fmt: skip

MAX_ANCESTORS = 500
"""Of one class: putting them in order takes more than the square of their number."""

_bases: set[type] = set(BUILTIN_EXCEPTIONS)


def allow_as_base(kind: type[Exception]) -> None:
    """Let scripts derive from an exception of the host."""
    _bases.add(kind)


SCRIPT_MODULE = "script"
"""The `__module__` of what a script defines."""


SHOWN: Final[dict[str, Callable[[Any], str]]] = {}
"""How C code shows objects of classes that do not say it, by kind: `object`, `__repr__` and `__str__` of exceptions.

The host's own would tell addresses, and all that is in an exception, without an end. Filled by text.
"""


def _unbound(value: Any) -> Any:
    """Keep a function of ours from becoming a method: it stands for a type or a function in C (`convert = int`)."""
    return staticmethod(value) if type(value) is FunctionType and value.__module__ != SCRIPT_MODULE else value


def _show(kind: type, name: str, show: Callable[[Any], str]) -> None:
    """Define a method where the one that applies is the host's."""
    owner = next(base for base in kind.__mro__ if name in base.__dict__)
    if type(owner) is not ScriptClass:
        type.__setattr__(kind, name, show)


class ScriptClass(type):
    """The class of every class that a script defines."""

    def __new__(mcls, name: str, bases: tuple[Any, ...], namespace: dict[str, Any]) -> ScriptClass:
        for base in bases:
            if type(base) is not ScriptClass and not (isinstance(base, type) and base in _bases):
                raise TypeError(f"class {name}: only classes of this script and exceptions can be bases")
        if sum([len(base.__mro__) for base in bases]) > MAX_ANCESTORS:
            raise TypeError(f"class {name}: more than {MAX_ANCESTORS} base classes")
        kept = {}
        for key, value in namespace.items():
            if key[:1] == "_" and key not in _KEPT:
                if key not in _MADE_BY_COMPILER:
                    raise TypeError(f"class {name}: {key} is not available")
                continue
            kept[key] = _unbound(value)
        made = super().__new__(mcls, name, bases, kept)
        if not issubclass(made, BaseException):
            _show(made, "__repr__", SHOWN["object"])
        else:
            _show(made, "__repr__", SHOWN["__repr__"])
            _show(made, "__str__", SHOWN["__str__"])
        return made

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, _unbound(value))

    def __repr__(cls) -> str:
        return f"<class '{cls.__name__}'>"


def script_defines(kind: type, name: str) -> bool:
    """Tell whether the script itself gave the class (or a base of it) this attribute."""
    return any(type(base) is ScriptClass and name in base.__dict__ for base in kind.__mro__)


EXCEPTION_ATTRIBUTES = frozenset(
    name for kind in BUILTIN_EXCEPTIONS for name in dir(kind) if not name.startswith("_")
) | {"obj", "mro", "with_traceback", "add_note", "exceptions", "object"}
"""Attributes that C gives to exceptions (and `mro` to classes): some lead out, so a script reads none but `args`."""
