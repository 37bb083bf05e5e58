# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The parameter file of a described robot: what its description says, in the template."""

from __future__ import annotations

from rbd_ros.control.parameters.template import Described, parameter_file
from rbd_ros.control.robot import make_robot, Robot
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.model.urdf import load_urdf

__all__ = ['config_text']


def config_text(urdf: str, origin: str, *, joints: list[str] | None = None, rate: float = 500.0,
                choices: dict[str, str] | None = None, everything: bool = False) -> str:
    """
    Return the parameter file of a described robot.

    :param urdf: the text of the description.
    :param origin: where it came from.
    :param joints: controlled joints in the order of the commands; None: all movable ones.
    :param rate: of joint_states, Hz.
    :param choices: answers that are known already.
    :param everything: whether every other parameter follows as a comment.
    """
    doubts: list[str] = []
    model = load_urdf(urdf, limits_optional=True, on_warning=doubts.append)
    robot = make_robot(model, joints or ())
    described = Described(
        model.name, robot.joints, robot.pick(model.effort_limit),
        robot.pick(model.velocity_limit), robot.tip, origin, rate,
        _closed(robot) if model.loops else None, doubts)
    return parameter_file(described, choices=choices, everything=everything)


def _closed(robot: Robot) -> dict[str, float]:
    """Return a closed position, which names one way of assembly."""
    q = Dynamics(robot.model, progress=lambda *_: None).loop_report.q
    return dict(zip(robot.model.independent_joint_names, q.tolist(), strict=True))
