# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Modes of the user, declared in a Python file that the parameter file names.

The file is code that runs in the controller's process. Who may write the parameter file may run
code anyway; over ROS the file can be neither chosen nor changed. It is read when the controller is
configured, and nothing that is made from it is kept on disk.
"""

from __future__ import annotations

from pathlib import Path
import traceback
from types import ModuleType

from rbd_ros.control.modes import Mode, MODES
from rbd_ros.control.parameters.table import PARAMETERS
from rbd_ros.errors import SettingError

__all__ = ['read_modes']


def read_modes(path: str) -> tuple[Mode, ...]:
    """
    Return the modes that a file declares as ``MODES``.

    :param path: of a Python file; empty: no modes.
    :raises SettingError: names the file and what is wrong with it.
    """
    if not path:
        return ()
    file = Path(path).expanduser()
    where = f'mode_file "{path}"'
    if not file.is_absolute():
        raise SettingError(f'{where} must be an absolute path')
    try:
        text = file.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f'{where} cannot be read: {error}') from error
    module = ModuleType(f'mode_file_{file.stem}')
    module.__file__ = str(file)
    try:
        # Not imported: an import would leave compiled code on the disk.
        exec(compile(text, str(file), 'exec'), vars(module))
    except SettingError as error:
        raise SettingError(f'{where}: {error}') from error
    except Exception as error:
        line = next((frame.lineno for frame in reversed(traceback.extract_tb(error.__traceback__))
                     if frame.filename == str(file)), getattr(error, 'lineno', None))
        raise SettingError(f'{where} line {line}: {type(error).__name__}: {error}') from error
    return _checked(where, str(file), getattr(module, 'MODES', None))


def _checked(where: str, file: str, declared: object) -> tuple[Mode, ...]:
    """Return what a file has declared, refusing what is no new mode."""
    if not isinstance(declared, (list, tuple)) or not declared:
        raise SettingError(f'{where} must declare its modes: MODES = (own_mode(...),)')
    taken = set(MODES)
    for mode in declared:
        if not isinstance(mode, Mode) or mode.law is None:
            raise SettingError(f'{where}: MODES must hold what own_mode returns, not {mode!r}')
        if mode.name in taken:
            raise SettingError(f'{where}: there is a mode {mode.name} already: choose another '
                               'name')
        if common := set(mode.rows) & set(PARAMETERS):
            raise SettingError(f'{where}: there is a parameter {min(common)} already: choose '
                               f'another name than {mode.name}')
        taken.add(mode.name)
    return tuple(mode._replace(file=file) for mode in declared)
