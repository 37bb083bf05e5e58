# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
One kernel per law: dynamics, law and barriers, traced and compiled together.

Every kernel gets the vectors of the whole model and gives the controlled joints: joints that
are not controlled move with their measured velocity and without acceleration, unless they are
passive. A passive joint has a known force instead, so that the laws find its acceleration with
the torques of the others: hybrid dynamics (RBDA 9.1). Of a robot with closed loops everything is
projected on the driven joints, which move all others. Gains, gravity, payload and references are
inputs, so that changing them compiles nothing. Limits and checks are procedures, not part of a
kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TYPE_CHECKING

from rbd_ros.compiler import clamp, less, where
from rbd_ros.control.kernels import barriers
from rbd_ros.control.kernels import impedance
from rbd_ros.control.kernels import joint_space
from rbd_ros.control.kernels import operational_space
from rbd_ros.control.kernels import own_law
from rbd_ros.control.kernels import passive
from rbd_ros.control.kernels import proportion
from rbd_ros.control.kernels import sensor
from rbd_ros.control.kernels.closed_loop_terms import LoopTerms
from rbd_ros.control.kernels.declared import DECLARED
from rbd_ros.control.kernels.own_law import law_of, LawTerms, own_shapes
from rbd_ros.control.kernels.proportion import in_proportion
from rbd_ros.control.kernels.terms import Terms
from rbd_ros.control.kernels.tip import AXES, Tip
from rbd_ros.dynamics.quantity import OnLoops, Quantity
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.dynamics.state import tree_state

if TYPE_CHECKING:
    from rbd_ros.compiler import Bound, Graph, Scalar
    from rbd_ros.control.robot import Robot
    from rbd_ros.control.modes import Mode
    from rbd_ros.dynamics.state import State

    Vector = Sequence[Scalar]
    Outputs = dict[str, Sequence[Any]]
    Shapes = dict[str, tuple[int, ...]]

__all__ = ['KERNELS', 'LawKernels']

KERNELS = ('stop', 'float', 'damping', 'joint', 'task', 'impedance', 'report', 'momentum',
           'contact')

#: modules that are traced, besides the algorithms
_TRACING = (__name__, Terms.__module__, LoopTerms.__module__, Tip.__module__, *(
    module.__name__ for module in (
        barriers, impedance, joint_space, operational_space, own_law, passive, proportion,
        sensor)))
#: inputs that every robot knows
_KNOWN = ('q', 'qd', 'max_condition')
#: inputs that belong to the robot, and that a quantity has by itself
_OF_ROBOT = ('gravity', 'payload')
#: kernels that depend on the tip and its axes
_OF_TIP = ('task', 'impedance', 'report', 'sensor')
#: kernels that know nothing of what the driver adds
_WITHOUT_DRIVER = ('report', 'momentum', 'contact', 'loops', 'sensor')
_BARRIER = barriers.Barrier._fields


class LawKernels:
    """Traces and compiles the kernels of one robot."""

    def __init__(self, robot: Robot, *, driver_adds: str, driver_knows_payload: bool,
                 axes: Sequence[str] = AXES) -> None:
        """
        Fix what is part of the structure.

        :param robot: model and controlled joints.
        :param driver_adds: 'none', 'gravity' or 'gravity_and_coriolis'.
        :param driver_knows_payload: whether what the driver adds has the payload.
        :param axes: directions of the tip under motion control; a wrench acts along all.
        """
        self.robot = robot
        self._driver_adds, self._knows = driver_adds, driver_knows_payload
        self._axes = tuple(axes)
        self._terms = LoopTerms(robot) if robot.model.loops else Terms(robot)
        self._tip = Tip(self._terms, axes)
        self._dynamics = self._made_dynamics(cache=True)
        self._own = [mode for mode in robot.modes.values() if mode.law is not None]
        self._functions: dict[str, Callable[[State], Outputs]] = {
            'stop': self._stop, 'float': self._float, 'damping': self._damping,
            'joint': self._joint, 'task': self._task, 'impedance': self._impedance,
            'report': self._tip.report, 'momentum': self._momentum, 'contact': self._contact,
            'loops': self._loops, 'own': self._of_own,
            'sensor': lambda s: sensor.sensor_outputs(s, self._terms)}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the kernels that the robot needs."""
        return (*KERNELS, *(('loops',) if self.robot.model.loops else ()),
                *(('own',) if self._own else ()),
                *(('sensor',) if self.robot.sensor else ()))

    def compile(self, name: str) -> Bound:
        """
        Return one kernel with buffers of its own.

        :param name: out of ``names``.
        """
        with self._known(name) as (dynamics, quantity):
            return dynamics.bind(quantity)

    def graph(self, name: str) -> Graph:
        """
        Return what a kernel computes.

        :param name: out of ``names``.
        """
        with self._known(name) as (dynamics, quantity):
            return dynamics.kernel(quantity).graph

    @contextmanager
    def _known(self, name: str) -> Iterator[tuple[Dynamics, str]]:
        """Give what knows a kernel as one of its quantities, and the name of that."""
        quantity = self._quantity(name)
        foreign = name == 'own' and any(mode.foreign for mode in self._own)
        dynamics = self._made_dynamics(cache=False) if foreign else self._dynamics
        dynamics.add(quantity)
        try:
            yield dynamics, quantity.name
        finally:
            dynamics.remove(quantity)  # a reference cycle would keep the code alive

    def _made_dynamics(self, *, cache: bool) -> Dynamics:
        """Return what compiles kernels; the disk keeps nothing that has code of a user."""
        robot = self.robot
        return Dynamics(robot.model, payload_frame=robot.payload_frame, cache=cache,
                        progress=lambda *_: None, closed_near=robot.assembly or None)

    def _quantity(self, name: str) -> Quantity:
        """Return a kernel as a quantity; its key is all that its graph depends on, and no more."""
        robot, n = self.robot, len(self.robot.joints)
        sizes = {'n': n, 'm': robot.model.nq, 'values': max(_size(self._own, n), 1)}
        shapes = {each.traced: each.shape(sizes) for each in DECLARED[name].ports('takes')
                  if each.traced not in _OF_ROBOT}
        rules = {'rule': self._rule(name)}
        return Quantity(
            f'law_{name}', tuple(shapes), rules, ('gravity',),
            shapes={key: shape for key, shape in shapes.items() if key not in _KNOWN},
            modules=(*_TRACING, *self._sources(name)), loops=OnLoops(rules, regular=True),
            bound=True,
            key=(type(self), robot.index, tuple(robot.continuous), robot.passive, robot.assembly,
                 self._tip_of(name), self._driver_of(name),
                 robot.sensor if name in ('sensor', 'impedance') else '',
                 tuple(mode.name for mode in self._own) if name == 'own' else ()))

    def _sources(self, name: str) -> list[str]:
        """Return the modules of the law functions of the package."""
        return [str(mode.law.__module__) for mode in self._own if not mode.foreign
                ] if name == 'own' else []

    def _tip_of(self, name: str) -> tuple[object, ...]:
        """Return what a kernel knows of the tip."""
        if name in _OF_TIP:
            return self.robot.tip, self._axes
        return (self.robot.tip,) if name == 'contact' else ()

    def _driver_of(self, name: str) -> tuple[object, ...]:
        """Return what a kernel knows of the driver; the others are the same for each."""
        if name in _WITHOUT_DRIVER:
            return ()
        return (self._driver_adds, self._knows) if self._driver_adds != 'none' else ('none',)

    def _rule(self, name: str) -> Callable[[State], Outputs]:
        """Return what a kernel computes, with the passive joints of closed loops solved."""
        function, close = self._functions[name], self._terms.closed
        if name == 'loops':  # which solves them itself
            return function
        return lambda s: function(close(_unpacked(s)))

    # -- kernels ------------------------------------------------------------------------------

    def _basics(self, s: State) -> Outputs:
        """Return gravity and what the driver adds by itself."""
        gravity = self._terms.gravity(s)
        known: dict[str, None] = {} if self._knows else {'payload': None}
        if self._driver_adds == 'gravity':
            driver = self._terms.gravity(s, **known)
        elif self._driver_adds == 'gravity_and_coriolis':
            driver = self._terms.bias(s, **known)
        else:
            driver = [0.0] * len(gravity)
        return {'gravity': gravity, 'driver': driver}

    def _stop(self, s: State) -> Outputs:
        """Return the basics, and the torque that lets the velocities of all joints decay alike."""
        x, basics = s.inputs, self._basics(s)
        rate, load, qd = x['brake_rate'][0], x['load'], self._terms.pick(x['qd'])
        brake = self._terms.torque(s, [-rate * v for v in qd])
        carried = [g - r for g, r in zip(basics['gravity'], load, strict=True)]
        brake = [tau - r - d * (v - clamp(v, -most, most)) for tau, r, d, v, most in zip(
            brake, load, x['damping'], qd, x['allowed'], strict=True)]
        return {**basics, 'brake': in_proportion(brake, carried, x['limit'])}

    def _guarded(self, s: State, basics: Outputs, law: Vector, **more: Sequence[Any]) -> Outputs:
        """Return the torque of a law with the barriers."""
        x = s.inputs
        guarded = barriers.guard(
            self._terms.pick(x['q']), self._terms.pick(x['qd']), basics['gravity'], law,
            barriers.Barrier(*x['barrier']))
        return {'law': guarded, **basics, **more}

    def _float(self, s: State) -> Outputs:
        x, basics = s.inputs, self._basics(s)
        law = joint_space.gravity_compensation(
            self._terms.pick(x['qd']), basics['gravity'], scale=x['scale'],
            friction=joint_space.Friction.of(x), damping=x['damping'])
        return self._guarded(s, basics, law)

    def _damping(self, s: State) -> Outputs:
        x, basics = s.inputs, self._basics(s)
        law = joint_space.damping(self._terms.pick(x['qd']), basics['gravity'], x['damping'])
        return self._guarded(s, basics, law)

    def _joint(self, s: State) -> Outputs:
        x = s.inputs
        q, qd = self._terms.pick(x['q']), self._terms.pick(x['qd'])
        law = joint_space.computed_torque(
            lambda _q, _qd, qdd: self._terms.torque(s, qdd), q, qd, x['reference'],
            stiffness=x['stiffness'], damping=x['damping'], integral=x['integral'],
            continuous=self.robot.continuous)
        # Friction along the reference: the measured velocity would feed its noise back.
        rubbing = joint_space.friction_torque(
            x['reference'][1], joint_space.Friction.of(x))
        law = [tau + f - r for tau, f, r in zip(law, rubbing, x['external'], strict=True)]
        error = joint_space.tracking_error(q, x['reference'][0], self.robot.continuous)
        basics = self._basics(s)
        return self._guarded(s, basics, in_proportion(law, basics['gravity'], x['limit']),
                             error=error)

    def _task(self, s: State) -> Outputs:
        law, known = self._tip.law(s)
        basics = self._basics(s)
        return self._guarded(
            s, basics, in_proportion(law, basics['gravity'], s.inputs['limit']), **known)

    def _impedance(self, s: State) -> Outputs:
        law, known = self._tip.impedance(s)
        basics = self._basics(s)
        return self._guarded(
            s, basics, in_proportion(law, basics['gravity'], s.inputs['limit']), **known)

    def _of_own(self, s: State) -> Outputs:
        """Return what the chosen law function gives."""
        x, n, basics, terms = s.inputs, len(self.robot.joints), self._basics(s), LawTerms(
            self._terms, s)
        law: list[Scalar] = list(basics['gravity'])
        at = 0
        for k, mode in enumerate(self._own):
            given: dict[str, Sequence[Any]] = {}
            for name, (count,) in own_shapes(mode, n).items():
                given[name] = x['values'][at:at + count]
                at += count
            found = law_of(mode, terms, given)
            chosen = less(k - 0.5, x['choice'][0])
            law = [where(chosen, tau, before) for tau, before in zip(found, law, strict=True)]
        return self._guarded(s, basics, in_proportion(law, basics['gravity'], x['limit']),
                             error=terms.error)

    def _momentum(self, s: State) -> Outputs:
        """Return what the momentum observer needs; all joints share in the momentum."""
        terms = self._terms
        return {'H': terms.momentum(s), 'bias': terms.momentum_bias(s),
                'gravity': terms.gravity(s)}

    def _contact(self, s: State) -> Outputs:
        """Return what a wrench at the tip does to the joints, and how the tip moves."""
        tip = self.robot.tip
        return {'J': self._terms.jacobian(s, tip), 'velocity': self._terms.velocity(s, tip)}

    def _loops(self, s: State) -> Outputs:
        """Return what shows that loops do not close, or that the robot is near a singularity."""
        terms, at = self._terms, self._terms.closed(s)
        return {'gaps': terms.gaps(terms.closed_unchecked(s)), 'pivots': terms.pivots(s),
                'closed_q': at.inputs['q'], 'closed_qd': terms.whole_velocity(at)}


def _size(modes: Sequence[Mode], n: int) -> int:
    """Return how many numbers the parameters of law functions have."""
    return sum(count for mode in modes for count, in own_shapes(mode, n).values())


def _unpacked(s: State) -> State:
    """Return a state whose barriers have names of their own, as the law of the tip reads them."""
    if 'barrier' not in s.inputs:
        return s
    named = {f'barrier_{name}': row
             for name, row in zip(_BARRIER, s.inputs['barrier'], strict=True)}
    return tree_state(s.model, {**s.inputs, **named}, s.target, s.surroundings)
