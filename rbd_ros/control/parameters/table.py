# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Every parameter of the controller: type, default, unit, bounds, meaning.

The table does not depend on ROS; the node turns it into parameter descriptors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import copy
import dataclasses

from rbd_ros.control.interface.row import (
    axes, BOOL, choice, ContactReaction, DOUBLES, INTEGER, INTEGERS, joints, Parameter, scalar,
    startup, STRINGS, switch, text, Value)
from rbd_ros.control.modes import (
    all_modes, DEFAULT, Mode, MODES, Takes, taking, users)

__all__ = ['NAMES_OF_MODES', 'PARAMETERS', 'defaults', 'with_modes']

#: parameters whose choices grow by the modes of the user
NAMES_OF_MODES = ('mode', 'goal_mode')

_ROBOT = (
    text('robot_description', '', 'URDF text. If empty, robot_description_file is read, or the '
         'controller waits for the topic robot_description.'),
    text('robot_description_file', '', 'URDF or xacro file, used if robot_description is empty.'),
    text('joints', [], 'Controlled joints, in command order. If empty, all movable joints.'),
    text('passive_joints', [], 'Joints that no motor moves, such as a hanging tool.'),
    text('fixed_positions.joints', [], 'Joints at rest whose positions nobody publishes.'),
    Parameter('fixed_positions.values', DOUBLES, [], 'rad or m',
              'Positions of fixed_positions.joints, one for each name.', structural=True),
    text('assembly.joints', [], 'Joints of a closed position, which selects the assembly mode of '
         'a robot with closed loops whose passive joints nobody publishes. The passive joints are '
         'then solved from the driven ones. If empty, they must be in joint_states.'),
    Parameter('assembly.values', DOUBLES, [], 'rad or m', 'Positions of assembly.joints, one for '
              'each name: exact for driven joints, approximate for passive ones.',
              structural=True),
    choice('driver_adds', '', ('none', 'gravity', 'gravity_and_coriolis'),
           'What the driver adds to the commanded torque. Required.'),
    switch('driver_knows_payload', False,
           "Whether the driver's gravity compensation includes the payload."),
    switch('effort_is_torque', False,
           'Whether effort in joint_states is the joint torque in N.m, gravity included.'),
    switch('synchronised_stamps', False, 'Whether the driver stamps with the clock of this '
           'machine, so that the age of a stamp can be taken at face value.'),
)

_LAW = (
    choice('mode', DEFAULT, tuple(MODES), 'Active control law.', structural=False),
    choice('goal_mode', '', tuple(taking(Takes.TRAJECTORY)), 'Mode to which an accepted goal of '
           'the action switches, from any other mode in which the robot runs; it stays in it. If '
           'empty, goals in other modes are refused.', structural=False),
    startup('mode_file', '', 'Python file that declares modes of your own, with an absolute path. '
            'It can only be given at startup and is read at each configuration.'),
    joints('gravity_scale', [1.0], '', 0.0, 1.5,
           f'Fraction of g(q) applied in {users("gravity_scale")}.'),
    joints('free_damping', [0.5], 'N.m.s/rad or N.s/m', 0.0, 1e4, 'Damping in '
           f'{users("free_damping")}, capped at what is stable at nominal_rate with delay. '
           'Without damping, a frictionless robot drifts forever.'),
    joints('friction.viscous', [0.0], 'N.m.s/rad or N.s/m', 0.0, 1e4,
           'Viscous friction, compensated along the reference velocity.'),
    joints('friction.coulomb', [0.0], 'N.m or N', 0.0, 1e4,
           'Dry friction, compensated along the reference velocity.'),
    joints('friction.speed', [0.05], 'rad/s or m/s', 1e-4, 10.0,
           'Speed over which the dry friction compensation rises, tanh(qd / speed).'),
    joints('friction.free', [0.0], '', 0.0, 1.0, 'Fraction of the friction compensated along '
           f'the measured velocity in {users("friction.free")}. Too much makes a joint move by '
           'itself.'),
    joints('rotor_inertia', [], 'kg.m^2 or kg', 0.0, 1e6, 'Rotor inertia reflected to the joint: '
           'gear ratio squared times rotor inertia. If empty, taken from the URDF.',
           structural=True),
    joints('stiffness', [100.0], '1/s^2', 0.0, 1e5, f'Kp of {users("stiffness")}.'),
    joints('damping', [20.0], '1/s', 0.0, 1e4, f'Kd of {users("damping")}.'),
    joints('integral', [0.0], '1/s^3', 0.0, 1e6, f'Ki of {users("integral")}.'),
    joints('integral_limit', [5.0], 'rad/s^2 or m/s^2', 0.0, 1e3, 'Bound of the integral term.'),
    switch('observer_feedback', False, 'Subtract the observed external torque in '
           f'{users("observer_feedback")}.', structural=False),
    joints('observer_gain', [30.0], '1/s', 0.1, 1e3, 'Bandwidth of the momentum observer.'),
    scalar('switch_time', 0.5, 's', 0.05, 5.0, 'Duration of a mode change: references come to '
           'rest, and the difference between the two laws fades out.'),
    scalar('stiffness_power', 1.0, 'W', 0.0, 1e4, 'Energy per second that a rising stiffness may '
           'put into an arm that is deflected, in the impedance modes: the stiffness rises as '
           'fast as that allows. 0: at once.'),
    text('task.frame', '', f'Frame moved by {users("task.frame")}. If empty, the last frame of '
         'the chain.'),
    Parameter('task.axes', STRINGS, ['rx', 'ry', 'rz', 'tx', 'ty', 'tz'], '',
              'Controlled directions of the frame. x, y, z are accepted for tx, ty, tz, but '
              'YAML reads a bare y as true: quote it.', structural=True,
              choices=('rx', 'ry', 'rz', 'tx', 'ty', 'tz', 'x', 'y', 'z')),
    scalar('task.linear_stiffness', 100.0, '1/s^2', 0.0, 1e5, 'Kp of the position.'),
    scalar('task.angular_stiffness', 100.0, '1/s^2', 0.0, 1e5, 'Kp of the orientation.'),
    scalar('task.linear_damping', 20.0, '1/s', 0.0, 1e4, 'Kd of the position.'),
    scalar('task.angular_damping', 20.0, '1/s', 0.0, 1e4, 'Kd of the orientation.'),
    scalar('task.linear_integral', 0.0, '1/s^3', 0.0, 1e6, 'Ki of the position.'),
    scalar('task.angular_integral', 0.0, '1/s^3', 0.0, 1e6, 'Ki of the orientation.'),
    scalar('task.linear_integral_limit', 2.0, 'm/s^2', 0.0, 1e3,
           'Bound of the integral term of the position.'),
    scalar('task.angular_integral_limit', 10.0, 'rad/s^2', 0.0, 1e3,
           'Bound of the integral term of the orientation.'),
    scalar('task.max_condition', 1e3, '', 1.0, 1e12, 'Condition number of the operational-space '
           'inertia beyond which its singular directions are bounded. A radian counts as 0.1 m.'),
    scalar('task.joint_speed', 0.5, '', 0.01, 1.0, 'Fraction of velocity_limits that the task '
           'may use. The posture may use half as much in addition. Springs at the frame do not '
           'limit speeds: there faster joints are damped by barrier.velocity_damping.'),
    joints('posture.stiffness', [10.0], '1/s^2', 0.0, 1e5, 'Kp of the posture task.'),
    joints('posture.damping', [6.0], '1/s', 0.0, 1e4, 'Kd of the posture task, which approaches '
           'the posture at Kp/Kd times the distance.'),
    joints('posture.position', [], 'rad or m', -1e3, 1e3,
           'Posture to keep. If empty, the positions at which the mode started.'),
)

_REFERENCE = (
    joints('reference.velocity', [], 'rad/s or m/s', 1e-3, 1e3, 'Velocity limit of the '
           'reference. If empty, barrier.velocity times velocity_limits.'),
    joints('reference.acceleration', [10.0], 'rad/s^2 or m/s^2', 1e-2, 1e4,
           'Acceleration limit of the reference.'),
    scalar('reference.timeout', 0.5, 's', 0.01, 10.0,
           'Time without a streamed set-point after which the last one is held.'),
    Parameter('reference.refusals', INTEGER, 5, '', 'Number of rejected references in a row, each '
              'within 1 s of the previous one, that is a fault while the robot moves. 0 disables '
              'the check.', 0, 1000),
    switch('reference.linear', False, 'Interpolate linearly between trajectory points that have '
           'no velocities, instead of using splines.'),
    switch('allow_partial_joints_goal', False, 'Whether a goal or a trajectory may leave joints '
           'out. They come to rest and are held there.', structural=False),
    scalar('task.timeout', 0.1, 's', 0.01, 10.0,
           'Time without a message after which a twist or a wrench ends.'),
    scalar('task.linear_velocity', 0.5, 'm/s', 1e-3, 10.0,
           'Limit of the linear velocity of the reference pose.'),
    scalar('task.angular_velocity', 1.0, 'rad/s', 1e-3, 30.0,
           'Limit of the angular velocity of the reference pose.'),
    scalar('task.linear_acceleration', 2.0, 'm/s^2', 1e-2, 100.0,
           'Limit of the linear acceleration of the reference pose.'),
    scalar('task.angular_acceleration', 5.0, 'rad/s^2', 1e-2, 300.0,
           'Limit of the angular acceleration of the reference pose.'),
    scalar('task.linear_lead', 0.05, 'm', 1e-3, 10.0, 'Largest distance of the reference pose '
           'from the robot. Beyond it, the reference waits for the robot.'),
    scalar('task.angular_lead', 0.2, 'rad', 1e-3, 3.0, 'Largest angle of the reference pose '
           'from the robot. Beyond it, the reference waits for the robot.'),
    scalar('task.linear_error', 0.2, 'm', 1e-3, 10.0, 'Distance of the frame from its reference, '
           'along the controlled directions, beyond which there is a fault.'),
    scalar('task.angular_error', 0.8, 'rad', 1e-3, 4.0, 'Angle of the frame from its reference, '
           'about the controlled directions, beyond which there is a fault.'),
    scalar('task.force_limit', 50.0, 'N', 0.0, 1e4, 'Largest force of target_wrench. A larger '
           'one is scaled down and keeps its direction.'),
    scalar('task.moment_limit', 10.0, 'N.m', 0.0, 1e4, 'Largest moment of target_wrench. A '
           'larger one is scaled down and keeps its direction.'),
    joints('tolerance.path', [0.0], 'rad or m', 0.0, 1e3,
           'Default path tolerance. 0 disables it.'),
    joints('tolerance.goal', [0.01], 'rad or m', 0.0, 1e3,
           'Default goal tolerance. 0 disables it.'),
    joints('tolerance.goal_velocity', [0.0], 'rad/s or m/s', 0.0, 1e3,
           'Default velocity tolerance at the goal. 0 disables it.'),
    scalar('tolerance.goal_time', 0.5, 's', 0.0, 60.0,
           'Default time to settle at the goal. 0: no limit.'),
)

_SAFETY = (
    joints('torque_limits', [], 'N.m or N', 1e-6, 1e5,
           'Limits of the total torque. If empty, the effort limits of the URDF.', True),
    joints('torque_rate_limits', [], 'N.m/s or N/s', 1e-6, 1e7,
           'Limits of the torque rate. If empty, ten times the torque limits per second.', True),
    joints('velocity_limits', [], 'rad/s or m/s', 1e-3, 1e3,
           'Velocities beyond which there is a fault. If empty, those of the URDF.'),
    scalar('velocity_patience', 0.02, 's', 0.0, 1.0,
           'Time over a velocity limit that is tolerated.'),
    joints('state_tolerance', [0.02], 'rad or m', 1e-6, 100.0, 'Noise and quantisation of '
           'measured positions. A position that differs by more from what the previous position '
           'and the velocity allow is implausible.'),
    scalar('loop_tolerance', 0.02, 'rad or m', 1e-6, 10.0, 'Largest gap of a closed loop at the '
           'measured positions. Beyond it they are implausible.'),
    scalar('loop_pivot', 0.05, '', 1e-3, 1.0, 'Distance from a singularity of closed loops below '
           'which there is a fault: the smallest pivot of the constraints on the passive joints, '
           'as a fraction of its usual value.'),
    joints('tracking_limits', [0.5], 'rad or m', 1e-4, 100.0,
           'Tracking errors beyond which there is a fault.'),
    scalar('tracking_patience', 0.1, 's', 0.0, 5.0,
           'Time over a tracking limit that is tolerated.'),
    scalar('delay', 0.0, 's', 0.0, 0.5, 'Time from measuring a state to applying the '
           'torque computed from it. Damping, stops and holds are made for it; gains that cannot '
           'be stable with it are refused. 0: the age of states is measured by their stamps; '
           'where these do not show it, no torque begins.', True),
    scalar('brake_rate', 10.0, '1/s', 0.1, 1e3, 'Rate at which a stop lets the velocities of all '
           'joints decay, capped at what does not overshoot with delay, nominal_rate and '
           'velocity_filter.'),
    joints('brake_damping', [5.0], 'N.m.s/rad or N.s/m', 0.0, 1e4,
           f'D of the mode {users("brake_damping")}, '
           'g(q) - D qd, and in a stop against what a joint is faster than brake_rate allows; '
           'capped at what is stable at nominal_rate with delay.'),
    scalar('hold_torque', 0.3, '', 0.0, 1.0, 'Bound, as a fraction of torque_limits, of what a '
           'stop adds to g(q) besides damping: the observed load, and the push of a hold.'),
    joints('hold_distance', [0.1], 'rad or m', 1e-3, 10.0,
           'Distance by which a held robot can be pushed away before the hold yields.'),
    joints('barrier.margin', [0.05], 'rad or m', 1e-4, 1.0, 'Width of the zone before a joint '
           "limit, at most a tenth of the joint's range."),
    joints('barrier.stiffness', [50.0], 'N.m/rad or N/m', 0.0, 1e5,
           'Stiffness of the push inside the zone, capped at what is stable with delay.'),
    joints('barrier.damping', [5.0], 'N.m.s/rad or N.s/m', 0.0, 1e4,
           'Damping of motion towards the limit inside the zone.'),
    scalar('barrier.velocity', 0.9, '', 0.1, 1.0,
           'Fraction of velocity_limits at which the velocity barrier begins.'),
    joints('barrier.velocity_damping', [10.0], 'N.m.s/rad or N.s/m', 0.0, 1e4,
           'Damping of the velocity beyond the barrier.'),
    scalar('barrier.torque', 0.3, '', 0.0, 1.0,
           'Bound of the barriers, as a fraction of torque_limits.'),
    scalar('nominal_rate', 1000.0, 'Hz', 10.0, 4000.0, 'Expected rate of joint_states.', True),
    scalar('minimum_rate', 100.0, 'Hz', 0.0, 4000.0,
           'Rate of joint_states below which there is a fault.', True),
    scalar('state_timeout', 0.1, 's', 0.002, 1.0, 'Age beyond which a state is lost.', True),
    scalar('prescribed_timeout', 1.0, 's', 0.01, 60.0,
           'Age beyond which the state of a joint that is not controlled is lost.', True),
    Parameter('probe_count', INTEGER, 5, '', 'Number of states that must arrive in time, after a '
              'gap, before any is used.', 1, 1000, structural=True),
    scalar('velocity_filter', 0.01, 's', 0.0, 1.0,
           'Filter time of velocities obtained by differentiating positions.', True),
    scalar('hold_time', 0.3, 's', 0.0, 2.0,
           'Time for which the last gravity torque is held after the state is lost.', True),
    scalar('brake_time', 0.5, 's', 0.0, 2.0, 'Duration of braking.', True),
    scalar('release_time', 0.5, 's', 0.0, 2.0, 'Duration of the ramp to the release torque.',
           True),
    scalar('stop_time', 1.0, 's', 0.01, 3.0,
           'Time in which the rate limits must allow every torque to reach zero.', True),
    scalar('ramp_time', 1.0, 's', 0.0, 30.0, 'Duration of the ramp of the gains after '
           'activation.', True),
    Parameter('release_repeats', INTEGER, 5, '', 'Number of times the release torque is '
              'published.', 1, 100, structural=True),
    choice('release_torque', '', ('zero', 'gravity'), 'Torque that remains commanded after '
           'release. Required if driver_adds is none.'),
    choice('fault_action', 'hold', ('hold', 'release'), 'What follows braking after a fault.'),
    choice('stop_action', 'hold', ('hold', 'release'),
           'What follows braking after a stop by the operator.'),
    switch('recover_lost_state', False,
           'Whether the controller recovers by itself when a lost state returns.'),
    scalar('pause_limit', 60.0, 's', 0.1, 1e5,
           'Time for which the simulated clock may stand still.', True),
    scalar('dead_man_timeout', 0.0, 's', 0.0, 5.0,
           'Time without a dead-man message after which the robot stops. 0: not used.', True),
    scalar('start.tolerance', 0.15, '', 0.0, 1.0, 'Largest difference between measured effort '
           'and predicted gravity torque, as a fraction of torque_limits.', True),
    scalar('start.time', 0.2, 's', 0.0, 5.0,
           'Time for which rate, positions and effort are checked before the first torque; at '
           'least state_timeout.', True),
    scalar('start.watch_time', 0.5, 's', 0.0, 30.0, 'Time after the first torque for which '
           'unexpected motion is a fault; at least ramp_time.', True),
    scalar('start.distance', 0.5, 'rad or m', 1e-3, 10.0,
           'Motion at the start beyond which there is a fault.', True),
    scalar('start.velocity', 0.2, 'rad/s or m/s', 1e-3, 100.0, 'Velocity that a joint may gain '
           'by itself while the gains ramp in. Beyond it there is a fault.', True),
    scalar('start.acceleration', 50.0, 'rad/s^2 or m/s^2', 0.1, 1e4,
           'Acceleration at the start beyond which there is a fault.', True),
)

_CONTACT = (
    choice('contact.reaction', 'off', tuple(each.name.lower() for each in ContactReaction),
           'What follows a contact: nothing is looked for, it is reported, the robot is braked, '
           'floats, is held by springs at task.frame, or goes back along its path.',
           structural=False),
    joints('contact.torque', [], 'N.m or N', 1e-6, 1e5, 'Observed torque beyond which there is a '
           'contact. If empty, a tenth of torque_limits.'),
    joints('contact.torque_speed', [0.0], 'N.m.s/rad or N.s/m', 0.0, 1e4,
           'By which contact.torque grows with the speed of the joint.'),
    axes('contact.force', [0.0] * 3, 'N', 0.0, 1e5, 'Observed force along the axes of task.frame '
         'beyond which there is a contact. 0: any.'),
    axes('contact.moment', [0.0] * 3, 'N.m', 0.0, 1e5, 'Observed moment about the axes of '
         'task.frame beyond which there is a contact. 0: any.'),
    joints('contact.coulomb', [], 'N.m or N', 0.0, 1e4, 'Dry friction that the observer sees '
           'without a contact. If empty, friction.coulomb.'),
    joints('contact.viscous', [], 'N.m.s/rad or N.s/m', 0.0, 1e4, 'Viscous friction that the '
           'observer sees without a contact. If empty, friction.viscous.'),
    joints('contact.offset', [0.0], 'N.m or N', -1e4, 1e4,
           'Torque that the observer sees without a contact, besides friction.'),
    scalar('contact.bandwidth', 60.0, '1/s', 0.1, 1e3, 'Bandwidth of the observer of contacts.'),
    scalar('contact.retract_distance', 0.1, 'rad or m', 1e-3, 3.0,
           'Largest way of the reference of any joint on the way back.'),
    scalar('contact.retract_speed', 0.25, 'rad/s or m/s', 1e-3, 10.0,
           'Largest speed of the reference of any joint on the way back.'),
    scalar('contact.retract_time', 1.0, 's', 0.01, 5.0, 'Largest duration of the way back.'),
    scalar('contact.energy_limit', 0.0, 'J', 0.0, 1e4, 'Kinetic energy of the apparent mass of '
           'task.frame above which its reference, or a trajectory of the joints, slows down. No '
           'safety function. 0: any.'),
)

_OUTPUT = (
    choice('command_type', 'float64_multi_array', (
        'float64_multi_array', 'joint_state', 'motor_array', 'motor_joint_state',
        'motor_dynamic_joint_state'), 'Message type of ~/commands. Those with motor are for '
           'motors that close their own loop.'),
    joints('motor.stiffness', [0.0], 'N.m/rad or N/m', 0.0, 1e5, 'Kp of motors that close their '
           'own loop, in modes that follow joint references.', True),
    joints('motor.damping', [0.0], 'N.m.s/rad or N.s/m', 0.0, 1e4, 'Kd of motors that close '
           'their own loop.', True),
    joints('motor.blind_damping', [], 'N.m.s/rad or N.s/m', 0.0, 1e4, 'Kd that remains when the '
           'state is lost, on the way to release and after it. If empty, motor.damping.', True),
    scalar('motor.timeout', 0.1, 's', 0.0, 10.0, 'Time for which such a motor keeps the last '
           'command. 0: for ever.', True),
    Parameter('dynamics_divider', INTEGER, 0, '', 'Number of states per set of ~/dynamics '
              'messages. 0: none are published.', 0, 100000),
    Parameter('state_divider', INTEGER, 10, '', 'Number of states per ~/controller_state. 0: none '
              'are published.', 0, 100000),
    choice('executor', 'events', ('events', 'single'), 'Executor of rclpy for all but the '
           'control loop.'),
    switch('realtime.lock_memory', False, 'Call mlockall. Warns if refused.'),
    Parameter('realtime.priority', INTEGER, 0, '', 'SCHED_FIFO priority of the control loop, '
              'taken at startup. 0: not used.', 0, 99, structural=True, fixed=True),
    Parameter('realtime.cores', INTEGERS, [], '', 'Cores that the control loop may run on, taken '
              'at startup. If empty, any.', 0, 4095, structural=True, fixed=True),
    Parameter('realtime.cpu', INTEGER, -1, '', 'The same for a single core, an older name. -1: '
              'any.', -1, 4095, structural=True, fixed=True),
    Parameter('realtime.prefault', BOOL, True, '', 'Give stack and heap of the control loop their '
              'memory at startup, so that it never waits for a page.', structural=True,
              fixed=True),
    switch('realtime.freeze_gc', True, 'Call gc.freeze at activation.'),
)

_LOAD = (
    Parameter('gravity', DOUBLES, [0.0, 0.0, -9.81], 'm/s^2', 'Gravity vector in the base frame.',
              -100.0, 100.0),
    choice('gravity_source', 'parameter', ('parameter', 'imu', 'tf'),
           'Where the direction of gravity comes from.'),
    text('gravity_frame', '', 'Frame whose z axis points up, for gravity_source tf.'),
    scalar('gravity_timeout', 0.5, 's', 0.01, 10.0,
           'Age beyond which a measured direction is lost.', True),
    scalar('gravity_slew', 50.0, 'm/s^3', 0.1, 1e6,
           'Largest rate of change of the gravity vector.'),
    text('payload.frame', '', 'Frame that carries the payload. If empty, task.frame.'),
    scalar('payload.mass', 0.0, 'kg', 0.0, 1e4, 'Mass of the payload.'),
    Parameter('payload.com', DOUBLES, [0.0, 0.0, 0.0], 'm',
              'Centre of mass of the payload, in payload.frame.', -10.0, 10.0),
    Parameter('payload.inertia', DOUBLES, [0.0] * 6, 'kg.m^2',
              'Inertia about the centre of mass: xx, xy, xz, yy, yz, zz.', -1e4, 1e4),
    scalar('payload.ramp_time', 1.0, 's', 0.0, 60.0,
           'Time over which a change of the payload is blended in.'),
)

_FORCE = (
    text('force_torque.frame', '', 'Frame of a force-torque sensor, in whose axes and about whose '
         'origin it measures. If empty, there is none.'),
    text('force_torque.sensor_name', '', 'Name under which the hardware of ros2_control exports '
         'the sensor: <name>/force.x to <name>/torque.z are read. The node does not use it.'),
    choice('force_torque.convention', 'load', ('load', 'support'), 'What a reading is: the wrench '
           'that pulls at the sensor, so that a tool that hangs reads downwards (load), or its '
           'opposite, with which the sensor carries the tool (support).'),
    scalar('force_torque.timeout', 0.05, 's', 0.001, 1.0,
           'Time without a reading after which there is a fault.', True),
    scalar('force_torque.freeze_time', 0.1, 's', 0.0, 10.0, 'Time for which all six numbers of a '
           'reading may be exactly the same; longer is a fault. 0 disables the check.', True),
    scalar('force_torque.force_range', 500.0, 'N', 0.1, 1e5,
           'Force beyond which a reading is a fault.', True),
    scalar('force_torque.moment_range', 50.0, 'N.m', 0.01, 1e5,
           'Moment beyond which a reading is a fault.', True),
    scalar('force_torque.force_jump', 100.0, 'N', 0.1, 1e5, 'Change of the force between two '
           'readings beyond which there is a fault.', True),
    scalar('force_torque.moment_jump', 20.0, 'N.m', 0.01, 1e5, 'Change of the moment between two '
           'readings beyond which there is a fault.', True),
    scalar('force_torque.filter', 0.01, 's', 0.0, 1.0, 'Filter time of the measured wrench, and '
           'of the inertial one that is removed from it.', True),
    scalar('force_torque.tool_mass', 0.0, 'kg', 0.0, 1e4, 'Mass of what the description has '
           'behind the sensor; the payload counts besides.', True),
    Parameter('force_torque.tool_com', DOUBLES, [0.0, 0.0, 0.0], 'm',
              'Its centre of mass, in force_torque.frame.', -10.0, 10.0, structural=True),
    Parameter('force_torque.tool_inertia', DOUBLES, [0.0] * 6, 'kg.m^2',
              'Its inertia about the centre of mass: xx, xy, xz, yy, yz, zz.', -1e4, 1e4,
              structural=True),
    Parameter('force_torque.force_bias', DOUBLES, [0.0, 0.0, 0.0], 'N',
              'Force that a reading has without any load.', -1e5, 1e5, structural=True),
    Parameter('force_torque.moment_bias', DOUBLES, [0.0, 0.0, 0.0], 'N.m',
              'Moment that a reading has without any load.', -1e5, 1e5, structural=True),
    scalar('force_torque.tare_time', 0.5, 's', 0.01, 10.0,
           'Time at rest over which ~/tare_force_torque takes the mean.', True),
    scalar('force_torque.tare_force', 20.0, 'N', 0.0, 1e5,
           'Largest change of the force bias that ~/tare_force_torque makes.', True),
    scalar('force_torque.tare_moment', 4.0, 'N.m', 0.0, 1e5,
           'Largest change of the moment bias that ~/tare_force_torque makes.', True),
    Parameter('force_control.axes', STRINGS, [], '', 'Directions of task.frame along which '
              f'{users("task.linear_integral")} controls the force by the sensor, instead of '
              'feeding it forward. '
              'None of them may be in task.axes.', structural=True,
              choices=('rx', 'ry', 'rz', 'tx', 'ty', 'tz', 'x', 'y', 'z')),
    scalar('force_control.gain', 2.0, '1/s', 0.0, 1e3, 'Gain of the integral: N/s for each N by '
           'which the force is wrong.', True),
    scalar('force_control.force_limit', 20.0, 'N', 0.0, 1e4, 'Bound of the integral.', True),
    scalar('force_control.moment_limit', 4.0, 'N.m', 0.0, 1e4, 'The same of moments.', True),
    scalar('force_control.force_rate', 100.0, 'N/s', 0.1, 1e6, 'Rate at which the wanted force '
           'rises and falls.', True),
    scalar('force_control.moment_rate', 20.0, 'N.m/s', 0.01, 1e6, 'The same of moments.', True),
    scalar('force_control.linear_speed', 0.05, 'm/s', 1e-4, 10.0, 'Speed at which the force has '
           'faded where nothing is touched. It acts in full up to half of it.', True),
    scalar('force_control.angular_speed', 0.2, 'rad/s', 1e-3, 30.0, 'The same of turns.', True),
    scalar('force_control.environment_stiffness', 1e4, 'N/m', 1.0, 1e8, 'Largest stiffness of '
           'what is touched, sensor and tool included; gains that are not stable with it are '
           'refused.', True),
    scalar('force_control.environment_angular_stiffness', 100.0, 'N.m/rad', 0.01, 1e8,
           'The same of turns.', True),
)

_NODE = (
    switch('autostart', False, 'Configure and activate automatically, once description and '
           'states have arrived.'),
    scalar('goal_lease', 1.0, 's', 0.2, 60.0, 'Time without a sign of life of the client of a '
           'goal after which the goal is canceled. The clients of rbd_ros give such signs.'),
    switch('goal_lease_for_all', False, 'Whether goals of clients that never give a sign of life '
           'are canceled as well.'),
    scalar('activation_timeout', 5.0, 's', 0.1, 60.0,
           'Time for which activation waits for a state of every joint, on the simulated clock '
           'if there is one.'),
    scalar('command_deadline', 0.1, 's', 0.0, 10.0,
           'DEADLINE offered on ~/commands. 0: none.', True),
    scalar('liveliness_lease', 0.2, 's', 0.0, 10.0, 'LIVELINESS lease offered on ~/commands and '
           'asserted by the control loop. 0: none.', True),
    scalar('heartbeat_rate', 20.0, 'Hz', 1.0, 100.0,
           'Rate of ~/heartbeat and of asserting liveliness.', True),
    scalar('supervision_timeout', 10.0, 's', 0.0, 3600.0, 'Time without a sign of life of Python '
           'after which the control loop stops the robot. 0: none.', True),
    scalar('realtime.switch_interval', 5e-4, 's', 0.0, 0.1, 'Interval after which Python makes '
           "a busy thread yield. 0: Python's default.", True),
)

#: Every parameter by name.
PARAMETERS: Mapping[str, Parameter] = {
    p.name: p for p in (
        *_ROBOT, *_LAW, *_REFERENCE, *_SAFETY, *_CONTACT, *_OUTPUT, *_LOAD, *_FORCE, *_NODE,
        *(row for mode in MODES.values() for row in mode.rows.values()))}


def defaults(modes: Sequence[Mode] = ()) -> dict[str, Value]:
    """
    Return a fresh set of default values.

    :param modes: modes of the user.
    """
    return copy.deepcopy({p.name: p.default for p in with_modes(modes).values()})


def with_modes(own: Sequence[Mode]) -> Mapping[str, Parameter]:
    """
    Return every parameter of a controller with modes of the user.

    :param own: its modes.
    """
    if not own:
        return PARAMETERS
    choices = {'mode': tuple(all_modes(own)), 'goal_mode': tuple(taking(Takes.TRAJECTORY, own))}
    return {**PARAMETERS, **{name: dataclasses.replace(PARAMETERS[name], choices=names)
                             for name, names in choices.items()},
            **{name: row for mode in own for name, row in mode.rows.items()}}
