# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of controller.launch.py as users get them, for a slower and busier machine."""

from __future__ import annotations

from pathlib import Path
import re

_CONFIG = Path(__file__).parents[2] / 'config'


def slow_nodes(folder: Path, rate: float) -> list[str]:
    """
    Return arguments of the launch file: usual parameters, a lower rate, states that may be late.

    :param folder: where the files are written.
    :param rate: of states and commands, Hz.
    """
    given = []
    for argument, name, changes in (
            ('params_file', 'controller', {
                'nominal_rate': rate, 'minimum_rate': 0.1 * rate, 'state_timeout': 1.0}),
            ('simulator_params_file', 'simulator', {'state_rate': rate, 'substeps': 10})):
        text = (_CONFIG / f'{name}.yaml').read_text()
        for key, value in changes.items():
            text, count = re.subn(rf'^( +{key}): \S+', rf'\1: {value}', text, flags=re.M)
            assert count == 1, key
        file = folder / f'{name}.yaml'
        file.write_text(text)
        given.append(f'{argument}:={file}')
    return given
