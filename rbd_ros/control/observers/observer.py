# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Torques that the model does not explain, observed as the robot moves, and compensated by the law.

The same observer shows a load that the description does not have: a stop that trusts g(q) of a
wrong payload accelerates instead of braking. It runs if the parameters ask for it, and whenever
something is unusual: beyond a bound, and during every stop.
"""

from __future__ import annotations


from rbd_ros.compiler.language.whole import clip, maximum, minimum
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import Joints, NEVER, NONE, Structure
from rbd_ros.control.joint_states.timeliness import AGREES
from rbd_ros.control.kernels.declared import MomentumKernel
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.observers.momentum import are_finite, is_time, Momentum
from rbd_ros.control.observers.torque_history import TorqueHistory
from rbd_ros.control.parameters.given import Inputs, torque_limits
from rbd_ros.control.supervisor.states import LoadTrust

__all__ = ['bandwidth', 'fill_observer', 'Observer', 'ObserverParameters', 'trusted_load']

#: rad/s or m/s above which a joint counts as moving
_MOVES = 0.05

#: s over which the mean of the load is taken
_MEAN = 0.1

#: largest gain of the observer times the filter of differenced velocities: what a coarse encoder
#: shows as a load
_COARSE = 0.03

#: N.m; keeps a division by zero finite
_TINY = 1e-300

#: s without an observation after which what was observed is forgotten
_GAP = 0.1


class ObserverParameters(Record):
    """What the operator asks of the observer."""

    observed: float = field('', '', '1 if the law compensates what is observed')
    velocity_filter: float = field('', 's', 'filter of velocities that are differences')
    limit: Vector = field('n', 'N.m or N', 'torque limits')
    usual_share: Vector = field('n', 'N.m or N', 'bound of the load of a robot whose g(q) is '
                                                 'trusted')


class Observer(Record):
    """The observer of one robot; its result is an input of the law, and of every stop."""

    time: float = field('', 's', 'control time of the last observation', NEVER)
    delay: float = field('', 's', 'from its state to the motion that its torque causes')
    acts: float = field('', '', '1 if acted is known; 0: the torque of the step before acted')
    external: Vector = field('n', 'N.m or N', 'observed torque that the law compensates')
    load: Vector = field('n', 'N.m or N', 'what the robot shows besides g(q), bounded for all '
                                          'joints in proportion')
    mean: Vector = field('n', 'N.m or N', 'of the load, for what needs no quick answer')
    gain: Vector = field('n', '1/s', 'bandwidth of the last observation')
    acted: Vector = field('n', 'N.m or N', 'mean torque that the last state answers to')
    drive: Vector = field('n', 'N.m or N', 'torque besides C, filtered as velocities are')
    bias: Vector = field('n', 'N.m or N', 'C with gravity at the last state')
    place: Vector = field('n', 'rad or m', 'positions of the last state', NONE)
    momentum: Momentum = group(Momentum)
    sent: TorqueHistory = group(TorqueHistory)

    def restart(self) -> None:
        """Forget what was observed."""
        self.momentum.reset()
        self.sent.clear()
        self.drive[:] = 0.0
        self.drop_load()

    def forget_load(self) -> None:
        """Forget the load that was observed so far."""
        self.momentum.torque[:] = 0.0
        self.drop_load()

    def drop_load(self) -> None:
        """Carry no load any more, whatever is observed."""
        self.load[:] = self.mean[:] = 0.0

    def observe(self, p: ObserverParameters, k: MomentumKernel, gain: Vector, delay: float,
                differenced: float, torque: Vector, now: float) -> float:
        """
        Observe a state and the torque that was sent, after the limits.

        :param p: parameters.
        :param k: evaluated at the state.
        :param gain: bandwidth that suits the delay, 1/s.
        :param delay: from a state to the motion that its torque causes, s.
        :param differenced: 1 if velocities are differences.
        :param torque: total that acts from now on, N.m.
        :param now: control time, s.
        :returns: s since the state before; NEVER: nothing can be learned.
        """
        if not (is_time(now) and all(abs(torque) <= NONE)):
            self._start_anew()
            return NEVER
        elapsed = now - self.time
        moved = elapsed - (delay - self.delay)  # between the times at which they were measured
        if not 0.0 < elapsed <= _GAP:
            self.restart()
        elif not (abs(delay - self.delay) <= AGREES and moved > 0.0):
            self.momentum.known, moved = 0.0, elapsed
        self.time, self.delay = now, delay
        for i in range(len(gain)):
            self.gain[i] = bandwidth(p, gain[i], differenced)
        self._find_acted(p, k.bias, moved, differenced)
        self.note_sent(torque, now)
        self.momentum.update(k, torque, moved, self.gain, self.acted, self.acts)
        if self.momentum.is_finite() and are_finite(self.acted) and are_finite(self.drive):
            return elapsed
        self._start_anew()  # nothing can be learned from an absurd velocity
        return NEVER

    def share(self, p: ObserverParameters, trust: int, joints: Joints, s: Structure,
              elapsed: float) -> None:
        """
        Take what was observed as what the law compensates, and as the load.

        :param p: parameters.
        :param trust: how far what the robot shows is its load, see ``LoadTrust``.
        :param joints: the state.
        :param s: which joints are which.
        :param elapsed: s since the state before.
        """
        self.external[:] = 0.0
        if p.observed > 0.0 and trust != LoadTrust.NONE:    # a limit that is no number counts as 0
            self.external[:] = clip(self.momentum.torque, -maximum(0.0, p.limit),
                                    maximum(0.0, p.limit))
        self._update_load(p, trust, joints, s, elapsed)
        if trust == LoadTrust.NONE:
            self.drop_load()

    def note_sent(self, torque: Vector, now: float) -> None:
        """Take a total torque that acts from now on, after the limits."""
        self.sent.note(now, torque, self.delay + _GAP)

    def _find_acted(self, p: ObserverParameters, bias: Vector, elapsed: float,
                    differenced: float) -> None:
        """
        Find the mean torque that the measured motion is the answer to.

        States are late, and so the torque is one that was sent a delay ago. Differences of
        positions are filtered: what drives the motion is filtered in the same way. They are also
        coarse, and their noise is less in a slower observer.
        """
        filtered = differenced > 0.0
        weight = 1.0
        if filtered and p.velocity_filter > 0.0:
            weight = elapsed / (elapsed + p.velocity_filter)
        late = self.time - self.delay
        known = self.sent.find_mean(late - elapsed, late, self.acted)
        for i in range(len(bias)):
            middle = 0.5 * (bias[i] + self.bias[i])
            self.bias[i] = bias[i]
            if known and filtered:
                self.drive[i] += weight * (self.acted[i] - middle - self.drive[i])
                self.acted[i] = self.drive[i] + middle
        self.acts = 1.0 if known else 0.0
        if not known:
            self.momentum.known = 0.0

    def _update_load(self, p: ObserverParameters, trust: int, joints: Joints, s: Structure,
                     elapsed: float) -> None:
        """
        Take the torque observed while the robot moves as its load.

        A robot that is blocked shows a torque, too: that of the obstacle, or of the person, in its
        way. To compensate it would be to go on pushing. The same holds for a joint that stands
        exactly still, by a brake or by a frozen sensor. A joint that is slow for a moment follows
        the others: what acts on nearly parallel axes accelerates next to no inertia, and an old
        load of one of them would throw both about.
        """
        fastest, excess = 0.0, 1.0
        for i in range(len(self.load)):
            fastest = max(fastest, abs(joints.qd[place_of(s, i)]))
            excess = max(excess, abs(self.momentum.torque[i]) / max(
                trusted_load(p, trust, i), _TINY))
        for i in range(len(self.load)):
            j = place_of(s, i)
            # without velocities, a slow joint stands between the steps of its encoder
            stands = (joints.q[j] == self.place[i] and abs(joints.qd[j]) <= _MOVES
                      and not joints.differenced > 0.0)
            self.place[i] = joints.q[j]
            if fastest > _MOVES:
                if not stands:
                    self.load[i] = self.momentum.torque[i] / excess
                if elapsed > 0.0:
                    self.mean[i] += elapsed / (elapsed + _MEAN) * (self.load[i] - self.mean[i])

    def _start_anew(self) -> None:
        """Forget what was observed, after numbers that no robot has."""
        self.restart()
        self.external[:] = self.acted[:] = self.bias[:] = 0.0
        self.acts = 0.0


def fill_observer(p: ObserverParameters, g: Inputs) -> None:
    """
    Take new parameters.

    :param p: gets them.
    :param g: what was given.
    """
    p.observed = 1.0 if g.values.observer_feedback else 0.0
    p.velocity_filter = g.values.velocity_filter
    p.limit[:] = torque_limits(g)
    p.usual_share[:] = minimum(g.values.hold_torque * torque_limits(g), NONE)


def trusted_load(p: ObserverParameters, trust: int, j: int) -> float:
    """
    Return up to what the observed load of a joint is trusted, N.m or N.

    :param p: parameters of the observer.
    :param trust: how far, see ``LoadTrust``.
    :param j: the joint.
    """
    most = 0.0
    if trust == LoadTrust.LIMIT:
        most = p.limit[j]
    elif trust == LoadTrust.USUAL:
        most = p.usual_share[j]
    return most if 0.0 <= most <= NONE else 0.0  # what is no number trusts nothing


def bandwidth(p: ObserverParameters, gain: float, differenced: float) -> float:
    """
    Return the bandwidth of an observer, 1/s; differences of coarse positions need a slow one.

    :param p: parameters of the observer.
    :param gain: bandwidth that suits the delay, 1/s.
    :param differenced: 1 if velocities are differences.
    """
    if differenced > 0.0 and p.velocity_filter > 0.0:
        gain = min(gain, _COARSE / p.velocity_filter)
    return max(0.0, gain)  # 0 if that is no number
