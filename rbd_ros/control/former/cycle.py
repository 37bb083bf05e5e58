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
The controller of one configured robot, without ROS: states and requests in, torques out.

Everything here runs in the control thread. Other threads only ``post`` requests to the loop and
read ``events``, which a slower thread announces.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.former.control_loop import ControlLoop, Need, Release, Torques
from rbd_ros.control.former.delay_watch import Ages, DelayWatch
from rbd_ros.control.former.disturbance import Disturbance
from rbd_ros.control.former.holding import Holding
from rbd_ros.control.former.joint_states.layout import Arrival
from rbd_ros.control.former.law_choice import LawChoice
from rbd_ros.control.former.load import Load
from rbd_ros.control.former.message_checks import MessageChecks
from rbd_ros.control.former.modes import Law
from rbd_ros.control.parameters.gains import gain_reasons
from rbd_ros.control.former.reference_intake import ReferenceIntake
from rbd_ros.control.former.references.joint_space import JointReference
from rbd_ros.control.former.references.operational_space import task_limits, TaskReference
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.freshness import Punctuality
from rbd_ros.control.former.safety.guards import DeadMan
from rbd_ros.control.former.safety.limits import TorqueLimiter
from rbd_ros.control.former.safety.supervisor import State, Supervisor
from rbd_ros.control.parameters.settings import Settings, UNSAID
from rbd_ros.control.former.snapshots import Snapshots
from rbd_ros.control.former.standstill import Standstill
from rbd_ros.control.former.state_checks import StateChecks

__all__ = ['Cycle']

Array = npt.NDArray[np.float64]

#: s by which states may become later before dampers are made anew
_SPARE = 0.0005

#: s over which the first ages of states are compared while a robot brakes
_BRAKES = 0.02


class Cycle:
    """One robot under control."""

    def __init__(self, settings: Settings, kernels: Mapping[str, Bound],
                 publish: Callable[[Array], None]) -> None:
        """
        Build the parts; nothing is allocated in use.

        :param settings: valid set of parameters.
        :param kernels: compiled ticks by name.
        :param publish: send a torque.
        """
        self.settings, robot = settings, settings.robot
        self.accepted = settings  # the newest ones, in force from the next cycle on
        self.joints = robot.joint_map(settings.ages())
        self.supervisor = Supervisor(settings.timing())
        self.supervisor.diagnose = self.joints.diagnose
        self.limiter = TorqueLimiter(
            settings.torque_limits.tolist(), settings.torque_rates.tolist(),
            1.0 / settings.number('nominal_rate'))
        self.torques = Torques(len(robot.joints))
        self.loop = ControlLoop(
            self.supervisor, self.limiter, self.torques, self._compute, publish,
            release=Release(settings.release_torque),
            switch_time=settings.number('switch_time'))
        self.loop.on_enter = self._entered
        self.reference = JointReference(
            settings.reference_velocity.tolist(),
            settings.joints('reference.acceleration').tolist(),
            lower=robot.pick(robot.model.lower), upper=robot.pick(robot.model.upper),
            continuous=robot.continuous, timeout=settings.number('reference.timeout'),
            linear=settings.flag('reference.linear'), joints=robot.joints,
            speed=settings.velocity_limits.tolist())
        self.task_reference = TaskReference(
            task_limits(settings), timeout=settings.number('task.timeout'),
            wrench_limit=settings.wrench_limit())
        self.load = Load(settings, kernels)
        self.message_checks = MessageChecks(self)
        self.dead_man = DeadMan(settings.number('dead_man_timeout'))
        self.punctuality = Punctuality(settings.number('state_timeout'),
                                       1.0 / settings.number('nominal_rate'))
        self._delays = DelayWatch(settings.clock_offset, settings.number('state_timeout'))
        self._given_delay = settings.number('delay')
        self.intake = ReferenceIntake(self, settings)
        self.checks = StateChecks(settings, self.joints, kernels, self.supervisor, self._fault_now)
        self.choice = LawChoice(settings, kernels, self.joints,
                                (self.reference, self.task_reference), self._saturation)
        joint_law = self.choice.joint
        self._disturbance = Disturbance(settings, kernels['momentum'], joint_law.external,
                                        self.choice.braking.load)
        self.loop.load = self._disturbance.load
        self._standstill = Standstill(settings, self.joints, kernels['momentum'],
                                      self._disturbance.observer)
        self._holding = Holding(joint_law, self.joints, robot.joints, self._disturbance.mean,
                                self.announce)
        self.events: deque[tuple[str, str]] = deque(maxlen=1000)  # kind, text
        self.now = self.steady = 0.0
        self.stamp = (0, 0)  # s and ns of the last state that was accepted
        self.arriving = (0, 0)  # s and ns of the present message, accepted or not
        self.states = 0
        self.calm = False  # no watched bound was exceeded in the last cycle
        self._controlled = self._pick() if isinstance(self.joints.select, slice) else None
        self.snapshots = Snapshots(self.joints, self.loop, self.reference, self.load)
        self.apply(settings)

    @property
    def mode(self) -> str:
        """Return the mode."""
        return self.choice.mode

    @property
    def law(self) -> Law:
        """Return the law in force."""
        return self.choice.law

    # -- called by the loop node -----------------------------------------------------------------

    def state(self, now: float, steady: float, names: tuple[str, ...],
              position: Array | Sequence[float], velocity: Array | Sequence[float],
              effort: Array | Sequence[float], stamp: float) -> bool:
        """
        Take one message; run a cycle if it carries controlled joints.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :param names: joint names.
        :param position: positions.
        :param velocity: velocities, or none.
        :param effort: efforts, or none.
        :param stamp: ``header.stamp``, s.
        :returns: whether a torque was published.
        """
        joints = self.joints
        if self.loop.requests:  # an activation must not use a state checked before it
            self.loop.serve(now, steady)
        working = self.supervisor.working
        left = 0.0 if working else joints.controlled_expiry - now
        arrival = joints.update(now, names, position, velocity, effort, stamp)
        if not working:
            self._note_age(now, left, arrival)
        layout = joints.last
        if layout is not None and layout.mask and (ages := self._delays.note(now, stamp)):
            self._note_delay(ages)
        if joints.notices:
            self._notices()
        if joints.motion.wrong:
            self.fault(steady, Cause.IMPLAUSIBLE, joints.motion.wrong)
        self.calm = self.calm and joints.motion.calm
        return self.message_checks.arrived(now, steady, arrival)

    def run_slow_path(self, now: float, steady: float) -> bool:
        """
        Run a cycle on the state that has just arrived: check, supervise, compute, limit.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :returns: whether a torque was published.
        """
        self.now, self.steady, self.stamp = now, steady, self.arriving
        self.states += 1
        self._standstill.replace()
        sent = self._supervise(now, steady, self.load.update(now))
        if sent:
            runs = self.supervisor.state is State.RUNNING
            self._standstill.check(now, self.law, runs, self._fault_now)
            self.calm = self.calm and self._standstill.calm
            if self.supervisor.frozen:
                self._standstill.trust_model()
                self._disturbance.ignore()
        self._notify_others(now, steady, sent)
        return sent

    @property
    def has_listeners(self) -> bool:
        """Return whether anything follows the states of the fast path."""
        return (self.snapshots.watched or self._disturbance.observed
                or self.reference.goals.active is not None)

    def notify_fast_step(self, now: float, steady: float) -> None:
        """
        Notify the goal, the observer and the snapshots of a state that took the fast path.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        """
        self.joints.motion.differenced = False  # such states have velocities
        if self.reference.goals.active is not None:
            self._check_goal()
        self._notify_others(now, steady, True)

    def _notify_others(self, now: float, steady: float, sent: bool) -> None:
        if sent and (self._disturbance.observed or not self.calm
                     or self.supervisor.state is not State.RUNNING):
            self._disturbance.observe(now, self.joints, self.limiter)
            self._standstill.predict(now, self.limiter.last, self._disturbance.acted)
        if self.snapshots.wanted:
            self.snapshots.note(self.stamp, self.now, steady, self.law.tracks)

    def _supervise(self, now: float, steady: float, known: bool) -> bool:
        joints, supervisor = self.joints, self.supervisor
        q, qd = self._controlled or self._pick()
        ready = joints.ready(now) and self.checks.loops_are_closed()
        if supervisor.state is State.PROBING:
            ready = ready and self.punctuality.runs and self._may_start(now, steady, qd)
        else:
            # a state that was lost and comes back late would be lost again
            ready = ready and (supervisor.working
                               or self.punctuality.lasts(now) >= self.punctuality.timeout)
            self.calm = self.checks.are_calm(now, self.law, q, qd)
        if not known:
            self.fault(steady, Cause.GRAVITY_STALE, f'{self.load.gravity.timeout:g} s')
            ready = False
        return self.loop.fresh_state(now, steady, joints.expiry, ready, qd)

    def _note_delay(self, ages: Ages) -> None:
        """Make damping, stops and holds for states that are later than somebody has said."""
        given = self.settings.number('delay')
        if ages.middle <= given + UNSAID:
            if ages.middle > max(given, self.settings.age):
                self._design(given, ages.middle + _SPARE)
            return
        known = self.settings.same_clock
        clock = '' if known else ', if the clock that stamps is that of this machine'
        self.announce('warning', (
            f'joint states are {1e3 * ages.middle:.3g} to {1e3 * ages.high:.3g} ms old when they '
            f'arrive{clock}: damping, stops and holds are made for that from now on, not for '
            f'delay {1e3 * self._given_delay:.3g} ms. Set delay, and add the time that torques '
            'take'))
        self._design(ages.high, ages.high)
        for reason in gain_reasons(self.settings.values):
            self.announce('warning', reason)

    def _note_filter(self) -> None:
        """Make damping for velocities that are coarse and late: differences behind a filter."""
        if self.joints.motion.differenced and not self.settings.number('delay'):
            self._design(_SPARE, max(self.settings.age, _SPARE))

    def _design(self, delay: float, age: float) -> None:
        """Make damping, stops and holds for a delay, and dampers for an age, in s; both stay."""
        self.settings = self.settings.later(delay, age)
        self.apply(self.settings)

    def _note_age(self, now: float, left: float, arrival: Arrival) -> None:
        """Follow the ages of states before torque begins; after a late one the start waits."""
        layout = self.joints.last
        if layout is not None and layout.mask and not self.punctuality.note(
                now, left, layout.age.excess, arrival is Arrival.STATE):
            self.checks.start.restart()
            if not self.supervisor.live:  # a robot that is braked or held needs its rate
                self._delays.restart(self.punctuality.timeout)
                self.joints.rate.restart()  # a halt before the start is no rate that is too low

    def refuse_unreadable(self, now: float, steady: float, text: str) -> bool:
        """
        Count and announce a message that cannot be read; it is a fault only if it goes on.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :param text: what is wrong with it.
        :returns: whether a torque was published.
        """
        self.loop.serve(now, steady)
        self.joints.refuse_unreadable(now, text)
        self._notices()
        return self.message_checks.without_state(now, steady)

    def _pick(self) -> tuple[Array, Array]:
        """Return position and velocity of the controlled joints."""
        joints, index = self.joints, self.joints.select
        return joints.q[index], joints.qd[index]

    def tick(self, now: float, steady: float) -> bool:
        """
        Run the steady timer.

        :param now: control time, s.
        :param steady: steady time, s.
        :returns: whether a torque was published.
        """
        self.now, self.steady = now, steady
        if self.joints.notices:  # left by the fast path, which has no time to announce them
            self._notices()
        if self.supervisor.state is not State.PROBING and not self.dead_man.alive(steady):
            self.fault(steady, Cause.DEAD_MAN, f'no message for {self.dead_man.timeout:g} s')
        return self.loop.tick(now, steady)

    def press(self, steady: float, pressed: bool) -> None:
        """
        Take one message of the dead-man switch; letting it go stops at once.

        :param steady: steady time, s.
        :param pressed: whether the operator holds it; one false between any number of true counts.
        """
        self.dead_man.signal(steady, pressed)
        if self.supervisor.state is not State.PROBING and not self.dead_man.alive(steady):
            self.fault(steady, Cause.DEAD_MAN, 'the switch was released')

    # -- requests, run in the control thread ------------------------------------------------------

    def activate(self, now: float, steady: float) -> None:
        """Begin to check states; every stream must prove again that it is fresh."""
        self._restart_checks()
        self.supervisor.activate(now, steady)

    def reset(self, now: float, steady: float) -> str:
        """Clear latched faults; returns the reason of a refusal."""
        if not self.dead_man.alive(steady):
            return 'the dead-man signal is missing'
        refused = self.supervisor.reset(now, steady)
        if not refused and self.supervisor.state is State.PROBING:
            self._restart_checks()
        return refused

    def _restart_checks(self) -> None:
        self.checks.restart()
        self.punctuality.restart()
        self._delays.restart(self.punctuality.timeout)
        if self.settings.age:  # it is measured again
            self._design(self._given_delay, 0.0)
        self._standstill.restart()  # the start believes the sensors, not the model

    def set_mode(self, mode: str) -> None:
        """
        Change the law without a step of the torque.

        :param mode: name of the mode.
        """
        if mode == self.mode:
            return
        other = self.choice.choose(mode)
        self.reference.goals.abort(f'the mode changed to {mode}')
        if self.supervisor.state in (State.RAMPING_IN, State.RUNNING):
            if other:
                self.law.enter(self.now)
                self.loop.switch.switch()
            else:
                self.law.rest(self.now)
        self.checks.changed_law()
        self.events.append(('mode', mode))

    def apply(self, settings: Settings) -> None:
        """
        Take new parameters, all at once between two cycles; structural ones stay as they are.

        :param settings: valid set for the same robot.
        """
        before, settings = self.settings, settings.with_structure_of(self.settings)
        self.settings = settings
        self.choice.apply(settings)
        self.intake.apply(settings)
        self.loop.switch.duration = settings.number('switch_time')
        self.snapshots.divider = settings.report_divider
        self._disturbance.apply(settings)
        self._standstill.apply(settings)
        self.checks.apply(settings)
        self._holding.apply(settings)
        self.load.apply(self.now, before, settings)
        self.set_mode(settings.text('mode'))

    # -- inside -------------------------------------------------------------------------------

    def _compute(self, need: Need) -> None:
        """Evaluate what the loop needs; the results are passed on without copies."""
        self.choice.compute(need, self.now, self._holding, self.torques)
        if self.reference.goals.active is not None and need is Need.LAW:
            self._check_goal()

    def _check_goal(self) -> None:
        index = self.joints.controlled
        self.reference.check_goal(self.now, self.joints.q[index], self.joints.qd[index])

    def _may_start(self, now: float, steady: float, qd: Array) -> bool:
        """Return whether torque may begin; every joint is known."""
        if not self.dead_man.alive(steady):
            return False
        start = self.checks.start
        passed = start.passes(now, qd, self.choice.gravity, self.choice.gravity_columns,
                              self._fault_now, self.announce)
        if passed:
            self.loop.begin_at(start.torque)
        return passed

    def _fault_now(self, cause: Cause, detail: str) -> None:
        self.fault(self.steady, cause, detail)

    def announce(self, kind: str, text: str) -> None:
        """
        Leave something to be announced by a slower thread.

        :param kind: of event.
        :param text: of the event.
        """
        self.events.append((kind, text))

    def fault(self, steady: float, cause: Cause, detail: str) -> None:
        """
        Stop the robot, unless it is stopped already.

        :param steady: steady time, s.
        :param cause: why.
        :param detail: what exactly.
        """
        if self.supervisor.state not in (State.INACTIVE, State.FAULT, State.RELEASED):
            self.supervisor.fault(steady, cause, detail)

    def _entered(self, state: State) -> None:
        """React to a new state of the supervisor: restart references, announce it."""
        index = self.joints.controlled
        q, qd = self.joints.q[index], self.joints.qd[index]
        if state is State.PROBING:
            self.checks.start.restart()
        elif state is State.RAMPING_IN:
            if recovered := self.supervisor.recovered:  # it may have been lost without a cycle
                self.events.append(('warning', 'recovers by itself: ' + '; '.join(
                    str(fault) for fault in recovered)))
            self._note_filter()
            self.punctuality.restart()  # what comes after a loss counts, not what came before
            self.law.enter(self.now)
            self._disturbance.reset()
            self._standstill.restart()
            self.checks.begin(self.now, q, qd)
        elif state is State.RUNNING:
            self.joints.motion.repeats.learning = False
        elif state is State.HOLDING:
            self._holding.enter(self.now, self.choice.braking.allowed)
        elif state in (State.BRAKING, State.LOST, State.RAMPING_DOWN, State.FAULT):
            if state is State.BRAKING:
                self._delays.restart(_BRAKES)
                self._note_filter()
                asked = all(fault.cause.by_operator for fault in self.supervisor.faults)
                self.choice.braking.enter(urgent=not asked)
                if asked:
                    self._disturbance.forget()  # a hand that has pushed the robot is no load
            if self.supervisor.distrusted:
                self._disturbance.distrust(self.limiter.limit)
            self.reference.goals.abort('the controller stopped: ' + '; '.join(
                str(fault) for fault in self.supervisor.faults))
        self.events.append(('state', state.value))

    def fault_text(self) -> str:
        """Return every latched fault in one line; a requested end is no fault."""
        return '; '.join(str(fault) for fault in self.supervisor.faults
                         if fault.cause not in (Cause.DEACTIVATED, Cause.SIGNAL))

    def _notices(self) -> None:
        for text in self.joints.notices.take():
            self.events.append(('warning', text))

    def _saturation(self) -> Array:
        return np.sign(self.loop.wanted) * np.maximum(
            self.limiter.saturated, self.limiter.slewing)
