# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The whole state of the controller, all that is chosen, and its kernels.

Each part declares its own numbers; this is where they come together.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import NamedTuple

from rbd_ros.compiler import Bound
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.force_torque.force_law import fill_force, ForceGains, ForceLaw
from rbd_ros.control.force_torque.sensor import Sensor, SensorLimits
from rbd_ros.control.interface.events import Joints, NONE, Structure
from rbd_ros.control.joint_states.arrival import StateLimits, States
from rbd_ros.control.joint_states.motion import fill_motion
from rbd_ros.control.kernels.declared import (
    ContactKernel, DampingKernel, DECLARED, FreeKernel, ImpedanceKernel, JointKernel, LoopKernel,
    MomentumKernel, OwnKernel, SensorKernel, StopKernel, TaskKernel)
from rbd_ros.control.laws.design import Design, DesignLimits, fill_design
from rbd_ros.control.laws.law_records import fill_laws, LawGains, Laws, Present
from rbd_ros.control.laws.stops import Brake, fill_stops, Hold, StopLimits
from rbd_ros.control.laws.way_back import WayBack, WayBackLimits
from rbd_ros.control.load.load import fill_load, Load, LoadLimits
from rbd_ros.control.monitors.closed_loops import ClosedLoops, LoopLimits
from rbd_ros.control.monitors.guards import DeadMan
from rbd_ros.control.monitors.monitors import fill_monitors, MonitorParameters, Plausible, Watch
from rbd_ros.control.monitors.start import Start, StartLimits
from rbd_ros.control.observers.contact import Contact, ContactParameters, ContactRoom
from rbd_ros.control.observers.observer import fill_observer, Observer, ObserverParameters
from rbd_ros.control.observers.standstill import fill_standstill, Standstill, StandstillParameters
from rbd_ros.control.parameters.gains import borne_delay
from rbd_ros.control.parameters.given import Inputs, mode_of
from rbd_ros.control.references.references import fill_references, ReferenceLimits, References
from rbd_ros.control.supervisor.supervisor import Diagnosis
from rbd_ros.control.torque.motor import MotorParameters
from rbd_ros.control.torque.torque_records import (
    Command, CommandLimits, Computed, Doing, fill_command)

__all__ = ['fill_parameters', 'Kernels', 'kernels_of', 'Parameters', 'State',
           'Work']


class Work(Record):
    """Room for what lasts for one step; it may be anything."""

    speed: Vector = field('n', 'rad/s or m/s', 'with which a reference begins')
    moved: Vector = field('n', 'rad or m', 'by which a hold has yielded')
    twist: Vector = field('6', 'rad/s, m/s', 'of the tip, with which its reference begins')
    doing: Doing = group(Doing)
    present: Present = group(Present)
    computed: Computed = group(Computed)
    contact: ContactRoom = group(ContactRoom)


class State(Record):
    """What the controller remembers from one step to the next."""

    now: float = field('', 's', 'control time of the last state or timer')
    steady: float = field('', 's', 'steady time of it')
    stamp_s: float = field('', 's', 'stamp of the last accepted state, whole seconds')
    stamp_ns: float = field('', 'ns', 'the rest of it')
    taken: float = field('', '', 'number of states that were taken')
    calm: float = field('', '', '1 if no watched bound was exceeded in the last step')
    mode: float = field('', '', 'place of the mode among all modes')
    joints: Joints = group(Joints)
    states: States = group(States)
    dead_man: DeadMan = group(DeadMan)
    command: Command = group(Command)
    diagnosis: Diagnosis = group(Diagnosis)
    watch: Watch = group(Watch)
    plausible: Plausible = group(Plausible)
    load: Load = group(Load)
    closed_loops: ClosedLoops = group(ClosedLoops)
    design: Design = group(Design)
    laws: Laws = group(Laws)
    brake: Brake = group(Brake)
    hold: Hold = group(Hold)
    references: References = group(References)
    observer: Observer = group(Observer)
    standstill: Standstill = group(Standstill)
    contact: Contact = group(Contact)
    way_back: WayBack = group(WayBack)
    start: Start = group(Start)
    sensor: Sensor = group(Sensor)
    force: ForceLaw = group(ForceLaw)


class Parameters(Record):
    """All that is chosen, for one robot."""

    mode: float = field('', '', 'place of the mode among all modes')
    modes: float = field('', '', 'how many modes there are')
    takes: bool = field('', '', 'whether the mode takes references of the joints from outside')
    goal_mode: float = field('', '', 'place of the mode to which goals switch; -1: none')
    structure: Structure = group(Structure)
    states: StateLimits = group(StateLimits)
    command: CommandLimits = group(CommandLimits)
    monitors: MonitorParameters = group(MonitorParameters)
    load: LoadLimits = group(LoadLimits)
    closed_loops: LoopLimits = group(LoopLimits)
    design: DesignLimits = group(DesignLimits)
    laws: LawGains = group(LawGains)
    stops: StopLimits = group(StopLimits)
    references: ReferenceLimits = group(ReferenceLimits)
    observer: ObserverParameters = group(ObserverParameters)
    standstill: StandstillParameters = group(StandstillParameters)
    contact: ContactParameters = group(ContactParameters)
    way_back: WayBackLimits = group(WayBackLimits)
    start: StartLimits = group(StartLimits)
    motor: MotorParameters = group(MotorParameters)
    sensor: SensorLimits = group(SensorLimits)
    force: ForceGains = group(ForceGains)


#: share of the delay from which on gains are unstable that states may have beyond what is given
_BORNE = 1.0 / 3.0


class Kernels(NamedTuple):
    """The compiled dynamics of one robot."""

    free: FreeKernel
    damping: DampingKernel
    joint: JointKernel
    task: TaskKernel
    impedance: ImpedanceKernel
    own: OwnKernel
    stop: StopKernel
    momentum: MomentumKernel
    contact: ContactKernel
    loops: LoopKernel
    sensor: SensorKernel


def fill_parameters(p: Parameters, g: Inputs) -> None:
    """
    Take all that may change while the controller is configured.

    :param p: gets it.
    :param g: what was given.
    """
    p.mode, p.modes, p.goal_mode = g.values.mode, g.robot.modes, g.values.goal_mode
    p.takes = g.robot.takes[mode_of(g)] > 0.0
    fill_motion(p.states.motion, g)
    fill_command(p.command, g)
    fill_monitors(p.monitors, g)
    fill_load(p.load, g)
    p.closed_loops.fill(g)
    fill_design(p.design, g)
    fill_laws(p.laws, g)
    fill_stops(p.stops, g)
    fill_references(p.references, g)
    fill_observer(p.observer, g)
    fill_standstill(p.standstill, g)
    p.contact.fill(g)
    p.way_back.fill(g)
    p.start.fill(g)
    p.motor.fill(g)
    p.sensor.fill(g)
    fill_force(p.force, g)
    _find_times(p.design, p.laws)


def _find_times(x: DesignLimits, p: LawGains) -> None:
    """Find how late the states of each law may be before it must be slower."""
    x.joint_time, x.task_time = NONE, NONE
    n = len(p.limit)
    for j in range(n):
        x.spring_time[j] = NONE
        x.joint_time = min(x.joint_time, _BORNE * borne_delay(
            p.joint.stiffness[j], p.joint.damping[j], p.joint.integral[j]))
        x.task_time = min(x.task_time, _BORNE * borne_delay(
            p.task.posture_stiffness[j], p.task.posture_damping[j], 0.0))
    for i in range(6):
        x.task_time = min(x.task_time, _BORNE * borne_delay(
            p.task.stiffness[i], p.task.damping[i], p.task.integral[i]))
        mass, stiffness = x.tip_inertia[i], p.impedance.stiffness[i]
        damping = p.impedance.damping[i] + 2.0 * p.impedance.ratio * math.sqrt(
            max(stiffness * mass, 0.0))
        x.tip_time[i] = _spring_time(stiffness, damping, mass)
    most = len(p.values) - n
    if 0.0 <= p.spring <= most and 0.0 <= p.damper <= most:
        at, of = int(p.spring), int(p.damper)
        for j in range(n):
            x.spring_time[j] = _spring_time(p.values[at + j], p.values[of + j], x.inertia[j])


def _spring_time(stiffness: float, damping: float, inertia: float) -> float:
    """Return how late spring and damper may be on an inertia, or on any that is larger."""
    if not (inertia > 0.0 and stiffness + damping > 0.0):
        return NONE
    time = _BORNE * borne_delay(stiffness / inertia, damping / inertia, 0.0)
    return min(time, _BORNE * damping / stiffness) if stiffness > 0.0 else time


def kernels_of(kernels: Mapping[str, Bound], sizes: Mapping[str, int]) -> Kernels:
    """
    Return all kernels, for the step.

    :param kernels: compiled ones by name; 'loops' is missing without closed loops, 'sensor'
        without a sensor, 'own' without law functions.
    :param sizes: numbers of joints.
    """
    room = {**sizes, 'values': sizes['n'], 'gaps': 1, 'pivots': 1}
    return Kernels._make([
        DECLARED[name].of(kernels[name]) if name in kernels else
        DECLARED[name].idle(kernels['momentum'], room)
        for name in ('float', *Kernels._fields[1:])])
