# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Forward dynamics of closed loops next to Pinocchio, and its cost over the number of loops."""

from __future__ import annotations

from functools import partial
from pathlib import Path
import time

from benchmark.picture import draw
from benchmark.proof import same
import numpy as np
import pinocchio as pin

import rbd_ros
from rbd_ros.command_line.timing import best_times
from rbd_ros.joints import Joint, Revolute, Universal
from rbd_ros.model.model import Model
from rbd_ros.samples import mechanisms
from rbd_ros.spatial import Transform

MECHANISMS = {'four_bar': mechanisms.four_bar, 'five_bar': mechanisms.five_bar,
              'delta': mechanisms.delta}
#: Numbers of loops of ladders.
SIZES = (2, 5, 10, 20, 35, 50)
PICTURE = Path('benchmark') / 'loops.png'


class Peer:
    """
    A mechanism of hinges, universal joints and balls as a model of Pinocchio.

    A loop is closed by one point: of a hinge in a plane that is all that counts.
    """

    def __init__(self, model: Model) -> None:
        self.model = pin.Model()
        self.model.gravity.linear = np.array(model.gravity)
        for i in range(1, model.nb + 1):
            self.model.addJoint(model.parent[i], _joint(model.joint[i]), _placed(model.X_T[i]),
                                model.joint_names[i - 1])
            body = model.inertia[i]
            c = np.array(list(body.h)) / body.m
            I = np.array(body.I.to_list()) - body.m * (c @ c * np.eye(3) - np.outer(c, c))
            self.model.appendBodyToJoint(i, pin.Inertia(body.m, c, I), pin.SE3.Identity())
        self.data = self.model.createData()
        self.contacts = pin.StdVec_RigidConstraintModel()
        self.datas = pin.StdVec_RigidConstraintData()
        for loop in model.loops:
            self.contacts.append(pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, self.model, loop.predecessor, _placed(loop.X_P),
                loop.successor, _placed(loop.X_S)))
            self.datas.append(self.contacts[-1].createData())
        self.settings = pin.ProximalSettings(1e-12, 1e-10, 20)
        pin.initConstraintDynamics(self.model, self.data, self.contacts, self.datas)

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations that its constrained dynamics gives."""
        return pin.constraintDynamics(self.model, self.data, q, qd, tau, self.contacts,
                                      self.datas, self.settings)


def _joint(joint: Joint) -> object:
    if isinstance(joint, Revolute):
        return pin.JointModelRevoluteUnaligned(*joint.axis)
    if isinstance(joint, Universal):
        return pin.JointModelUniversal(np.array(joint.axis1), np.array(joint.axis2))
    return pin.JointModelSpherical()


def _placed(X: Transform) -> pin.SE3:
    return pin.SE3(np.array(X.E.to_list()).T, np.array(list(X.r)))


def report() -> tuple[str, dict[str, object]]:
    """Return the tables as text and as data; also draw the picture."""
    lines = [f'{"mechanism":>10}{"ours":>12}{"pinocchio":>13}{"ratio":>8}{"difference":>12}']
    numbers: dict[str, object] = {}
    for name, make in MECHANISMS.items():
        model, start = make()
        robot, peer = rbd_ros.Dynamics(model, closed_near=start), Peer(model)
        rng = np.random.default_rng(0)
        q = robot.assemble(start).require()
        qd = robot.consistent_velocity(q, rng.normal(size=model.nv))
        tau = rng.normal(size=model.nv)
        found, theirs = robot.forward_dynamics(q, qd, tau), peer.forward_dynamics(q, qd, tau)
        same(name, found, theirs, 1e-5)
        off = float(np.abs(found - theirs).max() / np.abs(found).max())
        ours, other = best_times(partial(robot.forward_dynamics, q, qd, tau),
                                 partial(peer.forward_dynamics, q, qd, tau))
        lines.append(f'{name:>10}{ours * 1e6:9.2f} us{other * 1e6:10.2f} us{other / ours:7.1f}x'
                     f'{off:12.1e}')
        numbers[name] = {'us': ours * 1e6, 'pinocchio_us': other * 1e6, 'difference': off}
    lines += ['', f'{"loops":>10}{"compiled in":>14}{"operations":>12}{"call":>12}']
    times, counts, compiled = [], [], []
    for n in SIZES:
        model, start = mechanisms.ladder(n)
        robot = rbd_ros.Dynamics(model, cache=False, closed_near=start)
        begin = time.perf_counter()
        bound = robot.bind('forward_dynamics', method='hinged')
        compiled.append(time.perf_counter() - begin)
        bound.inputs['q'][:] = start
        bound()
        other = robot.independent_equations(start, np.zeros(model.nv))
        same(model.name, next(iter(bound.outputs.values())),
             other.G @ np.linalg.solve(other.H, -other.C) + other.g, 1e-6)
        times.append(best_times(bound, repetitions=200)[0] * 1e6)
        counts.append(robot.kernel('forward_dynamics', method='hinged').count().total)
        lines.append(f'{n:10}{compiled[-1]:12.1f} s{counts[-1]:12}{times[-1]:9.2f} us')
    draw(PICTURE, SIZES, {'forward dynamics': times}, proportional=True,
         xlabel='loops of a ladder', ylabel='us per call',
         title='Time of a bound call; dotted: proportional to the number of loops')
    lines.append(f'picture: {PICTURE}')
    numbers['ladder'] = {'loops': SIZES, 'us': times, 'operations': counts, 'compile_s': compiled}
    return '\n'.join(lines), numbers
