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
Everything of the controller that needs no ROS: one function from events to torques, and its parts.

The rooms, in the order in which a joint state passes them:

- ``interface``: the event that comes in, the result that goes out, the causes of faults
- ``joint_states``: names, ages, plausibility of what arrives
- ``supervisor``: which kind of torque may be sent, by one table
- ``start``, ``monitors``: what is checked before the first torque, and from then on
- ``references``: set-points, trajectories, goals, poses
- ``laws``, ``kernels``: the law of the mode, hold and brake; their traced dynamics
- ``load``, ``observers``: payload and gravity; what else moves the robot
- ``torque``: what is due, faded, limited
- ``step``: the function that calls them, and the whole state
- ``modes``, ``parameters``: what can be chosen; ``numerics``: small means

How a node uses it
==================

Two clocks enter everywhere: ``now``, the control clock (steady time; the ROS clock under sim
time), and ``steady``, which never stops. Without sim time they are the same number. One thread
owns all objects here; other threads hand requests to it with ``controller.post``.

Configure
    ``parameters.assembly`` turns parameters and a description into a ``Robot``, its ``Settings``
    and its compiled kernels, and raises ``SettingError`` with the reason for a refusal.
    ``Controller(settings, kernels, publish)`` is then the controller of that robot.
    ``publish(torque)`` must send the buffer at once: the next call overwrites it.

Activate
    Wait with ``OutputGuard`` until the output is free, then post ``controller.activate``.

Each joint state
    ``controller.take_state(...)`` runs one step: checks, law, limits, publish. It serves posted
    requests first, so that an activation never uses a state that was checked before it.

Steady timer
    ``controller.take_timer(now, steady)`` is silent while states arrive. When they do not, it
    sends the torques that need no state. While ``controller.blind`` it must run at the nominal
    rate.

Stop
    Post ``lambda now, steady: controller.fault(steady, Cause.SIGNAL)`` for a signal, DEACTIVATED
    and EXCEPTION likewise; then wait for ``controller.finished`` while the timer runs. Nothing
    shortens the sequence. ``controller.reset`` clears latched faults.

What must be logged or published waits in ``controller.events`` and ``controller.snapshots.kept``
for a slower thread.
"""
