"""functools: closures in place of what reads and calls with the host's rights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, Final

from picloud.engine.sandbox.attributes import OFFERED, get_attribute
from picloud.engine.sandbox.class_model import SCRIPT_MODULE, ScriptClass, script_defines
from picloud.engine.sandbox.comparing import comparable
from picloud.engine.sandbox.meter import current_meter
from picloud.engine.sandbox.records import Record
from picloud.engine.sandbox.sizes import hashable

MAX_CACHED: Final = 100_000
"""Results that one function keeps, also where the script sets no bound."""
_MISSING: Final = object()
_KEYS: Final = frozenset([int, str])


def reduce(function: Callable[[Any, Any], Any], items: Iterable[Any], *initial: Any) -> Any:
    """functools.reduce."""
    try:
        source = iter(items)
    except TypeError:
        raise TypeError("reduce() arg 2 must support iteration") from None
    meter = current_meter()
    try:
        result = initial[0] if initial else next(source)
    except StopIteration:
        raise TypeError("reduce() of empty iterable with no initial value") from None
    for item in source:
        if meter.reason is not None:
            meter.fail()
        result = function(result, item)
    return result


def partial(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """functools.partial as a closure."""
    return lambda *more, **named: function(*args, *more, **{**kwargs, **named})


def _is_of_script(function: Any) -> bool:
    return type(function) is FunctionType and function.__module__ == SCRIPT_MODULE


def wraps(wrapped: Any) -> Callable[[Any], Any]:
    """functools.wraps: the name, which is all that a script can read of a function."""
    try:
        name = get_attribute(wrapped, "__name__")
    except AttributeError:
        name = None

    def decorate(function: Any) -> Any:
        # a function of ours belongs to all apps
        if type(name) is str and _is_of_script(function):
            function.__name__ = name
        return function

    return decorate


# Caches.


class CacheInfo(Record):
    """What cache_info() tells."""

    __slots__ = ()
    _fields_ = ("hits", "misses", "maxsize", "currsize")


class _Cache:
    """The results of one function, the least recently used first.

    A plain dict: its keys may call an __eq__ of the script, which may call the function again.
    """

    def __init__(self, function: Callable[..., Any], maxsize: int | None, typed: bool) -> None:
        self._function = function
        self._maxsize = maxsize
        self._room = MAX_CACHED if maxsize is None else min(maxsize, MAX_CACHED)
        self._typed = typed
        self._results: dict[Any, Any] = {}
        self._hits = self._misses = 0

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        key = hashable(self._key(args, kwargs))
        hash(key)  # an empty dict would not ask for it
        result = self._results.pop(key, _MISSING)
        if result is _MISSING:
            self._misses += 1
            result = self._function(*args, **kwargs)
            self._results.pop(key, None)
        else:
            self._hits += 1
        if self._room > 0:
            self._results[key] = result
            while len(self._results) > self._room:
                del self._results[next(iter(self._results))]
        return result

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._typed:
            return (args, *kwargs.items(), *map(type, (*args, *kwargs.values())))
        if len(args) == 1 and not kwargs and type(args[0]) in _KEYS:
            return args[0]  # Python tells f(1) from f(True) this way, and not f(1, 2) from f(True, 2)
        return (args, *kwargs.items())

    def info(self) -> CacheInfo:
        return CacheInfo((self._hits, self._misses, self._maxsize, len(self._results)))

    def clear(self) -> None:
        self._results.clear()
        self._hits = self._misses = 0


def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    """functools.lru_cache: what it keeps ends with the execution."""
    if callable(maxsize) and maxsize is not bool:
        return _cached(maxsize, 128, False)
    if maxsize is not None and type(maxsize) not in (int, bool):
        raise TypeError("Expected first argument to be an integer, a callable, or None")
    return lambda function: _cached(function, None if maxsize is None else max(0, maxsize), bool(typed))


def cache(function: Callable[..., Any], /) -> Callable[..., Any]:
    """functools.cache."""
    return _cached(function, None, False)


def _cached(function: Callable[..., Any], maxsize: int | None, typed: bool) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError("the first argument must be callable")
    kept = _Cache(function, maxsize, typed)

    def call(*args: Any, **kwargs: Any) -> Any:
        return kept.call(args, kwargs)

    if _is_of_script(function):
        # of the script, too: in a class it becomes a method
        call.__name__, call.__qualname__, call.__module__ = function.__name__, function.__qualname__, SCRIPT_MODULE
    setattr(call, OFFERED, {"cache_info": kept.info, "cache_clear": kept.clear})
    return call


class CachedProperty:
    """functools.cached_property: computed once per object, and then an attribute of it."""

    __slots__ = ("_function", "_name")

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if not _is_of_script(function):
            raise TypeError("cached_property needs a function of the script")
        self._function = function
        self._name = function.__name__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = self._function(instance)
        instance.__dict__[self._name] = value
        return value


# Orders.


def _method(kind: Any, name: str, method: Callable[..., Any]) -> None:
    method.__name__, method.__qualname__ = name, f"{kind.__qualname__}.{name}"
    type.__setattr__(kind, name, method)


def compare_to_key(compare: Callable[[Any, Any], Any]) -> Any:
    """functools.cmp_to_key: a class of the script's kind, so that the guards know that comparing runs its code."""
    kind: Any = ScriptClass("K", (), {"__module__": SCRIPT_MODULE, "__qualname__": "K"})

    def initialize(self: Any, obj: Any) -> None:
        self.obj = obj

    def ordered(test: Callable[[Any], bool]) -> Callable[[Any, Any], Any]:
        def apply(self: Any, other: Any) -> Any:
            if type(other) is not kind:
                raise TypeError("other argument must be K instance")
            current_meter().check()
            return test(comparable(compare(self.obj, other.obj)))

        return apply

    _method(kind, "__init__", initialize)
    for name, test in _SIGNS.items():
        _method(kind, name, ordered(test))
    type.__setattr__(kind, "__hash__", None)
    return kind


_SIGNS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "__lt__": lambda sign: sign < 0,
    "__le__": lambda sign: sign <= 0,
    "__gt__": lambda sign: sign > 0,
    "__ge__": lambda sign: sign >= 0,
    "__eq__": lambda sign: sign == 0,
}


def _derive(root: str, wanted: str) -> Callable[[Any, Any], Any]:
    """Return `wanted`, made of `root` and `==`."""

    def apply(self: Any, other: Any) -> Any:
        current_meter().check()
        known = getattr(type(self), root)(self, other)
        if known is NotImplemented:
            return NotImplemented
        if {root, wanted} in ({"__lt__", "__ge__"}, {"__gt__", "__le__"}):
            return not known
        if wanted[2] == root[2]:
            return (known or self == other) if wanted[3] == "e" else (known and self != other)
        return (not known and self != other) if wanted[3] == "t" else (not known or self == other)

    return apply


def total_ordering(kind: Any) -> Any:
    """functools.total_ordering."""
    if type(kind) is not ScriptClass:
        raise TypeError("total_ordering needs a class of the script")
    signs = ("__lt__", "__le__", "__gt__", "__ge__")
    roots = [sign for sign in signs if script_defines(kind, sign)]
    if not roots:
        raise ValueError("must define at least one ordering operation: < > <= >=")
    for sign in signs:
        if sign not in roots:
            _method(kind, sign, _derive(roots[0], sign))
    return kind


CALLING: Final[Mapping[str, Mapping[str, Any]]] = {
    "functools": {
        "reduce": reduce,
        "partial": partial,
        "wraps": wraps,
        "lru_cache": lru_cache,
        "cache": cache,
        "cached_property": CachedProperty,
        "cmp_to_key": compare_to_key,
        "total_ordering": total_ordering,
    },
}
