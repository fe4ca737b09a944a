"""`picloud check`: compile the scripts of an app's folder, without a server or a database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from picloud.cli.options import json_option
from picloud.cli.screen import print_json
from picloud.cli.wording import show_count
from picloud.errors import InvalidManifest, InvalidName, ScriptInvalid

if TYPE_CHECKING:
    from picloud.manifest import Manifest


@dataclass(frozen=True, slots=True)
class FileFault:
    """One fault of one file. Line and column count from 1; 0 means the whole file."""

    file: str
    line: int
    column: int
    message: str


@click.command("check", short_help="Check scripts against the sandbox's policy.")
@click.argument("app_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def check_command(app_dir: Path, as_json: bool) -> None:
    """Compile every script of APP_DIR (its *.py files, and what its picloud.toml names) and list every fault.

    Exit code 1: there are faults, or no scripts.
    """
    names, faults = _check_folder(app_dir)
    if not names and not faults:
        faults = [FileFault(str(app_dir), 0, 0, "no *.py file in this folder")]
    if as_json:
        print_json({"ok": not faults, "scripts": names, "faults": [asdict(fault) for fault in faults]})
    else:
        _show(names, faults)
    if faults:
        click.get_current_context().exit(1)


def _check_folder(folder: Path) -> tuple[list[str], list[FileFault]]:
    faults: list[FileFault] = []
    manifest: Manifest | None = None
    try:
        manifest = _read_manifest(folder)
    except InvalidManifest as error:
        faults.append(FileFault("picloud.toml", 0, 0, str(error).removeprefix(f"{folder / 'picloud.toml'}: ")))
    paths = sorted(folder.glob("*.py"))
    names = [path.stem for path in paths]
    for path in paths:
        faults += _check_file(path)
    if manifest is not None:
        for name, source in manifest.scripts.items():
            if name not in names:
                names.append(name)
                faults += _compile(name, name, source)
    return names, faults


def _read_manifest(folder: Path) -> Manifest | None:
    from picloud.manifest import FILE_NAME, load_manifest

    return load_manifest(folder) if (folder / FILE_NAME).exists() else None


def _check_file(path: Path) -> Iterator[FileFault]:
    from picloud.engine.folder import read_source
    from picloud.names import check_script_name

    try:
        check_script_name(path.stem)
        source = read_source(path)
    except InvalidName as error:
        yield FileFault(path.name, 0, 0, str(error))
    except ScriptInvalid as error:
        yield from _faults(path.name, error)
    else:
        yield from _compile(path.name, path.stem, source)


def _compile(file: str, name: str, source: str) -> Iterator[FileFault]:
    from picloud.engine.sandbox import compile_script

    try:
        compile_script(source, name)
    except ScriptInvalid as error:
        yield from _faults(file, error)


def _faults(file: str, error: ScriptInvalid) -> Iterator[FileFault]:
    for fault in error.faults:
        yield FileFault(file, fault.line, fault.column, fault.message)


def _show(names: list[str], faults: list[FileFault]) -> None:
    for fault in faults:
        place = f"{fault.file}:{fault.line}:{fault.column}" if fault.line else fault.file
        click.echo(f"{click.style(place, bold=True)}: {fault.message}")
    if faults:
        click.echo(f"{show_count(len(faults), 'fault')} in {show_count(len(names), 'script')}", err=True)
    else:
        click.echo(f"{show_count(len(names), 'script')}: no faults")
