"""What is built is whole: wheel and sdist hold every package, the SQL and the type marker."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".venv*", ".git", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis", "build")
MUST_HOLD = [
    "picloud/py.typed",
    "picloud/app.py",
    "picloud/actors/consumer.py",
    "picloud/actors/runtime/supervisor.py",
    "picloud/http/app.py",
    "picloud/migrations/0001_core.sql",
    "picloud/migrations/0003_dead_letter_triggers.sql",
    "picloud/db/sql/messages.sql",
    "picloud/engine/sandbox/policy.py",
    "picloud/engine/sandbox/modules/numeric.py",
    "picloud/sdk/queue.py",
]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    source = tmp_path_factory.mktemp("build") / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=LEFT_OUT)
    target = source.parent / "dist"
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(source)],
        check=True,
        capture_output=True,
        timeout=300,
    )
    return target


def test_wheel_holds_every_package_and_no_init_for_http(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert set(MUST_HOLD) <= names
    assert "picloud/http/__init__.py" not in names
    assert not [name for name in names if name.startswith(("tests/", "actors/", "http/"))]
    shipped = {name for name in names if name.endswith((".py", ".sql"))}
    assert shipped == {str(path) for path in product_files()}


def test_sdist_holds_what_a_build_needs(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in ("pyproject.toml", "README.md", "LICENSE", "actors/consumer.py", "http/app.py"):
        assert needed in names
    assert "migrations/0001_core.sql" in names
    assert "http/__init__.py" not in names


def test_installed_wheel_runs(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import picloud.http.app; "
        "from picloud.db.migrate import load_migrations; import http.client; "
        "print(picloud.http.app.__file__, len(load_migrations()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60
    )
    file, count = done.stdout.split()
    assert file.startswith(str(tmp_path))
    assert int(count) >= 2


def test_every_package_folder_is_listed() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {".".join(path.parent.parts) for path in product_files()}
    assert folders == listed


def product_files() -> list[Path]:
    """Where each source file of the product lands in a wheel."""
    rooms = {"picloud": ROOT / "picloud", "picloud/actors": ROOT / "actors", "picloud/http": ROOT / "http"}
    rooms["picloud/migrations"] = ROOT / "migrations"
    found = []
    for target, folder in rooms.items():
        for path in folder.rglob("*"):
            relative = path.relative_to(folder)
            linked = (folder / relative.parts[0]).is_symlink()
            if path.suffix in (".py", ".sql") and not linked:
                found.append(Path(target) / relative)
    return found
