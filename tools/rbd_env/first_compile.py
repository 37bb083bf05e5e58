# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Compile the controller of the built-in arm while other steps wait for the network.

What is compiled goes to the cache of machine code, where the controller finds it. Run in the
environment of the checkout, which has no ROS yet.
"""

from __future__ import annotations

from pathlib import Path


def main(root: Path) -> None:
    """Compile what the launch file starts without arguments."""
    from rbd_ros.control.controller import Controller
    from rbd_ros.control.parameters.assembly import build_robot, build_settings, compile_kernels
    from rbd_ros.control.parameters.file import check_file
    from rbd_ros.control.parameters.table import defaults

    Controller.prepare()  # compiles the step in threads of its own meanwhile
    values = {**defaults(), **check_file(str(root / 'config' / 'controller.yaml'), '/controller')}
    text = (root / 'urdf' / 'seven_joint_arm.urdf').read_text(encoding='utf-8')
    settings = build_settings(build_robot(values, text, lambda text: None), values,
                              simulated=False)
    Controller(settings, compile_kernels(settings), lambda command: None)


if __name__ == '__main__':
    main(Path(__file__).resolve().parents[2])
