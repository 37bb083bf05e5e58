# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The command ``rbd`` and its parts.

Each command is a module of this folder: its docstring is the help text, its function ``run`` has
the options, or its ``app`` has commands of its own. These modules import nothing heavy at the top,
so that ``rbd --help`` and shell completion answer at once.
"""

from __future__ import annotations

from pathlib import Path
import re
from types import ModuleType
from typing import Any
import warnings

from rbd_ros.command_line.commands import (
    bench, check, codegen, compare, config, contact, doctor, excite, identify, info, learn, ops,
    plot, record, replay, robots, teach, tool, torque, view)
from rbd_ros.command_line.options import decimal_comma
from rbd_ros.command_line.output import warn
from rbd_ros.errors import nearest_file, RbdError, YAML_FILES
from rbd_ros.quoting import one_line
from rbd_ros.version import VERSION
import typer
from typer.core import TyperGroup

__all__ = ['app']

#: The commands, by their headings in the help.
PANELS: dict[str, tuple[ModuleType, ...]] = {
    'Look at a robot': (info, check, view, robots),
    'Compute': (torque, compare, ops, bench),
    'Make files': (codegen, config),
    'Recordings': (record, plot, replay, excite, identify, tool, contact),
    'Motions': (teach,),
    'The book': (learn,),
    'This machine': (doctor,),
}
#: What typer says of a number with a comma.
_NO_NUMBER = re.compile(r"'([^']*,[^']*)' is not a valid float(?: range)?")
#: Exit code of a command that could not do its work: wrong usage, or wrong input.
USAGE = 2

_HELP = """
Rigid-body dynamics of a robot from its URDF: look at it, check it, compute with it.

    rbd info robot.urdf
    rbd check robot.urdf
    rbd torque robot.urdf --q 0,0.4,0,-1.2,0,0.8,0

A ROBOT is a URDF or xacro file, a package:// address, a name such as panda (rbd robots lists
them), or - for standard input. Every command has --help, and --json for scripts unless it asks
questions. Exit codes: 0 fine, 1 the command ran and found something wrong, 2 it could not run
(usage, or input that cannot be read), 130 it was interrupted by Ctrl-C.
"""


class Commands(TyperGroup):
    """The commands; an error of the package ends one with a single line, not a traceback."""

    def invoke(self, ctx: Any) -> object:      # of a private type of typer
        """Run the chosen command."""
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: warn(str(message))
            return self._invoke(ctx)

    def _invoke(self, ctx: Any) -> object:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _NO_NUMBER.sub(
                lambda found: f"'{found[1]}' is not a number{decimal_comma(found[1])}",
                error.message)
            raise
        except RbdError as error:
            text = str(error)
        except OSError as error:
            if error.strerror is None or error.filename is None:
                raise
            text = f'{error.strerror}: {error.filename}'
            if isinstance(error, FileNotFoundError):
                name = str(error.filename)
                kind = Path(name).suffix
                text += nearest_file(name, YAML_FILES if kind in YAML_FILES else
                                     tuple(filter(None, [kind])))
        # a name in a file of others must not reach the terminal as a command
        shown = one_line(text, ends='\n')
        typer.echo(f'rbd {ctx.invoked_subcommand}: error: {shown}', err=True)
        raise typer.Exit(USAGE)


def help_text(text: str | None) -> str:
    """
    Return a help text that keeps the line breaks of its indented paragraphs, the examples.

    :param text: a docstring.
    """
    escaped = (text or '').strip().replace('[', r'\[')  # rich takes brackets for its markup
    paragraphs = escaped.split('\n\n')
    return '\n\n'.join(f'\b\n{each}' if each.startswith(' ') else each.replace('\n', ' ')
                       for each in paragraphs)


app = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode='rich',
                  pretty_exceptions_enable=False, help=help_text(_HELP),
                  context_settings={'help_option_names': ['-h', '--help']})


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f'rbd_ros {VERSION}')
        raise typer.Exit


@app.callback()
def options(version: bool = typer.Option(  # inside Annotated, typer 0.9 loses the callback
        False, '--version', callback=_version, is_eager=True, help='Print the version.')) -> None:
    """Handle the options that come before the command."""


for _panel, _modules in PANELS.items():
    for _module in _modules:
        _name, _about = _module.__name__.rpartition('.')[2], help_text(_module.__doc__)
        if hasattr(_module, 'app'):  # a command with commands of its own
            app.add_typer(_module.app, name=_name, help=_about, rich_help_panel=_panel)
        else:
            app.command(_name, help=_about, rich_help_panel=_panel)(_module.run)
