# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joint states as they arrive: the procedures in plain Python, on a fake clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Event, Joints, NONE, Result, Structure
from rbd_ros.control.interface.sentences import JointName
from rbd_ros.control.joint_states.arrival import Arrival, arrive, is_ready, StateLimits, States
from rbd_ros.control.joint_states.diagnosis import diagnose, diagnosis_text, missing_joints
from rbd_ros.control.joint_states.intake import Intake
from rbd_ros.control.joint_states.sources import SOURCES
from rbd_ros.control.joint_states.words import arrival_text
from rbd_ros.control.supervisor.supervisor import Diagnosis

NAMES = (JointName('a', 'rad'), JointName('b', 'm'), JointName('c', 'rad'))


class JointStream:
    """
    What receives joint states, with a clock.

    A stream is believed after one probe, and every motion, unless limits say otherwise.

    :param joints: names of the joints of the model.
    :param controlled: names of those that are controlled.
    :param fixed: joints that nobody publishes, with their positions.
    :param continuous: names of joints that may wrap.
    :param followers: names of mimic joints.
    :param limits: fields of :class:`AgeLimits` and :class:`MotionLimits`, by name.
    """

    def __init__(self, joints: Sequence[str] = NAMES, controlled: Sequence[str] = NAMES, *,
                 fixed: Mapping[str, float] | None = None, continuous: Sequence[str] = (),
                 followers: Sequence[str] = (), **limits: float) -> None:
        sizes = {'n': len(controlled), 'm': len(joints), 's': SOURCES}
        fixed = dict(fixed or {})
        self.intake = Intake(joints, controlled, fixed=tuple(fixed), followers=followers)
        self.event, self.time = Event(sizes), 10.0
        self.x, self.joints, self.p = States(sizes), Joints(sizes), StateLimits(sizes)
        structure, self._y = Structure(sizes), Result(sizes)
        structure.index[:] = [joints.index(name) for name in controlled]
        for j, name in enumerate(joints):
            structure.controlled[j] = name in controlled
            structure.measured[j] = name not in fixed
            structure.continuous[j] = name in continuous
            self.joints.q[j] = fixed.get(name, 0.0)
        given = {'state_timeout': 0.1, 'prescribed_timeout': 1.0, 'velocity_filter': 0.01,
                 'probes': 1, 'late': 0.0495, 'speed': NONE, 'mismatch': NONE} | limits
        for name, value in given.items():
            record = self.p.ages if hasattr(self.p.ages, name) else self.p.motion
            if isinstance(getattr(record, name), float):
                setattr(record, name, value)
            else:
                getattr(record, name)[:] = value
        self.plain = [each.plain() for each in (self.x, self.joints, self.event, structure,
                                                self.p, self._y)]
        self.structure = structure

    def send(self, names: Sequence[str], position: Any, velocity: Any = (), effort: Any = (), *,
             dt: float = 0.01, late: float = 0.0, stamp: float | None = None) -> str:
        """
        Bring a message so much later, as long on its way as given; return what it brought.

        :param stamp: s; 0: none; None: when it was sent, by a clock that is 500 s ahead.
        """
        self.time += dt
        u = self.event
        u.now = u.steady = self.time + late
        made = self.time + 500.0 if stamp is None else stamp
        self.intake.read(u, names, position, velocity, effort,
                         divmod(round(1e9 * made), 1_000_000_000))
        return Arrival(arrive(*self.plain)).name

    def notices(self) -> list[str]:
        """Return what is to be logged, and forget it."""
        found = [self._text(*row) for row in self._y.words[:int(self._y.told)]]
        found += self.intake.notices
        self.intake.notices.clear()
        self._y.told = 0.0
        return found

    @property
    def reason(self) -> str:
        """Return why the last message was not used."""
        return self._text(*self.x.sources.reason.memory)

    @property
    def implausible(self) -> str:
        """Return why the messages are no longer believed; empty if they are."""
        return self._text(*self.x.motion.reason.memory) if self.x.motion.wrong else ''

    def _text(self, word: float, joint: float, *numbers: float) -> str:
        name = self.intake.joints[int(joint)] if joint >= 0.0 else ''
        return arrival_text(self.intake, word, name, *numbers) if word else ''

    @property
    def ready(self) -> bool:
        """Return whether every joint may be used at present."""
        return is_ready(self.joints, self.time)

    def missing(self) -> list[str]:
        """Name the joints that are unknown or too old."""
        return [self.intake.joints[j]
                for j in missing_joints(self.joints, self.structure, self.time)]

    def diagnose(self, later: float = 0.0) -> tuple[str, str]:
        """Return cause and text of why the state is too old, so much later."""
        x, joints, _, structure, p, _ = self.plain
        now = self.time + later
        cause = diagnose(Diagnosis({}), x, joints, structure, p.ages, now)
        return Cause(cause).name, diagnosis_text(
            self.x, self.joints, self.structure, self.p.ages, self.intake, now)
