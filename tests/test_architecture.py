"""The rules that the folders keep: layers, no cycles, SQL and the environment in their places."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Container, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {"picloud": ROOT / "picloud", "picloud.actors": ROOT / "actors", "picloud.http": ROOT / "http"}

LAYERS: dict[str, set[str]] = {
    "foundation": set(),
    "db": {"foundation"},
    "sdk": {"foundation"},
    "engine": {"foundation", "sdk"},
    "actors.runtime": set(),
    "actors": {"foundation", "db", "engine", "actors.runtime"},
    "http": {"foundation", "db", "engine", "actors", "actors.runtime"},
    "testing": {"foundation", "engine", "sdk"},
    "bench": {"foundation", "db", "engine", "actors", "actors.runtime", "http"},
    "cli": {"foundation", "db", "engine", "bench"},
    "app": {"foundation", "db", "engine", "actors", "actors.runtime", "http", "bench", "cli"},
}
"""What each room may import, besides itself."""
FOUNDATION = {
    "picloud", "backoff", "catch_up", "config", "cron_spec", "dead_letter_spec", "durations", "errors", "field_checks",
    "key_values", "logs", "mail_event", "mail_parsing", "mail_spec", "manifest", "manifest_cron",
    "manifest_dead_letters", "manifest_email", "manifest_faults", "manifest_queues", "names", "payload", "route_rules",
    "routes", "schedules", "signals", "types", "version", "zones",
}  # fmt: skip
MAY_READ_ENVIRONMENT = {
    "picloud/config.py",
    "picloud/db/binaries.py",  # PATH: where programs are, not a setting
    "picloud/db/cluster.py",  # the environment of child processes
    "picloud/db/embedded.py",
    "picloud/bench/data_plane.py",  # the environment of child processes
    "picloud/db/server_user.py",
    "picloud/cli/up.py",  # whether PICLOUD_HOME is set, to print commands that can be pasted
}


def sources() -> list[tuple[str, Path]]:
    """Every module of the product with its dotted name; the links are left out."""
    found = []
    for room, folder in ROOMS.items():
        for path in sorted(folder.rglob("*.py")):
            relative = path.relative_to(folder)
            if any((folder / part).is_symlink() for part in [relative.parts[0]]):
                continue
            parts = [room, *relative.with_suffix("").parts]
            found.append((".".join(part for part in parts if part != "__init__"), path))
    return found


SOURCES = sources()


def layer_of(module: str) -> str:
    parts = module.split(".")[1:]
    if not parts or parts[0] in FOUNDATION:
        return "foundation"
    if parts[:2] == ["actors", "runtime"]:
        return "actors.runtime"
    return "app" if parts[0] == "__main__" else parts[0]


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_imports(tree: ast.Module, modules: Container[str]) -> Iterator[str]:
    """Modules of ours that are loaded when this one is; a package's own names count for the package."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module or ""


@pytest.mark.parametrize(("module", "path"), SOURCES, ids=[name for name, _ in SOURCES])
def test_module_imports_only_what_its_layer_may(module: str, path: Path) -> None:
    layer = layer_of(module)
    allowed = LAYERS[layer] | {layer}
    for name in imports(ast.parse(path.read_text())):
        if name == "picloud" or name.startswith("picloud."):
            other = layer_of(name)
            assert other in allowed or name == "picloud.cli", f"{module} ({layer}) imports {name} ({other})"
        else:
            assert name.split(".")[0] not in {"actors", "migrations"}, f"{module} imports {name}: use picloud.{name}"


@pytest.mark.parametrize(
    ("module", "path"), [s for s in SOURCES if layer_of(s[0]) == "actors.runtime"], ids=lambda value: str(value)[-20:]
)
def test_runtime_imports_trio_and_the_standard_library_only(module: str, path: Path) -> None:
    for name in imports(ast.parse(path.read_text())):
        top = name.split(".")[0]
        assert top in sys.stdlib_module_names or top == "trio" or name.startswith("picloud.actors.runtime"), name


def test_no_import_cycles() -> None:
    modules = dict(SOURCES)
    graph = {
        name: {other for other in module_imports(ast.parse(path.read_text()), modules) if other in modules} - {name}
        for name, path in modules.items()
    }
    state: dict[str, int] = {}

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if state.get(name) == 2:
            return
        assert state.get(name) != 1, " → ".join([*trail[trail.index(name) :], name])
        state[name] = 1
        for other in graph[name]:
            visit(other, (*trail, name))
        state[name] = 2

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize(("module", "path"), SOURCES, ids=[name for name, _ in SOURCES])
def test_files_and_functions_stay_small(module: str, path: Path) -> None:
    text = path.read_text()
    if module != "picloud.errors":  # one list, which grows with the product
        assert text.count("\n") <= 400, "a file over 400 lines: which idea is missing?"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 60, f"{node.name} is over 60 lines"


@pytest.mark.parametrize(("module", "path"), SOURCES, ids=[name for name, _ in SOURCES])
def test_environment_is_read_in_one_place(module: str, path: Path) -> None:
    where = str(path.relative_to(ROOT))
    if where in MAY_READ_ENVIRONMENT:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            assert node.attr not in {"environ", "getenv"}, f"{where} reads the environment: that is config.py's work"


@pytest.mark.parametrize(("module", "path"), SOURCES, ids=[name for name, _ in SOURCES])
def test_nothing_swallows_a_cancellation(module: str, path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = ast.unparse(node.type) if node.type is not None else "BaseException"
        if "Cancelled" in caught or "BaseException" in caught:
            raises = any(isinstance(part, ast.Raise) for part in ast.walk(node))
            assert raises, f"{module}:{node.lineno} catches {caught} and does not raise it again"


def test_http_is_no_package_and_the_standard_librarys_is_found_from_the_root() -> None:
    assert not (ROOT / "http" / "__init__.py").exists()
    code = "import http.client, picloud.http.app; print(http.client.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert str(ROOT) not in done.stdout


def test_command_line_starts_without_the_heavy_modules() -> None:
    code = (
        "import sys, picloud.app; "
        "print(sorted(set(sys.modules) & {'quart', 'rich', 'httpx', 'regex', 'RestrictedPython', 'psycopg', 'trio'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_links_are_links_and_the_top_level_holds_what_it_may() -> None:
    for name in ("actors", "http", "migrations"):
        link = ROOT / "picloud" / name
        assert link.is_symlink()
        assert link.readlink() == Path("..") / name
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    top = {line.split("/")[0] for line in listed if line} - {""}
    allowed = {
        "pyproject.toml", "picloud", "actors", "http", "migrations", "tests", "examples", "docker", "README.md",
        "CHANGELOG.md", "LICENSE",
    }  # fmt: skip
    assert {name for name in top if not name.startswith(".")} <= allowed
