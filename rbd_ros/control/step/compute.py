# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What is due is computed: a law, the hold, the way back, or the brake.

References are advanced before, and told afterwards how far they lead. A kernel that cannot be
evaluated gives NaN, which is found where torques are checked; it leaves no trace in the state.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.control.interface.events import Event, Result
from rbd_ros.control.laws.law_records import LawCode, moved_on
from rbd_ros.control.laws.stops import hold_within
from rbd_ros.control.references.joint_reference import advance_joint_reference, give_way
from rbd_ros.control.references.joint_requests import check_goal
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.references.task_reference import (
    advance_task_reference, is_asked, set_lead, TaskReference)
from rbd_ros.control.step.state import Kernels, Parameters, State, Work
from rbd_ros.control.torque.torque_records import Need

__all__ = ['compute', 'move_tip', 'pull_tip']


def compute(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work, y: Result,
            what: int) -> None:
    """
    Compute what is due at the present state.

    :param x: state.
    :param u: event.
    :param p: parameters.
    :param ring: pieces of trajectories.
    :param k: kernels.
    :param w: gets the torque and g(q).
    :param y: result.
    :param what: see ``Need``.
    """
    if what == Need.STOP:
        _brake(x, u, p, k, w)
        return
    x.laws.find_side(x.command.torque.wanted, x.command.torque.limiter.saturated,
                     x.command.torque.limiter.slewing)
    w.present.take(x.joints, x.load.gravity, x.load.payload, p.laws.barrier, x.design)
    if what == Need.HOLD:
        _hold(x, u, p, ring, k, w, y)
    elif what == Need.COMPLY:  # passive, whatever was touched
        _follow_pulling(x, x.references.task, u, p, k, w, 0.0)
    elif what == Need.RETRACT:
        if x.way_back.advance(p.way_back, p.structure, u.now):
            x.command.supervisor.returned = True
        _hold_at(x, p, k, w, x.way_back.state, u.now)
    elif what == Need.FLOAT or x.laws.law == LawCode.FREE:
        _be_there(x, w)
        k.free(w.present, p.laws, p.laws.free, viscous=p.laws.free.guided * p.laws.viscous,
               coulomb=p.laws.free.guided * p.laws.coulomb, damping=x.design.free_damping,
               out=w.computed)
    elif x.laws.law == LawCode.DAMPING:
        _be_there(x, w)
        k.damping(w.present, damping=x.design.brake_damping, out=w.computed)
    elif x.laws.law == LawCode.JOINT:
        _follow_joints(x, u, p, ring, k, w, y)
    elif x.laws.law == LawCode.TASK:
        x.laws.task.go_to_posture(p.laws.task)
        _follow_moving(x, x.references.task, u, p, k, w)
    elif x.laws.law == LawCode.IMPEDANCE:
        x.laws.task.go_to_posture(p.laws.task)
        _follow_pulling(x, x.references.task, u, p, k, w, x.sensor.known)
    else:
        _evaluate_own(x, u, p, ring, k, w, y)
    if what == Need.LAW and x.references.joint.goal.active != 0.0:
        check_goal(x.references.joint, p.references.joint, x.joints, p.structure, u.now)


def _brake(x: State, u: Event, p: Parameters, k: Kernels, w: Work) -> None:
    """Brake where the robot is by now, not where it was measured."""
    share, rate = x.brake.advance(p.stops, x.joints, p.structure, x.design, u.now)
    k.stop(x.load, x.brake, p.stops, qd=x.joints.qd * share, acting=x.load.gravity,
           q=moved_on(x.joints.q, x.joints.qd, 0.5 * (1.0 + share) * x.design.ahead),
           brake_rate=rate, load=x.observer.load, damping=x.design.brake_damping, out=w.computed)


def _be_there(x: State, w: Work) -> None:
    """
    Let positions move on to where the robot is when its torque acts.

    Gains of a law that follows something were chosen for the delay that is given; g(q) was not.
    """
    if x.design.ahead != 0.0:
        w.present.go_on(x.design.ahead - x.design.unsaid)


# -- joints ---------------------------------------------------------------------------------------

def _follow_joints(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work,
                   y: Result) -> None:
    """Follow the joint reference; what is observed is compensated only if that is asked for."""
    if p.observer.observed == 0.0:
        x.laws.joint.external[:] = 0.0
    advance_joint_reference(x.references.joint, p.references.joint, ring, y, u.now)
    x.laws.joint.prepare(p.laws.joint)
    pace = x.design.joint_pace
    k.joint(w.present, p.laws, x.laws.joint, reference=x.references.joint.profile.state,
            stiffness=pace * pace * p.laws.joint.stiffness, damping=pace * p.laws.joint.damping,
            out=w.computed)
    x.laws.joint.integrate(p.laws.joint, p.laws.joint.integral, pace, k.joint.error, x.laws.side,
                           u.now)


def _hold(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work,
          y: Result) -> None:
    """Hold the robot, and yield to a push."""
    if give_way(x.references.joint, p.references.joint, x.joints, p.structure, p.stops.distance,
                w.moved):
        x.hold.note_push(p.stops, w.moved, y, u.now)
    advance_joint_reference(x.references.joint, p.references.joint, ring, y, u.now)
    _hold_at(x, p, k, w, x.references.joint.profile.state, u.now)


def _hold_at(x: State, p: Parameters, k: Kernels, w: Work, reference: Matrix,
             now: float) -> None:
    """Hold the robot at a reference, within bounds around g(q)."""
    _be_there(x, w)
    x.laws.joint.prepare(p.laws.joint)
    k.joint(w.present, p.laws, x.laws.joint, reference=reference,
            stiffness=x.design.hold_stiffness, damping=x.design.hold_damping, out=w.computed)
    x.laws.joint.integrate(p.laws.joint, x.design.hold_integral, 1.0, k.joint.error, x.laws.side,
                           now)
    hold_within(w.computed, p.stops, k.joint, x.joints, p.structure, x.design)


def _evaluate_own(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work,
                  y: Result) -> None:
    """Evaluate a law function; one that follows the joints has their integral."""
    if x.laws.tracks():
        advance_joint_reference(x.references.joint, p.references.joint, ring, y, u.now)
    x.laws.joint.prepare(p.laws.joint)
    n, slowest = len(x.laws.side), min(x.design.spring_pace, default=1.0)
    most = len(k.own.values) - n
    k.own.values[:] = p.laws.values[:len(k.own.values)]
    if 0.0 <= p.laws.spring <= most and 0.0 <= p.laws.damper <= most:
        at, of = int(p.laws.spring), int(p.laws.damper)
        x.laws.springs.stiffen(x.laws.springs.joint, p.laws.values, at, x.design.spring_pace,
                               x.laws.joint.error, p.laws.stiffness_power, u.now)
        k.own.values[at:at + n] = x.laws.springs.joint
        k.own.values[of:of + n] = x.design.spring_pace * p.laws.values[of:of + n]
    k.own(w.present, p.laws, choice=x.laws.own, values=k.own.values,
          reference=x.references.joint.profile.state, integral=x.laws.joint.integral,
          out=w.computed)
    if x.laws.law == LawCode.OWN_JOINT:
        x.laws.joint.integrate(p.laws.joint, p.laws.joint.integral, min(slowest, 1.0),
                               k.own.error, x.laws.side, u.now)


# -- the tip --------------------------------------------------------------------------------------

def _follow_moving(x: State, tip: TaskReference, u: Event, p: Parameters, k: Kernels,
                   w: Work) -> None:
    """Follow the reference of the tip, and exert a wrench."""
    advance_task_reference(tip, p.references.task, u.now)
    x.laws.task.prepare(p.laws.task, p.laws.switch_time, u.now)
    if p.force.used and x.sensor.known > 0.0:
        x.force.advance(p.force, tip.wrench, is_asked(tip, p.references.task, u.now), x.sensor,
                        k.task.velocity, x.design.task_pace, u.now)
        move_tip(x, tip, p, k, w, x.force.wrench)
    else:
        move_tip(x, tip, p, k, w, tip.wrench)
    x.laws.task.note(k.task.lead, k.task.error)
    x.laws.task.integrate(p.laws.task, k.task.lead, x.design.task_pace, x.laws.side, u.now)
    set_lead(tip, x.laws.task.lead)


def move_tip(x: State, tip: TaskReference, p: Parameters, k: Kernels, w: Work,
             wrench: Vector) -> None:
    """
    Evaluate the operational space at the present state.

    :param x: state.
    :param tip: reference of the tip.
    :param p: parameters.
    :param k: kernels.
    :param w: has the present state, and gets the torque.
    :param wrench: to be exerted.
    """
    pace = x.design.task_pace
    k.task(w.present, p.laws, R_ref=tip.pose.R, p_ref=tip.pose.position,
           velocity_ref=tip.pose.velocity, acceleration_ref=tip.pose.acceleration, wrench=wrench,
           task_stiffness=pace * pace * p.laws.task.stiffness,
           task_damping=pace * p.laws.task.damping, task_integral=x.laws.task.integral,
           task_speed=p.laws.task.speed, max_condition=p.laws.task.max_condition,
           joint_speed=p.laws.task.joint_speed, drift=x.laws.task.drift,
           posture=x.laws.task.posture, posture_damping=pace * p.laws.task.posture_damping,
           posture_stiffness=pace * pace * p.laws.task.posture_stiffness, out=w.computed)


def _follow_pulling(x: State, tip: TaskReference, u: Event, p: Parameters, k: Kernels, w: Work,
                    shapes: float) -> None:
    """Follow the reference of the tip by springs; there is no integral."""
    advance_task_reference(tip, p.references.task, u.now)
    x.laws.task.prepare(p.laws.task, p.laws.switch_time, u.now)
    x.laws.springs.stiffen(x.laws.springs.tip, p.laws.impedance.stiffness, 0, x.design.tip_pace,
                           x.laws.springs.way, p.laws.stiffness_power, u.now)
    pull_tip(x, tip, p, k, w, shapes)
    x.laws.task.note(k.impedance.lead, k.impedance.error)
    x.laws.springs.note_way(tip.pose.R, x.laws.task.lead)
    set_lead(tip, x.laws.task.lead)


def pull_tip(x: State, tip: TaskReference, p: Parameters, k: Kernels, w: Work,
             shapes: float) -> None:
    """
    Evaluate the springs of the tip at the present state.

    :param x: state.
    :param tip: reference of the tip.
    :param p: parameters.
    :param k: kernels.
    :param w: has the present state, and gets the torque.
    :param shapes: whether the wrench on the tip is known, and the inertia that is felt may be
        another one.
    """
    pace = x.design.task_pace
    k.impedance(w.present, p.laws, R_ref=tip.pose.R, p_ref=tip.pose.position,
                velocity_ref=tip.pose.velocity, wrench=tip.wrench, spring=x.laws.springs.tip,
                damper=x.design.tip_pace * p.laws.impedance.damping,
                damping_ratio=p.laws.impedance.ratio,
                inertia=p.laws.impedance.inertia if shapes > 0.0 else 0.0,
                external=x.sensor.wrench if shapes > 0.0 else 0.0,
                task_speed=p.laws.task.speed, max_condition=p.laws.task.max_condition,
                joint_speed=p.laws.task.joint_speed, drift=x.laws.task.drift,
                posture=x.laws.task.posture, posture_damping=pace * p.laws.task.posture_damping,
                posture_stiffness=pace * pace * p.laws.task.posture_stiffness, out=w.computed)
