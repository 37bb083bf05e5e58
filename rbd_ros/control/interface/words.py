# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Everything that the controller says: a word is a code with its sentence, declared once.

A step tells codes with a joint and three numbers. The node, the dashboard, the plugin of
ros2_control and the reference make sentences of them by these tables; what the places stand for is
in :mod:`~rbd_ros.control.interface.sentences`.
"""

from __future__ import annotations

import enum

from rbd_ros.control.interface.sentences import Sentence

__all__ = ['ArrivalWord', 'AXES', 'FlowWord', 'LawWord', 'LoadWord', 'ObserverWord', 'PointWord',
           'ReferenceWord', 'Saying', 'SensorWord', 'SessionWord',
           'SupervisorWord', 'TABLES', 'word_of']

#: directions of the frame, in the order of a wrench
AXES = ('rx', 'ry', 'rz', 'x', 'y', 'z')


class Saying(enum.IntEnum):
    """What is said: a code, its sentence, and the kind of line that it is in a log."""

    sentence: Sentence
    kind: str

    def __new__(cls, code: int, sentence: str = '', kind: str = 'warning') -> Saying:
        """Make it of its row."""
        made = int.__new__(cls, code)
        made._value_, made.sentence, made.kind = code, Sentence(sentence), kind
        return made

    def text(self, joint: str = '', a: float = 0.0, b: float = 0.0, c: float = 0.0,
             **names: str) -> str:
        """
        Return the sentence.

        :param joint: that it is about.
        :param names: for other places.
        """
        return self.sentence(joint, a, b, c, **names)


class FlowWord(Saying):
    """What is said of the step as a whole."""

    STATE = 1, '{state}', 'state'  # a: the new state of the supervisor
    MODE = 2, '{mode}', 'mode'
    RECOVERS = 3, 'recovers by itself: {recovered}'
    OUTSIDE = 4, '{outside}'  # a cause from outside, whose text is kept there
    NO_TIME = 5, 'the time of this event cannot be used'
    NO_KIND = 6, 'there is no such kind of events'


_CLOCK = 'the clock that stamps was set, or is another one'


class ArrivalWord(Saying):
    """What there is to say about joint states."""

    # why a message was not used
    NOT_PROVEN = 100, 'its age is not proven yet'
    CLOCK_BACK = 101, 'the clock of reception went back by {a:.4g} s'
    GAP = 102, 'being checked again after a gap of {a:.4g} s'
    STAMPS_APPEARED = 103, 'stamps appeared after states without stamps'
    STAMP_STANDS = 104, 'the stamp does not advance'
    STAMP_BACK = 105, 'the stamp went back by {a:.4g} s'
    LAG = 106, 'stamps fall behind reception: the state was {a:.4g} s old when it arrived'
    LEAD = 107, 'the stamp is {a:.4g} s ahead of the clock'  # which is known
    LEAP = 108, 'stamps jumped ahead of reception by {a:.4g} s'  # where it is not
    BURST = 109, 'messages arrive in a burst'
    STAMP_RATE = 110, 'stamps advanced {a:.4g} s within {b:.4g} s'
    LOW_RATE = 111, '{a:.4g} Hz is below minimum_rate {b:.4g} Hz'
    TWICE = 113, '{twice} appears twice in one message'  # a: kind of message
    POSITIONS = 114, '{a:.0f} positions for {b:.0f} names'
    VELOCITIES = 115, '{a:.0f} velocities for {b:.0f} names'
    EFFORTS = 116, '{a:.0f} efforts for {b:.0f} names'
    NOT_FINITE = 117, 'the position of {joints} is not finite'  # in three masks
    JUMP = (118, '{model_joint} jumped from {a:.4g} {unit} to {b:.4g} {unit} within {c:.3g} s: a '
                 'faulty sensor, or two publishers')
    DISAGREE = (119, '{model_joint} has two sources that disagree: {a:.4g} {unit} in messages of '
                     '{first}, {b:.4g} {unit} in those of {second}')  # c: both kinds of messages
    BAD_TIME = 120, 'its time or its stamp is no time'
    UNREADABLE = 121, 'unreadable: {unreadable}'
    TOO_MANY_KINDS = (122, '{a:.0f} other kinds of messages have joints of the robot: messages of '
                           '{refused} are ignored')
    # to be logged
    UNSTAMPED = 130, 'joint states have no stamp: their age is judged by reception only'
    AHEAD = (131, f'stamps of joint states are {{a:.4g}} s ahead: {_CLOCK} than that of the '
                  'controller. They are not used')
    AHEAD_ANEW = (132, f'stamps of joint states are {{a:.4g}} s ahead: {_CLOCK}. The states are '
                       'checked anew')
    DOUBLED = (133, 'controlled joints arrive in more than one kind of message, one of them '
                    '{kind}: each joint should have one source')  # a: kind of message
    NO_VELOCITY = (134, 'no velocity for {joints}: using the filtered derivative of the '
                        'position')  # in three masks
    UNREADABLE_IGNORED = 135, 'unreadable message on joint_states ignored: {unreadable}'
    # why torque does not begin
    LATE_BEFORE = (140, 'the last state was {a:.3g} s old when the next one came, {b:.3g} s are '
                        'allowed')
    LATE_STATE = 141, 'a state was {a:.3g} s late, {b:.3g} s are allowed'
    # why the state is too old
    STALE = (150, '{model_joint}: no message for {b:.4g} s')  # a: kind of message that had it
    # last, or -1; c: s by which that was old
    UNKNOWN = 151, '{model_joint}: in no message so far'


class SupervisorWord(Saying):
    """What supervisor, torque and monitors say; ``c`` is 1 where likely causes may follow."""

    CLOCK_BACKWARDS = 200, 'backwards by {a:.4g} s'
    CLOCK_AHEAD = 201, 'ahead by {a:.4g} s within {b:.4g} s'
    SILENT = 202, '{a:.4g} s since the last one'
    SIMULATOR_AT_REST = 203, '{a:.4g} s, simulator at rest'
    PAUSED = 204, '{a:.4g} s'
    CANNOT_ACTIVATE = 205, 'cannot activate while {state}'
    STOP_NOT_ENDED = 206, 'wait until the stop has ended, the controller is {state}'
    NOTHING_TO_RESET = 207, 'nothing to reset, the controller is {state}'
    NO_DEAD_MAN = 208, 'the dead-man signal is missing'
    STOP_SERVICE = 209, '~/stop'
    OUTPUT_NOT_FREE = (
        210, 'the command topic is not known to be free: another node publishes there, or '
             'discovery goes on after a halt. End the other one, or try again in some seconds')
    NOT_BRAKED = (211, 'deactivated while the robot was driven: it is not braked. Call ~/stop '
                       'first')
    # the torque
    LAW_NOT_FINITE = 221, 'the torque of the control law is not finite'
    GRAVITY_NOT_FINITE = 223, 'not finite'
    VELOCITY_NOT_FINITE = 224, 'the velocity is not finite'
    # the monitors
    TOO_FAST = 240, '{joint}: velocity {a:.4g} {unit}/s beyond {b:.4g} {unit}/s{causes}'
    LOW_RATE = 241, '{a:.4g} Hz, minimum_rate {b:.4g} Hz'
    FAR_FROM_REFERENCE = (
        242, '{joint}: tracking error {a:.4g} {unit} beyond {b:.4g} {unit}{causes}')
    ORIENTATION_FAR = (
        243, 'orientation of the tip: tracking error {a:.4g} rad beyond {b:.4g} rad{causes}')
    POSITION_FAR = 244, 'position of the tip: tracking error {a:.4g} m beyond {b:.4g} m{causes}'
    MOVED = 245, '{joint} moved {a:.3g} {unit} within {b:.3g} s of the first torque{causes}'
    MOVES = (246, '{joint} moves at {a:.3g} {unit}/s by itself, {b:.3g} s after the first '
                  'torque{causes}')
    ACCELERATES = 247, '{joint} accelerates at {a:.3g} {unit}/s^2 at the start{causes}'
    NO_SPEED = 248, '{joint}: its velocity is no number'
    MISMATCH = (250, '{joint}: its positions change at {a:.3g} {unit}/s, but its velocity is '
                     '{b:.3g} {unit}/s')
    POSITIONS_TOO_FAST = (
        251, '{joint}: velocity of its positions {a:.4g} {unit}/s beyond {b:.4g} {unit}/s')
    OUT_OF_RANGE = (252, '{joint} is at {a:.4g} {unit}, far outside its limits (sign, unit or '
                         'zero of its sensor?)')
    REPEATS = (253, '{joint} repeats the position {a:.6g} {unit} exactly, which its sensor never '
                    'did')
    NO_DEAD_MAN_MESSAGE = 254, 'no message for {a:g} s'
    DEAD_MAN_RELEASED = 255, 'the switch was released'
    REFUSED_IN_A_ROW = (256, '{a:g} references in a row were rejected while the robot was moving; '
                             'the last one: {refusal}')


_UNIT = '{unit}{c||/s|/s^2}'
_OFF = f'{{joint}}: {{c|position|velocity|acceleration}} error {{a:.4g}} {_UNIT} exceeds the '


class ReferenceWord(Saying):
    """What references tell, why goals end, and why a reference is refused."""

    DRY = (300, 'the reference comes to rest {c:.4g} s before the end of its trajectory: after '
                '{a+1:.0f} of {b:.0f} pieces the next one did not come in time. Send the '
                'trajectory again, with fewer points if it has many')
    # ends of goals
    RESTARTED = 310, 'the controller was restarted'
    HELD = 311, 'the reference is held'
    SET_POINT = 312, 'pre-empted by a set-point'
    NEW_TRAJECTORY = 313, 'pre-empted by a new trajectory'
    MODE_CHANGED = 314, 'the mode changed to {mode}'
    STOPPED = 315, 'the controller stopped: {faults}'
    CANCELED = 316, 'canceled by the client'
    REACHED = 317, 'goal reached'
    OFF_PATH = 318, f'{_OFF}path tolerance {{b:.4g}} {_UNIT}'
    OFF_GOAL = 319, f'{_OFF}goal tolerance {{b:.4g}} {_UNIT}'
    DRIED = 320, 'the trajectory did not come in time: nothing followed after {a+1:.0f} pieces'
    SILENT = (321, 'its client has given no sign of life for goal_lease: it has ended, or was '
                   'suspended')
    # refusals
    NO_SET_POINT = 330, 'the set-point is not finite'
    NO_TRAJECTORY = 331, 'the trajectory is not finite'
    REPLACED = 332, 'pre-empted by a new trajectory'
    NO_GOAL = 333, 'the goal has ended already'
    NO_POSE = 334, 'the target pose is not finite'
    NO_TWIST = 335, 'the target twist must be six finite numbers'
    NO_WRENCH = 336, 'the target wrench must be six finite numbers'
    NOT_RUNNING = 337, 'the controller is {state}'
    OTHER_MODE = (338, 'the mode is {mode}; set the parameter mode to {modes}, or goal_mode, so '
                       'that goals switch to it')
    NO_PATH = 339, 'no trajectory is being followed'
    # why no goal is taken
    NOT_ACTIVE = 340, 'the controller is {state}: activate it'
    FAULTY = 341, 'the controller is {state} ({faults}): when it has come to rest, call ~/reset'
    SWITCHES_LATER = (342, 'the mode is {mode}: a goal switches it (goal_mode) only while the '
                           'controller is running')


class LawWord(Saying):
    """Words of laws, brake and hold."""

    HOLD_YIELDS = (350, 'the hold yields to a push: {joint} has moved by {a:.3g} {unit} so far. '
                        'If nobody is pushing, the payload or the description is wrong')


class PointWord(Saying):
    """Why the points of a trajectory are refused."""

    NO_POINTS = 370, 'the trajectory has no points'
    NO_POSITIONS = 371, 'the points have no positions'
    UNEVEN = (372, 'point {b:.0f} has {a:.0f} {c|positions|velocities|accelerations}, not one for '
                   'each joint; all points must give them, or none')
    NO_VELOCITIES = 373, 'accelerations without velocities'
    NOT_FINITE = 374, '{a|positions|velocities|accelerations} are not all finite'
    TIMES = (375, 'time_from_start must be finite and increase strictly: in point {c:.0f} it is '
                  '{a:.9g} s, after {b:.9g} s')
    OUTSIDE = 376, 'position {a:.6g} {unit} of joint {joint} is outside [{b:.6g}, {c:.6g}] {unit}'
    VELOCITY = (377, 'velocity {a:.6g} {unit}/s of joint {joint} in point {c:.0f} is beyond '
                     '{b:.6g} {unit}/s')
    ACCELERATION = (378, 'acceleration {a:.6g} {unit}/s^2 of joint {joint} in point {c:.0f} is '
                         'beyond {b:.6g} {unit}/s^2')
    TOO_FAST = (379, '{joint} would move at {a:.4g} {unit}/s, beyond its reference.velocity '
                     '{b:.4g} {unit}/s')
    ENDED = 380, 'the trajectory ended {a:.4g} s ago'
    TOO_CLOSE = 381, 'points of the trajectory are closer together than the clock can tell'
    TOLERANCE = 382, '{a|position|velocity|acceleration} tolerance of {joint} is not finite'
    TOO_LARGE = (383, 'the target {c|twist|wrench} has {a:g} {c|m/s or rad/s|N or N.m}, which is '
                      'beyond {b:g} {c|m/s or rad/s|N or N.m}')
    FAR = (384, 'target_pose is {a:.5g} m from the base{c|; the tip reaches at most|, beyond} '
                '{b:.5g} m. Send metres, not millimetres, and name their frame in header.frame_id')
    NO_TURN = 385, 'the quaternion has length {a:.4g}'
    COUNT = (386, '{a:.0f} {c|positions|velocities} for {b:.0f} joints: one for each is needed, '
                  'in the order of the parameter joints')


class ObserverWord(Saying):
    """What a joint that stands still is accused of, and what is felt of a contact."""

    STANDS = (400, '{joint} does not move at all: it should have moved by {a:.3g} {unit}, more '
                   'than a tenth of tracking_limits (blocked, or a frozen sensor)')
    MOVES_UNSEEN = (
        401, '{joint} stands at {a:.6g} {unit}, but the other joints feel that it moves')
    TOUCHED = (402, '{joint} feels {a:.3g} {effort}, threshold {b:.3g} {effort}; {c:.3g} N if it '
                    'is at task.frame')
    TOUCHED_ALONG = (403, 'task.frame feels {a:.3g} {b|N.m|N.m|N.m|N} along {b|' + '|'.join(AXES)
                     + '}; {c:.3g} N in all')
    PUSHED_UNSEEN = (404, '{joint} stands at {a:.6g} {unit}, but by its torque it has {b:.3g} '
                          '{unit}/s by now (blocked, or a frozen sensor)')
    LEAPT = (405, '{joint} has moved by {a:.3g} {unit} while its sensor repeated one position')


_AGES = 'joint states are {a*1000:.3g} to {b*1000:.3g} ms old when they arrive'
_FOR_AGES = ('damping, laws, stops and holds are made for that from now on, not for delay '
             '{c*1000:.3g} ms. Set delay, and add the time that torques take')
_NOT_COMPARED = ('so gravity cannot be compared before the first torque, which is g(q) if the '
                 'robot is at rest')
_LOOP_ADVICE = 'zero or sign of a sensor'


class LoadWord(Saying):
    """What load, start check, closed loops and the delay of the control loop have to say."""

    LATE_BY_OUR_CLOCK = 450, f'{_AGES}: {_FOR_AGES}'
    LATE_IF_OUR_CLOCK = (
        451, f'{_AGES}, if the clock that stamps is that of this machine: {_FOR_AGES}')
    GAINS_FOR_DELAY = (452, 'the gains may be unstable with a delay of {a*1000:.3g} ms: lower '
                            'them, or the delay')
    BAD_PAYLOAD = 453, 'payload has entries that are not finite'
    BAD_DIRECTION = 454, 'the direction of gravity is no unit vector'
    GRAVITY_OLD = 455, '{a:g} s'
    NEGATIVE_MASS = 456, 'payload mass {a:g} kg is negative'
    BEYOND = (457, 'payload {c|mass|centre of mass|inertia} {a:g} {c|kg|m|kg.m^2} is beyond {b:g} '
                   '{c|kg|m|kg.m^2}')
    IMPOSSIBLE = (458, 'principal moments {a:.6g}, {b:.6g} and {c:.6g} kg.m^2 are impossible for '
                       'a rigid body: each must be at most the sum of the other two')
    MASSLESS = 459, 'a payload without mass has no inertia'
    START_POSITIONS = (460, '{joint} is at {a:.4g} {unit}, far outside its limits. Another robot, '
                            'another zero position, another unit, or an offset of the encoders?')
    START_RATE_LOW = (
        461, 'joint states arrive at {a:.4g} Hz, which is not clearly above minimum_rate {b:g} Hz '
             '(nominal_rate {c:g} Hz): this would be a fault within a second. Make the driver '
             'publish faster, or set both parameters to its rate')
    START_RATE_FAR = (
        462, 'start check: joint states arrive at {a:.4g} Hz, but nominal_rate is {c:g} Hz: set '
             'it to {a:.0f} Hz. Damping and the steps of the limiter are designed for it; below '
             'half of it, the control loop may oscillate')
    START_NO_EFFORT = (
        463, f'start check: joint_states has no effort for some joints, {_NOT_COMPARED}')
    START_NOT_COMPARED = 464, f'start check: effort_is_torque is false, {_NOT_COMPARED}', 'info'
    START_UNMEASURED = (465, 'start check: no effort was measured at rest; the first torque is '
                             'g(q) if the robot is at rest')
    START_BRAKED = (
        466, 'start check: the measured effort is about zero although gravity requires {a:.3g} '
             '{effort} ({joint}): the brakes hold the robot, or the effort does not include '
             'gravity; the first torque is g(q)')
    START_MATCH = (
        467, 'start check: measured effort agrees within {a:.3g} {effort}; the first torque is '
             'its median, bounded by what g(q) explains', 'info')
    START_MISMATCH = 468, '{joint}: measured {a:.4g} {effort}, predicted {b:.4g} {effort}{causes}'
    START_AGE = (
        469, 'the stamps of joint states are {a:.4g} s behind the clock of this machine (below '
             '0 s: ahead of it; 0 s: there are no stamps), so that nobody knows how late they '
             'are, and delay is 0 s: damping made for states without delay throws a robot whose '
             'states are late. Set delay to the time from measuring a state to applying its '
             'torque (a little more does no harm), or let the driver stamp states when they are '
             'measured, by a clock that agrees with that of this machine; with simulated time set '
             'use_sim_time')
    TOO_HEAVY = (470, 'a payload of {c:g} kg cannot be held: at the present pose {joint} would '
                      'need {a:.4g} {effort}, its limit is {b:.4g} {effort}')
    NO_ORIENTATION = 471, 'the IMU reports that it has no orientation'
    BAD_QUATERNION = 472, 'its quaternion has length {a:.4g}, not 1'
    TOO_LATE = (
        473, 'a delay of {a*1000:.3g} ms is too long for this robot: at some poses its weight '
             'moves it faster than torques that answer so late can hold it, whatever the gains '
             'are. Below {b*1000:.3g} ms it can be held; give rotor_inertia if the motors have '
             'rotors that the description leaves out, or bring states and torques through faster')
    LOOP_OPEN = (480, 'loop joint "{loop}" is open by {a:.3g} (rad or m), loop_tolerance {b:g} '
                      f'(rad or m): {_LOOP_ADVICE}, or lengths of the description?')
    LOOP_LOST = (
        481, 'loop joint "{loop}" stays open by {a:.3g} (rad or m) with the driven joints where '
             f'they are: no passive joints close it near those before. {_LOOP_ADVICE.capitalize()}'
             ', lengths of the description, or assembly.joints far from the start?')
    LOOP_SINGULAR = (
        482, 'the robot is near a singular position of its closed loops, that of loop joint '
             '"{loop}": the driven joints do not determine the others there (pivot {a:.2g} of its '
             'usual size, loop_pivot {b:g})')


class SensorWord(Saying):
    """Words of the force-torque sensor."""

    SILENT = 500, 'no reading for {a:.3g} s, force_torque.timeout {b:g} s'
    REPEATS = (501, 'all six numbers have been exactly the same for {a:.3g} s, '
                    'force_torque.freeze_time {b:g} s')
    NOT_FINITE = 502, 'a reading is not finite'
    BEYOND_FORCE = 503, 'a reading of {a:.4g} N is beyond force_torque.force_range {b:g} N'
    BEYOND_MOMENT = 504, 'a reading of {a:.4g} N.m is beyond force_torque.moment_range {b:g} N.m'
    JUMPED_FORCE = (505, 'the force jumped by {a:.4g} N between two readings, '
                         'force_torque.force_jump {b:g} N')
    JUMPED_MOMENT = (506, 'the moment jumped by {a:.4g} N.m between two readings, '
                          'force_torque.moment_jump {b:g} N.m')
    NO_SENSOR = 510, 'there is no fresh reading of a force-torque sensor'
    MOVES = (511, 'the robot has been at rest for {a:.3g} s only: {b:g} s are needed '
                  '(force_torque.tare_time)')
    UNSTEADY = (512, 'the readings spread by {a:.3g} N and {b:.3g} N.m: somebody touches the '
                     'tool, or the robot vibrates')
    TOO_MUCH = (
        513, 'the bias would change by {a:.4g} N and {b:.4g} N.m, beyond '
             '{c|force_torque.tare_force|force_torque.tare_moment}: the tool touches something, '
             'or force_torque.tool_* or payload.* are wrong')


class SessionWord(Saying):
    """What is answered to a request, unless the step has refused it."""

    DONE = 600, '{state}'  # a: state of the supervisor
    RESET = 601, 'faults cleared, {state}'
    PAUSED = 602, 'the trajectory comes to rest on its path'
    RESUMED = 603, 'the trajectory goes on'
    FORCE_BIAS = 604, 'force_torque.force_bias: [{a:.6g}, {b:.6g}, {c:.6g}]'
    MOMENT_BIAS = 605, 'force_torque.moment_bias: [{a:.6g}, {b:.6g}, {c:.6g}]'
    NOTHING_TO_STOP = 606, 'nothing to stop: no torque is published'
    ACTIVATION_CANCELLED = 607, 'the activation is cancelled'
    START_CANCELLED = 608, 'the automatic start is cancelled'
    STOPPED_MEANWHILE = 609, '~/stop was called meanwhile'
    NO_ANSWER = 610, 'no answer came within {a:g} s: is the controller active?'
    TOO_MANY = 611, 'too many requests wait: is the controller active?'


#: all tables, in the order of their codes
TABLES: tuple[type[Saying], ...] = (
    FlowWord, ArrivalWord, SupervisorWord, ReferenceWord, LawWord, PointWord, ObserverWord,
    LoadWord, SensorWord, SessionWord)

_WORDS = {word.value: word for table in TABLES for word in table}


def word_of(code: float) -> Saying | None:
    """Return the word of a code, if there is one."""
    return _WORDS.get(int(code))
