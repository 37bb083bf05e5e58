# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What each kernel of the controller takes and gives.

Sizes: n controlled joints, m joints of the model. Six numbers have the angular part first.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import gives, Matrix, NamedKernel, takes, Vector

__all__ = [
    'ContactKernel', 'DampingKernel', 'DECLARED', 'FreeKernel', 'ImpedanceKernel', 'JointKernel',
    'LawKernel', 'LoopKernel', 'MomentumKernel', 'OwnKernel', 'ReportKernel', 'SensorKernel',
    'StateKernel', 'StopKernel', 'TaskKernel']


class StateKernel(NamedKernel):
    """What every kernel takes."""

    q: Vector = takes('m', 'rad or m', 'positions')
    qd: Vector = takes('m', 'rad/s or m/s', 'velocities')
    acting: Vector = takes('3', 'm/s^2', 'gravity, in the base', traced='gravity')
    payload: Vector = takes('10', 'kg, kg.m, kg.m^2', 'its ten numbers')


class StopKernel(StateKernel):
    """The brake."""

    brake_rate: Vector = takes('1', '1/s', 'at which velocities decay')
    load: Vector = takes('n', 'N.m or N', 'torque that the robot shows besides g(q)')
    limit: Vector = takes('n', 'N.m or N', 'largest torque')
    damping: Vector = takes('n', 'N.m.s/rad or N.s/m', 'of what is faster than is allowed')
    allowed: Vector = takes('n', 'rad/s or m/s', 'velocities that the decay leaves')
    brake: Vector = gives('n', 'N.m or N', 'torque that brakes')
    gravity: Vector = gives('n', 'N.m or N', 'g(q)')
    driver: Vector = gives('n', 'N.m or N', 'what the driver adds by itself')


class LawKernel(StateKernel):
    """A law with its barriers."""

    barrier: Matrix = takes('8 n', '', 'rows of ``barriers.Barrier``')
    law: Vector = gives('n', 'N.m or N', 'torque')
    gravity: Vector = gives('n', 'N.m or N', 'g(q)')
    driver: Vector = gives('n', 'N.m or N', 'what the driver adds by itself')


class FreeKernel(LawKernel):
    """Gravity compensation."""

    viscous: Vector = takes('n', 'N.m.s/rad or N.s/m', 'viscous friction that is compensated')
    coulomb: Vector = takes('n', 'N.m or N', 'dry friction that is')
    friction_speed: Vector = takes('n', 'rad/s or m/s', 'over which dry friction rises')
    scale: Vector = takes('n', '', 'share of gravity')
    damping: Vector = takes('n', 'N.m.s/rad or N.s/m', 'of each joint')


class DampingKernel(LawKernel):
    """Gravity and damping."""

    damping: Vector = takes('n', 'N.m.s/rad or N.s/m', 'of each joint')


class FollowingKernel(LawKernel):
    """What follows the joints, along a reference."""

    viscous: Vector = takes('n', 'N.m.s/rad or N.s/m', 'viscous friction')
    coulomb: Vector = takes('n', 'N.m or N', 'dry friction')
    friction_speed: Vector = takes('n', 'rad/s or m/s', 'over which dry friction rises')
    reference: Matrix = takes('3 n', 'rad or m, /s, /s^2', 'position, velocity, acceleration')
    limit: Vector = takes('n', 'N.m or N', 'largest torque')
    integral: Vector = takes('n', 'rad/s^2 or m/s^2', 'integral term')
    error: Vector = gives('n', 'rad or m', 'reference minus position')


class JointKernel(FollowingKernel):
    """Computed torque."""

    stiffness: Vector = takes('n', '1/s^2', 'Kp')
    damping: Vector = takes('n', '1/s', 'Kd')
    external: Vector = takes('n', 'N.m or N', 'observed torque that is compensated')


class OwnKernel(FollowingKernel):
    """The law functions, of which one is chosen."""

    choice: Vector = takes('1', '', 'which, from 0')
    values: Vector = takes('values', '', 'parameters of all of them, in their order')


class TipKernel(LawKernel):
    """What moves the tip along a reference."""

    R_ref: Matrix = takes('3 3', '', 'reference axes as columns')
    p_ref: Vector = takes('3', 'm', 'reference origin')
    velocity_ref: Vector = takes('6', 'rad/s, m/s', 'of the reference; base axes')
    wrench: Vector = takes('6', 'N.m, N', 'to be exerted; base axes')
    limit: Vector = takes('n', 'N.m or N', 'largest torque')
    task_speed: Vector = takes('2', 'rad/s, m/s', 'at which a wrench has faded')
    max_condition: Vector = takes('1', '', 'beyond which directions are bounded')
    joint_speed: Vector = takes('n', 'rad/s or m/s', 'that the frame may ask of a joint')
    drift: Vector = takes('n', 'rad/s or m/s', 'joint velocity that is left to fade')
    posture: Vector = takes('n', 'rad or m', 'that is kept')
    posture_stiffness: Vector = takes('n', '1/s^2', 'Kp of the posture')
    posture_damping: Vector = takes('n', '1/s', 'Kd of the posture')
    R: Matrix = gives('3 3', '', 'axes of the tip as columns')
    p: Vector = gives('3', 'm', 'its origin')
    velocity: Vector = gives('6', 'rad/s, m/s', 'of the tip, in its own axes')
    condition: Vector = gives('1', '', 'of the directions that are controlled')
    lost: Vector = gives('axes', '', 'directions that are bounded')
    lead: Vector = gives('6', 'rad, m', 'from the tip to its reference; base axes')
    error: Vector = gives('2', 'rad, m', 'angle and distance of it')


class TaskKernel(TipKernel):
    """Operational space."""

    acceleration_ref: Vector = takes('6', 'rad/s^2, m/s^2', 'of the reference; base axes')
    task_stiffness: Vector = takes('6', '1/s^2', 'Kp')
    task_damping: Vector = takes('6', '1/s', 'Kd')
    task_integral: Vector = takes('6', 'rad/s^2, m/s^2', 'integral term')


class ImpedanceKernel(TipKernel):
    """Springs and dampers at the tip."""

    spring: Vector = takes('6', 'N.m/rad, N/m', 'stiffness')
    damper: Vector = takes('6', 'N.m.s/rad, N.s/m', 'damping besides that of the ratio')
    damping_ratio: Vector = takes('1', '', 'that is made for the pose')
    inertia: Vector = takes('6', 'kg.m^2, kg', 'that is to be felt; 0: that of the robot')
    external: Vector = takes('6', 'N.m, N', 'wrench that acts on the tip, in its axes')


class ReportKernel(StateKernel):
    """What is published about the dynamics."""

    max_condition: Vector = takes('1', '', 'beyond which directions are bounded')
    H: Matrix = gives('n n', 'kg.m^2', 'inertia matrix')
    bias: Vector = gives('n', 'N.m or N', 'C(q, qd) with gravity')
    gravity: Vector = gives('n', 'N.m or N', 'g(q)')
    coriolis: Vector = gives('n', 'N.m or N', 'C(q, qd) without it')
    J: Matrix = gives('6 n', '', 'Jacobian of the tip, in its axes')
    Lambda: Matrix = gives('axes axes', 'kg.m^2, kg', 'inertia felt at the tip')
    task_bias: Vector = gives('axes', 'N.m, N', 'bias felt there')
    condition: Vector = gives('1', '', 'of the directions that are controlled')
    lost: Vector = gives('axes', '', 'directions that are bounded')
    R: Matrix = gives('3 3', '', 'axes of the tip as columns')
    p: Vector = gives('3', 'm', 'its origin')
    velocity: Vector = gives('6', 'rad/s, m/s', 'of the tip, in its own axes')


class MomentumKernel(StateKernel):
    """What the momentum observers need."""

    H: Matrix = gives('n m', 'kg.m^2', 'rows of the inertia matrix of the controlled joints')
    bias: Vector = gives('n', 'N.m or N', 'C(q, qd) with gravity')
    gravity: Vector = gives('n', 'N.m or N', 'g(q)')


class ContactKernel(StateKernel):
    """Where the tip goes."""

    J: Matrix = gives('6 n', '', 'Jacobian of the tip, in its axes')
    velocity: Vector = gives('6', 'rad/s, m/s', 'of the tip, in its axes')


class LoopKernel(StateKernel):
    """Closed loops."""

    gaps: Vector = gives('gaps', 'rad or m', 'by which the loops are open')
    pivots: Vector = gives('pivots', '', 'zero at a singularity')
    closed_q: Vector = gives('m', 'rad or m', 'with the passive joints where the loops put them; '
                                              'NaN: nowhere')
    closed_qd: Vector = gives('m', 'rad/s or m/s', 'with their velocities')


class SensorKernel(StateKernel):
    """The force-torque sensor."""

    tool: Vector = takes('10', 'kg, kg.m, kg.m^2', 'behind the sensor')
    before: Vector = takes('6', 'rad/s, m/s', 'velocity of the sensor in the last state')
    rate: Vector = takes('1', '1/s', '1 over the time since; 0: it is not known')
    velocity: Vector = gives('6', 'rad/s, m/s', 'of the sensor, in its axes')
    load: Vector = gives('6', 'N.m, N', 'with which tool and payload pull at it')
    axes: Matrix = gives('3 3', '', 'of the tip as columns, in the base')
    turn: Matrix = gives('3 3', '', 'from the axes of the sensor to those of the tip')
    arm: Vector = gives('3', 'm', 'from the tip to the sensor, in the axes of the tip')


#: by the names of the kernels
DECLARED: dict[str, type[StateKernel]] = {
    'stop': StopKernel, 'float': FreeKernel, 'damping': DampingKernel, 'joint': JointKernel,
    'task': TaskKernel, 'impedance': ImpedanceKernel, 'own': OwnKernel, 'report': ReportKernel,
    'momentum': MomentumKernel, 'contact': ContactKernel, 'loops': LoopKernel,
    'sensor': SensorKernel}
