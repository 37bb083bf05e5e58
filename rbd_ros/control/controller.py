# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The controller of one configured robot, without ROS: states and requests in, torques out.

Requests are what others ask for: to begin and to stop, other parameters, references and goals.
They run in the control thread; other threads ``post`` them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from rbd_ros.compiler import Bound
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Kind, NOBODY
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.interface.words import FlowWord, SessionWord
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.references.goals import Tolerances
from rbd_ros.control.references.joint_intake import JointIntake, point_limits
from rbd_ros.control.references.joint_requests import Streamed
from rbd_ros.control.references.targets import TaskIntake
from rbd_ros.control.references.trajectory import check_speed, check_times, Knots
from rbd_ros.control.step.admission import admit_goal, Gate
from rbd_ros.control.step.requests import (
    admit_reference, answer_request, answer_stop, ask_stop, blame, Session)
from rbd_ros.control.stepping import Array, Stepping
from rbd_ros.control.supervisor.states import SupervisorState
from rbd_ros.control.throttle import Throttle, with_suppressed
from rbd_ros.errors import RbdError

__all__ = ['Controller', 'Outdated']


#: s by which a trajectory, made of the reference of some time ago, may come too late: the first
#: time, and each next time that it is made twice as much. It joins the reference within five times
#: as long. A machine that is always later gets a refusal.
LATE, _TRIES = 0.02, 6


class Outdated(RbdError):
    """The robot has moved on since a request was made; it has to be made again."""


class Controller(Stepping):
    """
    One robot under control.

    :param settings: valid set of parameters.
    :param kernels: compiled laws by name.
    :param publish: sends a torque, unless whoever lets events happen does.
    :param backend: of the step, see :func:`rbd_ros.compiler.procedure.bind`.
    """

    def __init__(self, settings: Settings, kernels: Mapping[str, Bound],
                 publish: Callable[[Array], None] = lambda _: None, backend: str = 'auto',
                 ) -> None:
        super().__init__(settings, kernels, publish, backend)
        robot, references = settings.robot, self.x.references
        self._point_limits = point_limits(settings)
        #: set that will be in force once the posted requests have run
        self.accepted = settings
        #: what was asked for last, and its answer
        self.session = Session({})
        #: gravity with which the robot was activated, m/s^2
        self.started = settings.numbers('gravity')
        #: counts what makes a plan outdated: a reference, a goal, a reset, parameters, a payload
        self.changes = 0
        #: makes messages trajectories and set-points
        self.joint_intake = JointIntake(
            references.joint, self.feeder, self._point_limits, robot.spoken(),
            linear=settings.flag('reference.linear'))
        self._task_intake = TaskIntake(references.task, self.p.references.task)
        #: s by which a trajectory may come too late to the loop
        self.may_be_late = LATE
        self._last_goal = 0
        self._rejected = Throttle()  # log lines about references

    def activate(self, now: float, steady: float) -> str:
        """
        Begin to check states; every stream must prove again that it is fresh.

        :returns: the reason of a refusal, or nothing.
        """
        refused = self._begin_anew(Kind.ACTIVATE, now, steady)
        if not refused:
            self.intake.restart()
            self.started = self.settings.numbers('gravity')
        return refused

    def reset(self, now: float, steady: float) -> str:
        """
        Clear latched faults.

        :returns: the reason of a refusal, or nothing.
        """
        refused = self._begin_anew(Kind.RESET, now, steady)
        if not refused and self.state is SupervisorState.PROBING:  # streams are checked anew
            self.intake.restart()
        return refused

    def fault(self, steady: float, cause: Cause, text: str = '') -> None:
        """
        Stop for a cause from outside.

        :param cause: why.
        :param text: what exactly.
        """
        # What follows from a fault does not explain it.
        if cause.name not in self._fault_sentences.by_cause:
            self.speaker.outside[cause.name] = text
        blame(self.u, cause, FlowWord.OUTSIDE)
        self._step(Kind.FAULT, self.x.now, steady)

    def stop(self, steady: float) -> str:
        """
        Answer ~/stop where no loop does.

        :returns: what has happened.
        """
        ask_stop(self.session, self.x, self.u)
        if self.session.due:
            self._step(Kind.FAULT, self.x.now, steady)
        answer_stop(self.session, self.x)
        return self.answer

    def apply(self, settings: Settings, now: float, steady: float) -> None:
        """
        Take new parameters, all at once between two steps; structural ones stay as they are.

        :param settings: valid set for the same robot.
        """
        self.changes += 1
        self.settings = self.speaker.settings = settings.with_structure_of(self.settings)
        self._fill(self.settings)
        self._point_limits.memory[:] = point_limits(self.settings).memory
        self.snapshots.divider = self.settings.report_divider
        self._step(Kind.PARAMETERS, now, steady)

    def hold(self, now: float, steady: float) -> None:
        """Let references come to rest."""
        self.changes += 1
        self._step(Kind.HOLD, now, steady)

    def take_payload(self, now: float, steady: float, payload: Array) -> None:
        """
        Begin a ramp to another payload.

        :param payload: ten numbers of ``payload_vector``.
        """
        self.changes += 1
        self.u.numbers[:10] = payload
        self._step(Kind.PAYLOAD, now, steady)

    def take_gravity(self, now: float, steady: float, when: float, down: Array) -> None:
        """
        Take where down is.

        :param when: control time of measuring, s.
        :param down: unit vector in the base.
        """
        self.u.numbers[:3], self.u.numbers[3] = down, when
        self._step(Kind.GRAVITY, now, steady)

    def take_reading(self, now: float, steady: float, wrench: Sequence[float],
                     stamp: tuple[int, int] = (0, 0)) -> None:
        """
        Take a reading of the force-torque sensor.

        :param wrench: moment, force; in the axes of the sensor.
        :param stamp: ``header.stamp``, s and ns; zero: none.
        """
        self.u.numbers[:6], self.u.numbers[6:8] = wrench, stamp
        self._step(Kind.READING, now, steady)

    def know_output(self, now: float, steady: float, until: float) -> None:
        """
        Take until when the output is known to be free: nothing begins to be sent later.

        Without it the output is taken for free for ever.

        :param until: steady time, s.
        """
        self.u.numbers[0] = until
        self._step(Kind.OUTPUT, now, steady)

    def tare(self, now: float, steady: float) -> str:
        """
        Take what the sensor reads at rest, without the tool, as its bias.

        :returns: the reason of a refusal, or nothing.
        """
        self._step(Kind.TARE, now, steady)
        return self._judge()

    @property
    def goal(self) -> Hashable | None:
        """Return the key of the active goal; None: there is none."""
        return self._goals.get(int(self.x.references.joint.goal.active))

    def admit_goal(self) -> str:
        """
        Return the mode to which a goal has to switch; nothing: it is taken as things are.

        :raises GoalError: if none is taken.
        """
        gate = Gate({})
        admit_goal(gate, self.x, self.p)
        if gate.word:
            raise GoalError(ResultCode.INVALID_GOAL, self.speaker.text(
                int(gate.word), NOBODY, gate.a, 0.0, 0.0))
        return self._modes[int(self.p.goal_mode)] if gate.switches else ''

    def check_points(self, knots: Knots) -> None:
        """
        Refuse points that are not finite, outside the joint limits, or too fast.

        :param knots: the points.
        :raises GoalError: naming joint and limits.
        """
        self.joint_intake.check(knots)

    def check_goal(self, knots: Knots, start: float | None, now: float) -> None:
        """
        Refuse the points of a goal that it cannot follow.

        :param knots: the points.
        :param start: control time of their time_from_start 0; None: now.
        :raises GoalError: naming joint and limits.
        """
        self.check_points(knots)
        check_speed(knots, self.p.references.joint.velocity, self.settings.robot.spoken())
        check_times(knots, now if start is None else start, now)

    def take_points(self, now: float, steady: float, knots: Knots,
                    start_time: float | None = None) -> None:
        """
        Take the points of a message that is no goal.

        :param knots: its points.
        :param start_time: control time of its time_from_start 0; None: now, whenever it is taken.
        """
        self._take_reference(now, steady, lambda now: self.joint_intake.take(
            self.u, now, knots, start_time))

    def take_stream(self, now: float, steady: float, numbers: Sequence[float],
                    of: Streamed) -> None:
        """
        Take a message of a stream of positions or velocities.

        :param numbers: one for each joint.
        :param of: what they are.
        """
        self._take_reference(now, steady, lambda now: self.joint_intake.stream(
            self.u, now, numbers, of))

    def pursue(self, now: float, steady: float, knots: Knots, start_time: float | None,
               key: Hashable, tolerances: Tolerances) -> None:
        """
        Follow a goal.

        :param knots: its points.
        :param start_time: control time of its time_from_start 0; None: now, whenever it is taken.
        :param key: by which its end is told in ``ended``.
        :param tolerances: of the goal.
        :raises GoalError: if the law does not run or does not follow the joints, or if the points
            cannot be followed.
        """
        self.changes += 1
        admit_reference(self.session, self.x)
        if not self.session.due:
            raise GoalError(ResultCode.INVALID_GOAL, self.answer)
        self._last_goal += 1
        self._goals[self._last_goal] = key
        try:
            self._repeat(now, steady, lambda now: self.joint_intake.follow(
                self.u, now, knots, start_time, self._last_goal, tolerances))
        except RbdError:
            del self._goals[self._last_goal]
            raise
        if self.y.answer:  # it will never end
            del self._goals[self._last_goal]
            raise GoalError(ResultCode.INVALID_GOAL, self._judge())

    def cancel(self, now: float, steady: float, key: Hashable, *, on_path: bool = False,
               silent: bool = False) -> None:
        """
        Cancel a goal and hold; nothing happens if it is not the active one.

        :param key: of the goal.
        :param on_path: whether to come to rest on its path; else as soon as each joint can.
        :param silent: whether its client gives no sign of life, so that it is aborted.
        """
        self.changes += 1
        if self.goal is not None and self.goal == key:
            self.u.numbers[:3] = self.x.references.joint.goal.active, on_path, silent
            self._step(Kind.CANCEL, now, steady)

    def pause(self, now: float, steady: float, paused: bool, *, end: bool = False) -> str:
        """
        Let a trajectory come to rest on its path, or go on.

        :param paused: whether to rest, else to go on.
        :param end: whether the trajectory is over once it rests; its goal is aborted.
        :returns: the reason of a refusal, or nothing.
        """
        self.changes += 1
        self.u.numbers[:2] = paused, end
        self._step(Kind.PAUSE, now, steady)
        return self._judge()

    def take_pose(self, now: float, steady: float, position: Sequence[float],
                  quaternion: Sequence[float]) -> None:
        """
        Take a pose of the tip to go to.

        :param position: in the base, m.
        :param quaternion: x, y, z, w.
        """
        self._take_reference(now, steady, lambda now: self._task_intake.target_pose(
            self.u, now, position, quaternion))

    def take_twist(self, now: float, steady: float, twist: Sequence[float]) -> None:
        """
        Take a velocity of the tip.

        :param twist: angular, linear; base axes.
        """
        self._take_reference(now, steady, lambda now: self._task_intake.target_twist(
            self.u, now, twist))

    def take_wrench(self, now: float, steady: float, wrench: Sequence[float]) -> None:
        """
        Take a wrench that the tip is to exert.

        :param wrench: moment, force; base axes.
        """
        self._take_reference(now, steady, lambda now: self._task_intake.target_wrench(
            self.u, now, wrench))

    def refuse(self, now: float, steady: float, reason: str) -> None:
        """
        Count a reference that was refused: several in a row while the robot moves are a fault.

        :param reason: why it was refused.
        """
        self.speaker.refused = reason
        self._step(Kind.REFUSED, now, steady)

    # -- inside -------------------------------------------------------------------------------

    def _take_reference(self, now: float, steady: float, make: Callable[[float], None]) -> None:
        """Take a new reference while the law runs; a rejected one is logged, changes nothing."""
        self.changes += 1
        admit_reference(self.session, self.x)
        if not self.session.due:
            self._warn(self.state, self.answer)
            return
        try:
            self._repeat(now, steady, make)
        except RbdError as error:
            self._warn(type(error), str(error))
            self.refuse(now, steady, str(error))

    def _repeat(self, now: float, steady: float, make: Callable[[float], None]) -> None:
        """Make an event and let it happen, until it does in time."""
        for k in range(_TRIES):
            make(now)
            self.may_be_late = LATE * 2.0**k
            try:
                self._step(int(self.u.kind), now, steady)
                return
            except Outdated:
                now, steady = self.u.now, self.u.steady
        raise GoalError(ResultCode.INVALID_GOAL, (
            f'the machine is too busy: {_TRIES} times the trajectory was not ready before the '
            f'reference, from which it begins, had moved on by {self.may_be_late:g} s'))

    def _warn(self, kind: object, reason: str) -> None:
        """Log that a reference is rejected, once per kind of reason and second."""
        left = self._rejected.take(kind, self.x.steady)
        if left is not None:
            self.events.append(('warning', with_suppressed(f'reference rejected: {reason}', left)))

    def _begin_anew(self, kind: int, now: float, steady: float) -> str:
        """Let a start happen, unless a stop came after it was asked for."""
        self.changes += 1
        try:
            self._step(kind, now, steady)
        except Outdated:
            self.session.answer.begin(False)
            self.session.answer.say(SessionWord.STOPPED_MEANWHILE, NOBODY, 0.0, 0.0, 0.0)
            return self.answer
        return self._judge()

    def _judge(self) -> str:
        """Return why the request that was the last event is refused; nothing: it was granted."""
        answer_request(self.session, self.x, self.u, self.p, self.y)
        return '' if self.session.answer.granted else self.answer

    @property
    def answer(self) -> str:
        """Return what the last request led to, or why it was refused."""
        rows = self.session.answer.words[:int(self.session.answer.count)].tolist()
        return ', '.join(self.speaker.text(int(word), int(joint), *numbers)
                         for word, joint, *numbers in rows)
