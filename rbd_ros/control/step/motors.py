# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What motors that close their own loop get, in each state of the supervisor."""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.laws.law_records import LawCode
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.step.state import Parameters, State
from rbd_ros.control.supervisor.due import is_frozen, is_live, is_working
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.control.torque.motor import share_torque

__all__ = ['command_motors']


def command_motors(x: State, u: Event, p: Parameters, y: Result) -> None:
    """
    Divide the torque that is sent between the gains of the motors and their torques.

    A law that follows joint references gives them its references and all their gains, which ramp
    in with those of the law. Laws without such references have no stiffness that a motor could
    take over, and a stop gives way: there motors only damp changes of the velocity. Without a
    state they damp all motion, for they have the velocity. A sensor that is frozen may be the
    motor's own: then they get the torque alone.

    :param x: state after the step.
    :param u: what happened.
    :param p: parameters.
    :param y: result, with a torque that is to be sent.
    """
    live = u.kind == Kind.STATE and is_live(x.command.supervisor)
    works = is_working(x.command.supervisor)
    tracks = works and x.laws.tracks()
    share = 0.0 if is_frozen(x.command.supervisor) else 1.0
    if works:
        share = min(max(x.command.supervisor.gain, 0.0), 1.0)
    for j in range(len(y.torque)):
        i = place_of(p.structure, j)
        q, qd = x.joints.q[i], x.joints.qd[i]
        if not live:
            qd = 0.0
            _want(y.motor, j, q, 0.0, 0.0, p.motor.blind_damping[j] * share)
        elif tracks:
            _want(y.motor, j, q + x.laws.joint.error[j], x.references.joint.profile.state[1, j],
                  share * p.motor.stiffness[j], share * p.motor.damping[j])
        else:
            damping = p.motor.damping[j]
            floats = x.command.supervisor.state == StateCode.FLOATING
            if floats or (works and x.laws.law == LawCode.FREE):  # no more than the law itself
                damping = min(damping, x.design.free_damping[j])
            _want(y.motor, j, q, qd, 0.0, share * damping)
        share_torque(y.motor, j, q, qd, y.torque[j])


def _want(motor: Matrix, j: int, position: float, velocity: float, stiffness: float,
          damping: float) -> None:
    """Say where a motor shall go, how fast, and with which gains."""
    motor[0, j], motor[1, j] = position, velocity
    motor[2, j], motor[3, j] = stiffness, damping
