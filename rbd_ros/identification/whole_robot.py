# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
All parameters of a robot from recorded motion, physically possible, with confidence intervals.

Torques depend on combinations of parameters, the base parameters. These are fitted by least
squares, each joint weighted by its own noise, which gives their intervals. The parameters of the
bodies and drives are then the physically possible ones that explain the torques best; what the
motion does not tell follows the description, which is taken as good to half of each value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import RbdError
from rbd_ros.identification.drive import (
    drive_columns, drive_names, free_columns, own_drives, terms_of)
from rbd_ros.identification.equations import Equations, equations, Motion
from rbd_ros.identification.fit import (
    BaseParameters, Estimate, fit, independent_columns, SingularRegressor)
from rbd_ros.identification.parameters import body_parameters, parameter_names
from rbd_ros.identification.physical import physical_fit
from rbd_ros.model.model import Model
from rbd_ros.model.positions import random_position

__all__ = ['BaseEstimate', 'identify_robot', 'Identified', 'predicted_torque']

#: Standard deviations to each side of an interval that holds the truth 95 times of a hundred.
SIDE = 1.96
#: How good a description is taken to be, relative to its values.
TRUST = 0.5
#: Members of a combination that are named; the others are much smaller.
_MEMBER = 1e-6
_ROUNDS = 4
#: rad/s, rad/s^2 (or m) that a joint which rests in a recording counts as having moved with
_STILL = 0.02
#: Excitation above which a motion tells too little: the result would be noise.
POOR = 1e4


class BaseEstimate(NamedTuple):
    """
    A combination of parameters that the torques depend on.

    :param name: of its first parameter.
    :param members: the other parameters in it, with their factors.
    :param described: its value in the description.
    :param value: by least squares.
    :param deviation: standard deviation of that.
    :param told: whether the motion tells more of it than the description does.
    """

    name: str
    members: dict[str, float]
    described: float
    value: float
    deviation: float
    told: bool

    @property
    def low(self) -> float:
        """Return the lower end of its 95 % interval."""
        return self.value - SIDE * self.deviation

    @property
    def high(self) -> float:
        """Return the upper end."""
        return self.value + SIDE * self.deviation


class Identified(NamedTuple):
    """
    What a recording tells of a robot.

    :param kind: of friction.
    :param names: of all parameters.
    :param described: their values in the description.
    :param parameters: their identified values, physically possible.
    :param base: what torques depend on, with intervals.
    :param never: parameters on which no torque depends, in no motion.
    :param noise: standard deviation of the remaining torque of each joint; NaN for one that rests.
    :param excitation: condition number of the regressor with columns of unit length.
    """

    kind: str
    names: list[str]
    described: Array
    parameters: Array
    base: list[BaseEstimate]
    never: list[str]
    noise: Array
    excitation: float

    def drives(self, nv: int) -> dict[str, Array]:
        """Return the parameters of the drives by their kind, (nv,) each."""
        terms = terms_of(self.kind)
        parts = self.parameters[len(self.parameters) - len(terms) * nv:].reshape(-1, nv)
        return dict(zip(terms, parts, strict=True))

    @property
    def untold(self) -> list[BaseEstimate]:
        """Return the combinations that this motion tells less of than the description."""
        return [each for each in self.base if not each.told]


def identify_robot(
    robot: Dynamics, motion: Motion, kind: str = 'full', *, partial: bool = False,
) -> Identified:
    """
    Return the parameters that explain measured torques.

    :param robot: as described; its bodies and drives are the start of the search.
    :param motion: from :func:`rbd_ros.identification.equations.settle`.
    :param kind: of friction, see :func:`rbd_ros.identification.drive.terms_of`.
    :param partial: whether parameters that the motion does not determine stay as described,
        instead of being refused.
    :raises SingularRegressor: if the motion does not determine all base parameters, or some so
        badly that the excitation passes 1e4; names them.
    """
    model = robot.model
    names = [*parameter_names(model), *drive_names(model, kind)]
    described = np.concatenate([body_parameters(model), own_drives(model, kind)])
    structure = structural(robot, kind)
    spread = _spread(model, kind, motion)
    x, sigma = described, np.ones(model.nv)
    for turn in range(_ROUNDS):
        if turn == 0 or 'load' in terms_of(kind):
            found = equations(robot, motion, kind, x[:10 * model.nb])
            if not partial:
                _refuse_rest(found, model)
            base = _excited(found.A) if partial else structure
            _refuse_too_few(found, len(base.independent))
            labels = [names[k] for k in base.independent]
        A, b = found.A / sigma[found.joint, None], found.b / sigma[found.joint]
        estimate = fit(A[:, base.independent], b, labels, found.order)
        if not partial:
            _refuse_poor(A[:, base.independent], labels, estimate.condition)
        sigma = _noise(found, base, estimate, model.nv)
        A, b = found.A / sigma[found.joint, None], found.b / sigma[found.joint]
        x = physical_fit(np.vstack([A, np.diag(1.0 / spread)]),
                         np.concatenate([b, described / spread]), model.nb, weight=0.0,
                         free=free_columns(kind, model.nv))
        mute = ~found.A.any(axis=0)
        mute[:10 * model.nb] = False
        x[mute] = described[mute]  # of joints that rest: nothing holds them but a wide prior
    estimate = fit(A[:, base.independent], b, labels, found.order)
    felt = np.abs(structure.grouping).max(axis=0) > _MEMBER
    return Identified(kind, names, described, x, _base(base, names, described, spread, estimate),
                      [name for name, used in zip(names, felt, strict=True) if not used],
                      sigma, estimate.condition)


def structural(robot: Dynamics, kind: str, seed: int = 0) -> BaseParameters:
    """
    Return the base parameters of a robot with its drives, whatever the motion.

    :param seed: of the random states that show them.
    """
    model, rng = robot.model, np.random.default_rng(seed)
    columns = 10 * model.nb + len(terms_of(kind)) * model.nv
    count = max(8, -(-3 * columns // model.nv))
    q = np.array([random_position(model, rng) for _ in range(count)])
    qd, qdd = rng.normal(size=(2, count, model.nv))
    return independent_columns(stacked(robot, kind, q, qd, qdd))


def stacked(robot: Dynamics, kind: str, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the regressor of bodies and drives of many states, (count * nv, p)."""
    model = robot.model
    Y = robot.torque_regressor(q, qd, qdd)
    drives = drive_columns(kind, qd, qdd, Y @ body_parameters(model))
    eye = np.eye(model.nv)
    wide = [drives[:, :, k, None] * eye for k in range(drives.shape[2])]
    return np.concatenate([Y, *wide], axis=2).reshape(-1, Y.shape[2] + len(wide) * model.nv)


def predicted_torque(robot: Dynamics, motion: Motion, kind: str, x: Array) -> Array:
    """
    Return the torques of a motion, filtered as the measured ones are, (count, nv).

    :param x: parameters of bodies and drives.
    """
    nv, n = robot.model.nv, 10 * robot.model.nb
    load = robot.torque_regressor(motion.q, motion.qd, motion.qdd) @ x[:n]
    drives = drive_columns(kind, motion.qd, motion.qdd, load)
    return motion.filtered(load + np.einsum('tjk,kj->tj', drives, x[n:].reshape(-1, nv)))


def _refuse_rest(found: Equations, model: Model) -> None:
    for j, count in enumerate(np.bincount(found.joint, minlength=model.nv)):
        if count == 0:
            raise RbdError(f'joint "{model.independent_joint_names[j]}" does not move in this '
                           'recording; record a motion of all joints')


def _refuse_too_few(found: Equations, needed: int) -> None:
    if len(found.b) < 2 * needed:
        raise RbdError(f'the recording gives {len(found.b)} independent measurements for {needed} '
                       'combinations of parameters, which is too few: record for longer, or '
                       'raise the cutoff')


def _refuse_poor(A: Array, labels: list[str], condition: float) -> None:
    if condition <= POOR:
        return
    size = np.linalg.norm(A, axis=0)
    _, values, V = np.linalg.svd(A / size, full_matrices=False)
    rank = int(np.sum(values > values[0] / POOR))
    doubt = 1.0 - np.sum(V[:rank]**2, axis=0)
    raise SingularRegressor([labels[k] for k in np.argsort(-doubt, kind='stable')
                             if doubt[k] > 1e-3], rank, len(labels))


def _excited(A: Array) -> BaseParameters:
    """Return the combinations that a motion excites well, each column measured by its length."""
    size = np.linalg.norm(A, axis=0)
    size = np.where(size > 1e-9 * size.max(), size, size.max())
    found = independent_columns(A / size, 1.0 / POOR)
    own = size[list(found.independent)]
    return BaseParameters(found.independent, found.grouping * size / own[:, None])


def _noise(found: Equations, base: BaseParameters, estimate: Estimate, nv: int) -> Array:
    """Return the standard deviation of the residual of each joint; NaN for one without any."""
    rest = found.b - found.A[:, base.independent] @ estimate.parameters
    free = 1.0 - len(base.independent) / len(rest)
    sizes = np.bincount(found.joint, minlength=nv)
    variance = np.full(nv, np.nan)
    np.divide(np.bincount(found.joint, rest**2, nv), sizes * free, variance, where=sizes > 0)
    # A joint without any noise would outweigh all others.
    return np.sqrt(np.maximum(variance, 1e-16 + 1e-12 * float(np.nanmax(variance))))


def _spread(model: Model, kind: str, motion: Motion) -> Array:
    """Return how far each parameter may be from its description, one standard deviation."""
    out = []
    for x in body_parameters(model).reshape(-1, 10):
        m = max(x[0], 1e-3)
        size = max(float(np.linalg.norm(x[1:4])) / m,
                   float(np.sqrt(max(x[4] + x[7] + x[9], 0.0) / m)), 0.02)
        out += [m, *[m * size] * 3, *[m * size**2] * 6]
    torque = np.ptp(motion.tau, axis=0) + 1e-6
    speed = np.maximum(np.abs(motion.qd).max(axis=0), _STILL)
    swing = np.maximum(np.abs(motion.qdd).max(axis=0), _STILL)
    sizes = {'viscous': torque / speed, 'viscous forward': torque / speed,
             'viscous backward': torque / speed, 'coulomb': torque, 'offset': torque,
             'rotor': torque / swing, 'load': np.ones(model.nv)}
    drives = np.concatenate([sizes[term] for term in terms_of(kind)])
    return TRUST * np.concatenate([out, np.maximum(drives, own_drives(model, kind))])


def _base(base: BaseParameters, names: list[str], described: Array, spread: Array,
          estimate: Estimate) -> list[BaseEstimate]:
    out = []
    for row, k in enumerate(base.independent):
        factors = base.grouping[row]
        others = {names[i]: float(factors[i]) for i in np.flatnonzero(np.abs(factors) > _MEMBER)
                  if i != k}
        out.append(BaseEstimate(
            names[k], others, float(factors @ described), float(estimate.parameters[row]),
            float(estimate.deviation[row]),
            bool(estimate.deviation[row] < np.linalg.norm(factors * spread))))
    return out
