# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Everything of the controller that needs no ROS: one function from events to torques, and its parts.

The rooms, in the order in which a joint state passes them on its way to a torque:

- ``interface``: the event that comes in, the result that goes out, all that may be said
- ``joint_states``: finds the joints in a message, its age, and whether it can be true
- ``supervisor``: decides by one table which kind of torque may be sent
- ``monitors``: refuses a start, and stops what leaves its bounds
- ``references``: what the torque is to follow: set-points, trajectories, goals, poses
- ``load``: what the torque carries: payload, and where down is
- ``force_torque``: what a sensor feels, and the force that the torque is to exert
- ``laws``: computes the torque of the mode, of a hold or a brake
- ``kernels``: the dynamics in it, traced and compiled for one robot
- ``observers``: what moves the robot besides its torque; sensors that are frozen
- ``torque``: what is due, faded, limited
- ``step``: calls all of them: one function, and the whole state; around it the session, which is
  the same in every host: requests, answers, leases of goals, what is said
- ``parameters``: what can be chosen, and what is refused; modes are in ``modes.py``
- ``paths``: timed paths of the tip, made and checked before the joints follow them
- ``numerics``: medians, angles, leaky counters, which several rooms use

Some letters mean the same in all of them: ``x`` is a state, of the controller or of one of its
parts, and may change; ``u`` the event; ``p`` parameters that belong to ``x``; ``y`` the result;
``k`` compiled kernels; ``w`` room for numbers that last for one step. ``now`` is the control time
(steady time; the ROS clock under sim time), ``steady`` the time of a clock that never stops, both
in s; without sim time they are the same number. In the words of a sentence ``a``, ``b`` and ``c``
are its three numbers.

How a node uses it
==================

One thread owns all objects here; other threads hand requests to it with ``controller.post``.

Configure
    ``parameters.assembly`` turns parameters and a description into a ``Robot``, its ``Settings``
    and its compiled kernels, and raises ``SettingError`` with the reason for a refusal.
    ``Controller(settings, kernels, publish)`` is then the controller of that robot.
    ``publish(torque)`` must send the buffer at once: the next call overwrites it.

Activate
    Wait until nobody else has the output, then post ``controller.activate``.

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
