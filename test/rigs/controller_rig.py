# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The controller that the nodes run, without ROS, on a fake clock, around the built-in arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rbd_ros import Dynamics, load_urdf
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.modes import Mode
from rbd_ros.control.parameters.assembly import compile_kernels
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.robot import make_robot, Robot

Array = npt.NDArray[np.float64]

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'

#: without its rotors: the light wrist is the harder robot, nearer to singular poses and to
#: what a sampled damper can carry
MODEL = dataclasses.replace(load_urdf(ARM), rotor_inertia=(0.0,) * 7)
SPEED, TORQUE = np.array(MODEL.velocity_limit), np.array(MODEL.effort_limit)

#: springs and dampers that suit it, N.m/rad and N.m.s/rad
SOFT = {'joint_impedance.stiffness': [60.0, 60.0, 40.0, 40.0, 4.0, 2.0, 0.5],
        'joint_impedance.damping': [15.0, 15.0, 8.0, 8.0, 0.5, 0.2, 0.03]}

#: poses from which the wrist can be moved away from the shoulder until the elbow is stretched
POSES = {
    'forward': (0.2, 1.6, 0.1, -1.2, 0.2, 0.9, 0.3),
    'up': (0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9),
    'aside': (-1.2, 1.1, 0.6, -1.4, -0.5, 1.1, -0.8),
    'turned': (0.1, -0.9, 0.4, -0.9, 1.2, -0.7, 1.5),
}
SHOULDER, REACH, WRIST = np.array([0.0, 0.0, 0.34]), 0.70, 0.15

#: s by which the clock of the stamps is ahead of the control clock, and the age of each state
AHEAD, AGE = 0.0, 2e-4


@cache
def robot_and_dynamics() -> tuple[Robot, Dynamics]:
    """Return the controlled robot and its dynamics."""
    return make_robot(MODEL), Dynamics(MODEL)


class Arm:
    """The arm under the controller; its plant is the compiled forward dynamics, or stands."""

    def __init__(self, q: Sequence[float] = (0.1, 0.4, 0.3, -1.2, 0.5, 0.6, 0.7), *,
                 period: float = 0.001, time: float = 50.0, simulated: bool = False,
                 joints: Sequence[str] = (), modes: Sequence[Mode] = (),
                 **values: object) -> None:
        robot, self.dynamics = robot_and_dynamics()
        robot = make_robot(MODEL, joints) if joints else robot
        self.robot = dataclasses.replace(robot, own_modes=tuple(modes)) if modes else robot
        self.period, self.time, self._simulated = period, time, simulated
        self.offset = 0.0  # s, control clock minus steady clock
        self.values = defaults(modes) | {
            'driver_adds': 'none', 'nominal_rate': 1.0 / period, 'start.time': 0.0,
            'start.watch_time': 0.0, 'ramp_time': 0.3, 'free_damping': [0.0]} | values
        self.sent: list[Array] = []
        self.sent_at: list[float] = []  # by the steady clock, s
        self.entered: list[tuple[float, str]] = []  # when which state of the supervisor was seen
        settings = self.settings()
        self.controller = Controller(settings, compile_kernels(settings), self.take_torque)
        if not simulated:  # the clock of this machine is another one
            self.controller.p.states.ages.clock_offset = -AHEAD
        self.q, self.qd = np.array(q, dtype=float), np.zeros(7)
        self.effort: Array | Sequence[float] = ()
        self.external: Array | None = None  # N.m; None: somebody else moves the arm, or holds it
        self.still = False  # its positions stand, whatever its velocities say
        self.hand: Callable[[Array], Array] | None = None  # N.m at a velocity
        self.each: Callable[[float], None] | None = None  # called with the time, every period
        self.q_log: list[Array] = []
        self.qd_log: list[Array] = []
        self.law_log: list[Array] = []  # before the limiter, N.m

    # -- what it is like ----------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Control time, s."""
        return round(self.time + self.offset, 9)  # a clock that stands does not go back by a bit

    @property
    def state(self) -> str:
        """State of the supervisor in words."""
        return self.controller.state.value

    @property
    def causes(self) -> list[Cause]:
        """Causes of all latched faults, first one first."""
        return [Cause[name] for name in self.controller.faults()]

    @property
    def fault(self) -> str:
        """Every latched fault in one line."""
        return self.controller.fault_text()

    @property
    def warnings(self) -> list[str]:
        """What the controller has warned of, as far as nobody has taken it."""
        return [text for kind, text in self.controller.events if kind == 'warning']

    @property
    def load(self) -> Array:
        """Torque that the robot has shown and a stop carries, N.m."""
        return self.controller.x.observer.load

    @property
    def reference(self) -> Array:
        """Position, velocity and acceleration of the reference of the joints."""
        return self.controller.x.references.joint.profile.state

    @property
    def pose(self) -> Array:
        """Pose of the tip."""
        return self.dynamics.pose(self.q, 'tool0')

    def settings(self, **changes: object) -> Settings:
        """Return the settings with some values changed for good, even what no node would take."""
        self.values |= changes
        return Settings(self.robot, self.values, simulated=self._simulated)

    # -- time ---------------------------------------------------------------------------------

    def run(self, duration: float) -> None:
        """Let time pass, a state and a tick per period."""
        for _ in range(round(duration / self.period)):
            self.time += self.period
            if self.each is not None:
                self.each(self.time)
            n = len(self.robot.joints)
            self.receive(self.q[:n], self.qd[:n], self.effort)
            self.tick()
            if self.external is not None and self.sent:
                self._move(self.sent[-1] + self.external)
            elif not self.still and np.abs(self.qd).max() < 1e3:  # somebody moves it
                self.q = self.q + self.period * self.qd
            self.q_log.append(self.q)
            self.qd_log.append(self.qd)
            self.law_log.append(self.controller.x.command.torque.wanted.copy())

    def _move(self, torque: Array) -> None:
        """Move the arm; in smaller steps where a firm hand is at the light wrist."""
        parts = 1 if self.hand is None else 10
        h = self.period / parts
        for _ in range(parts):
            by_hand = 0.0 if self.hand is None else self.hand(self.qd)
            self.qd = self.qd + h * self.dynamics.forward_dynamics(
                self.q, self.qd, torque + by_hand)
            self.q = self.q + h * self.qd

    def silence(self, duration: float, *, paused: bool = False) -> None:
        """Let time pass without states; ``paused``: the control clock stands."""
        for _ in range(round(duration / self.period)):
            self.time += self.period
            self.offset -= self.period if paused else 0.0
            self.tick()

    def give(self, q: Array, qd: Array | Sequence[float], effort: Array | Sequence[float] = (),
             stamp: float | None = None) -> None:
        """Let a period pass: a state, with the stamp of now or another one, and a tick."""
        self.time += self.period
        self.receive(q, qd, effort, stamp=stamp)
        self.tick()

    def receive(self, q: Array | Sequence[float], qd: Array | Sequence[float],
                effort: Array | Sequence[float] = (), *, stamp: float | None = None,
                names: Sequence[str] | None = None) -> bool:
        """Receive a joint state now, with the stamp of now or another one; 0: without any."""
        if stamp is None:
            stamp = self.now + AHEAD - AGE
        return self.controller.take_state(
            self.now, self.time, self.robot.joints if names is None else tuple(names), q, qd,
            effort, divmod(round(1e9 * stamp), 1_000_000_000))

    def tick(self) -> bool:
        """Let the timer look."""
        sent = self.controller.take_timer(self.now, self.time)
        if not self.entered or self.entered[-1][1] != self.state:
            self.entered.append((self.time, self.state))
        return sent

    def take_torque(self, torque: Array) -> None:
        """Take a command."""
        self.sent.append(torque.copy())
        self.sent_at.append(self.time)

    def when(self, state: str) -> float:
        """Return the time at which a state was entered last."""
        return next(time for time, entered in reversed(self.entered) if entered == state)

    # -- requests -----------------------------------------------------------------------------

    def activate(self) -> None:
        """Activate as the node does, and let states come in time for as long as a start needs."""
        self.controller.post(self.controller.activate)
        self.run(float(self.values['state_timeout']))

    def start(self) -> None:
        """Activate and wait until the law runs; whatever holds the arm goes on holding it."""
        self.activate()
        self.run(float(self.values['ramp_time']) + 0.1)
        assert self.state == 'running', self.fault

    def release(self) -> None:
        """Activate while brakes hold the arm, wait until the law runs, and let go."""
        self.start()
        self.external = np.zeros(7)

    def restart(self) -> None:
        """Stop, whatever was, and run again, after seconds of silence."""
        self.stop(Cause.DEACTIVATED)
        self.silence(3.0)
        self.start()

    def stop(self, cause: Cause = Cause.OPERATOR_STOP, text: str = '') -> None:
        """Stop for a cause from outside, at once, as the node serves it."""
        self.controller.post(lambda _, steady: self.controller.fault(steady, cause, text))
        self.controller.serve(self.now, self.time)

    def reset(self) -> str:
        """Clear latched faults; return the reason of a refusal."""
        return self.controller.reset(self.now, self.time)

    def change(self, **values: object) -> None:
        """Change parameters as the node does, at the next event."""
        settings = self.settings(**values)
        self.controller.accepted = settings
        self.controller.post(lambda now, steady: self.controller.apply(settings, now, steady))

    def apply(self, **values: object) -> None:
        """Change parameters at once."""
        self.change(**values)
        self.controller.serve(self.now, self.time)

    def push(self, torque: Array) -> None:
        """Push the joints from now on."""
        self.external = torque

    def set_point(self, q: Array, qd: Array | None = None) -> None:
        """Hand over a set-point, as the node does when a message comes."""
        self.follow([0.0], np.atleast_2d(q), None if qd is None else np.atleast_2d(qd))

    def follow(self, times: Sequence[float], q: Array, qd: Array | None = None,
               qdd: Array | None = None) -> None:
        """Hand over points with their times from now, as the node does when a message comes."""
        self.controller.take_points(self.now, self.time, Knots(np.array(times), q, qd, qdd),
                                    self.now)

    def aim(self, position: Array, quaternion: Sequence[float]) -> None:
        """Hand over a target pose, as the node does when a message comes."""
        self.controller.take_pose(self.now, self.time, position.tolist(), quaternion)

    def forget(self) -> None:
        """Begin new logs."""
        for log in (self.q_log, self.qd_log, self.law_log):
            log.clear()


def beyond_reach(pose: Array, more: float) -> Array:
    """Return the way of the tip until the wrist is further away than the arm can reach."""
    out = pose[:3, 3] - WRIST * pose[:3, 2] - SHOULDER
    length = np.linalg.norm(out)
    return out * ((REACH + more) / length - 1.0)
