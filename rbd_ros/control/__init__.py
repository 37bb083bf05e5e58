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
owns all objects here; other threads post requests to it with ``cycle.loop.post``.

Configure
    ``assembly`` turns parameters and a description into a ``Robot``, its ``Settings`` and its
    compiled kernels, and raises ``SettingError`` with the reason for a refusal.
    ``Cycle(settings, kernels, publish)`` is then the controller of that robot.
    ``publish(torque)`` must send the buffer at once: the next call overwrites it.

Activate
    Wait with ``OutputGuard`` until the output is free, then post ``cycle.activate``.

Each joint state
    ``cycle.state(...)`` runs a whole cycle: checks, law, limits, publish. It serves posted
    requests first, so that an activation never uses a state that was checked before it.

Steady timer
    ``cycle.tick(now, steady)`` is silent while states arrive. When they do not, it sends the
    torques that need no state. While ``cycle.supervisor.blind`` it must run at the nominal rate.

Stop
    Post ``lambda now, steady: cycle.supervisor.fault(steady, Cause.SIGNAL)`` for a signal,
    DEACTIVATED and EXCEPTION likewise; then wait for ``cycle.supervisor.finished`` while the timer
    runs. Nothing shortens the sequence. ``cycle.reset`` clears latched faults.

What must be logged or published waits in ``cycle.events`` and ``cycle.snapshots.kept`` for a
slower thread.
"""
