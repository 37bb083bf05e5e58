# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Everything of the controller that needs no ROS: laws, references, limits, supervisor.

How a node uses it
==================

Two clocks enter everywhere: ``now``, the control clock (steady time; the ROS clock under sim
time), and ``steady``, which never stops. Without sim time they are the same number. One thread
owns all objects here; other threads hand requests over with ``ControlLoop.post``.

Configure
    ``parameters.refusals`` judges values as a set, ``parameter_rules.activation_refusals`` what
    has no default, ``limits.check_limits`` the torque limits. Build a ``JointMap`` (names of the
    model's one-degree joints, controlled ones, fixed positions, followers), a
    ``Supervisor(Timing(...))`` with ``supervisor.diagnose = joint_map.diagnose``, a
    ``TorqueLimiter``, ``Torques`` and a ``ControlLoop``. ``compute(need)`` of the loop fills
    ``torques.law``, ``torques.gravity`` and ``torques.driver`` from the kernels; the law may be
    any of ``laws``, ``task_law``, with ``barriers.guard`` around it, traced into one kernel.
    ``publish(torque)`` sends the buffer at once: the next call overwrites it.

Activate
    ``OutputGuard`` until the output is free; ``joint_map.restart()``, then
    ``supervisor.activate(now, steady)``.

Each joint state
    ``loop.serve(now, steady)``, then ``joint_map.update(...)``: a request such as an activation
    never meets a judgement made before it. Only for ``Arrival.STATE`` call
    ``loop.fresh_state(now, steady, joint_map.expiry, ready, qd)`` with the controlled
    entries; ``ready`` is ``joint_map.ready(now)`` and whatever else must hold before torque
    begins (dead-man, start-up check). Report ``BoundMonitor``,
    ``MotionWatch``, ``joint_map.rate.low`` and ``GravitySource.update`` with
    ``supervisor.fault(steady, cause, detail)`` before it. Announce
    ``joint_map.notices.take()``.

Steady timer, at the nominal rate, always
    ``loop.tick(now, steady)``: silent while states arrive, the blind sequences when not. Check
    ``DeadMan.alive`` here.

Changes of state
    ``loop.on_enter(state)`` runs in the thread of the loop before the first torque of the state:
    on RAMPING_IN start references from the measured state, reset integral and observer, arm the
    watch; on HOLDING keep the measured position for the hold law; on anything that is not
    RAMPING_IN or RUNNING abort the goal with ``supervisor.faults``. A new mode is announced by
    ``loop.switch.switch()`` in the same cycle in which ``compute`` begins to give the new law.

Stop
    ``loop.post(lambda now, steady: supervisor.fault(steady, Cause.SIGNAL))`` for signals,
    DEACTIVATED and EXCEPTION likewise; then wait for ``supervisor.finished`` while the timer
    runs. Nothing shortens it. ``~/reset``: ``supervisor.reset`` and, if it ended in PROBING,
    ``joint_map.restart()``.
"""
