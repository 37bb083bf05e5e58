# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Many controlled robots on a device: each does what one controller does on the processor."""

from __future__ import annotations

from controller_rig import Arm, MODEL
import numpy as np
import pytest
from rbd_ros import Dynamics
from rbd_ros.compiler import compile as compile_graph
from rbd_ros.compiler.procedure import bind
from rbd_ros.control.fleet import (
    bindings_of, closed_step, Fleet, plant_of, take_set_point, UnderControl, World)
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.dynamics.step_graph import step_graph
from rbd_ros.errors import NonFiniteError, RbdError, ShapeError

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from device_arrays import Shown  # noqa: I100
from rbd_ros.compiler.gpu import targets
from rbd_ros.compiler.gpu.arrays import DeviceArray
from rbd_ros.compiler.gpu.device import Function
from rbd_ros.compiler.gpu.dialect import NVIDIA
from rbd_ros.compiler.gpu.emulation import EmulatedDevice
from rbd_ros.compiler.gpu.procedures.device_procedure import DeviceProcedure

pytestmark = pytest.mark.slow

STEP, COUNT, START, MOVED = 1e-3, 3, 560, 240
#: that each robot carries at its tool, kg, and its controller does not know
PAYLOAD = (0.0, 0.3, 0.8)


def make(**values: object) -> Arm:
    """Return an arm that follows a reference; its clock is that of the simulation."""
    return Arm(mode='computed_torque', simulated=True, **values)


@pytest.fixture(scope='module')
def dynamics() -> Dynamics:
    """Return the robot that is moved: with a frame that carries what the controller ignores."""
    return Dynamics(MODEL, payload_frame='tool0')


def payloads() -> np.ndarray:
    """Return what the robots carry, as forward dynamics takes it."""
    loads = np.zeros((COUNT, 10))
    loads[:, 0] = PAYLOAD
    return loads


def starts(arm: Arm) -> np.ndarray:
    """Return where the robots are at first."""
    return arm.q + np.random.default_rng(3).uniform(-0.2, 0.2, (COUNT, 7))


def test_each_robot_does_what_a_controller_of_the_processor_does(dynamics: Dynamics) -> None:
    """From the start over a set-point under an unknown load, step for step to 1e-12."""
    arm = make()
    q = starts(arm)
    fleet = Fleet(arm.controller, dynamics.on('emulation'), COUNT, step=STEP)
    assert arm.state == 'inactive' and arm.controller.x.now == 0.0     # it is left as it was
    fleet.place(q)
    fleet.load('payload', payloads())
    first = fleet.rollout(START, 1)
    fleet.set_point(q + 0.1)
    second = fleet.rollout(MOVED, 2)
    assert second.share(State.RUNNING) == 1.0
    assert first.q.shape == (COUNT, START, 7) and second.q.shape == (COUNT, MOVED // 2, 7)
    apart = np.abs(second.q[:, -1] - q).max(axis=1)
    assert (apart > 0.02).all() and np.ptp(apart) > 1e-4     # they move, and the load tells
    graph = step_graph(dynamics.model, dynamics.kernel('forward_dynamics').graph, None, {})
    for i in range(COUNT):
        other, plant = make().controller, compile_graph(graph).bind()
        other.activate(0.0, 0.0)
        plant.inputs['q'][:], plant.inputs['step'][...] = q[i], STEP
        plant.inputs['gravity'][:] = MODEL.gravity
        plant.inputs['payload'][...] = payloads()[i]
        given = *other.given, plant_of(plant, World(other.x.sizes))
        run = bind(closed_step, *given)
        for k in range(START + MOVED):
            if k == START:
                other.u.joints[:], other.u.joints[0], other.u.numbers[0] = 0.0, q[i] + 0.1, 0.0
                bind(take_set_point, *given)()
            run()
            seen, row = (first, k) if k < START else (second, (k - START) // 2)
            if k < START or (k - START) % 2:
                assert seen.state[i, row] == other.x.command.supervisor.state
                np.testing.assert_allclose(seen.q[i, row], plant.inputs['q'], rtol=0, atol=1e-12)
                np.testing.assert_allclose(seen.qd[i, row], plant.inputs['qd'], rtol=0,
                                           atol=1e-12)
                np.testing.assert_allclose(seen.torque[i, row], other.y.torque, rtol=0,
                                           atol=1e-11)
        assert other.x.command.supervisor.state == 3


def test_a_rollout_of_a_device_takes_a_controller(dynamics: Dynamics) -> None:
    """``gpu.rollout(controller=...)`` is a fleet that is begun, used once and given back."""
    arm, gpu = make(), dynamics.on('emulation')
    q = starts(arm)
    fleet = Fleet(arm.controller, gpu, COUNT, step=STEP)
    fleet.place(q)
    want = fleet.rollout(20, 10)
    found = gpu.rollout(q, np.zeros_like(q), controller=UnderControl(arm.controller), step=STEP,
                        steps=20, every=10)
    np.testing.assert_array_equal(found.q, want.q)
    with pytest.raises(TypeError, match='tau, a policy.*or a controller'):
        gpu.rollout(q, 0.0 * q, 0.0 * q, controller=UnderControl(arm.controller), step=STEP,
                    steps=2)


def test_motion_follows_from_the_torques() -> None:
    """
    Recorded torques explain the recorded motion: of each robot, joint and step.

    Inverse dynamics of the processor are the witness. The joints that the controller names are
    some of the robot's, in another order; robots fill more than a tile of memory; and the step is
    not that of the other tests.
    """
    step, count, names = 2e-3, 35, MODEL.joint_names
    order = [5, 2, 6, 0, 3, 1, 4]
    arm = make(joints=[names[k] for k in order], period=step)
    robot = Dynamics(MODEL, payload_frame='tool0')
    rng = np.random.default_rng(5)
    q = np.array(arm.q) + rng.uniform(-0.2, 0.2, (count, 7))
    loads = np.zeros((count, 10))
    loads[10:, 0] = rng.uniform(0.1, 0.8, count - 10)
    fleet = Fleet(arm.controller, robot.on('emulation'), count, step=step)
    fleet.place(q)
    fleet.load('payload', loads)
    still = fleet.rollout(40, 20)
    np.testing.assert_array_equal(still.q, np.repeat(q[:, None], 2, axis=1))    # brakes hold
    fleet.rollout(260)
    goal = q[:, order] + rng.uniform(0.05, 0.15, (count, 7))
    fleet.set_point(goal, within=0.2)
    target = fleet.batch.read(arm.controller.x.references.joint.profile.target)
    np.testing.assert_array_equal(target, np.stack([goal, 0.0 * goal, 0.0 * goal], axis=1))
    way = fleet.rollout(160, 1)
    assert way.share(State.RUNNING) == 1.0 and np.abs(way.qd).max(axis=1).min() > 0.05
    np.testing.assert_allclose(way.q[:, 1:], way.q[:, :-1] + step * way.qd[:, 1:], rtol=0,
                               atol=1e-14)
    # a joint moves towards its own goal, unless a load pulls
    done = (way.q[:10, -1] - q[:10])[:, order] / (goal - q[:, order])[:10]
    np.testing.assert_allclose(done, 1.0, atol=0.3)      # goals differ by a factor of 3
    for i in range(count):
        robot.set_payload(loads[i, 0], np.zeros(3), np.zeros((3, 3)))
        tau = robot.inverse_dynamics(way.q[i, :-1], way.qd[i, :-1],
                                     np.diff(way.qd[i], axis=0) / step)
        # differences of velocities have 1e-16 / step, times inertias
        np.testing.assert_allclose(way.torque[i, 1:], tau[:, order], rtol=0, atol=1e-9)


def test_robots_and_records_do_not_depend_on_their_place(dynamics: Dynamics) -> None:
    """Not on the number of the robot, nor on how a motion is cut into launches and records."""
    arm, gpu, count = make(), dynamics.on('emulation'), 34
    q = arm.q + np.random.default_rng(6).uniform(-0.2, 0.2, (count, 7))
    qd = np.random.default_rng(7).uniform(-0.1, 0.1, (count, 7))

    def begun(rows: slice = slice(None)) -> Fleet:
        fleet = Fleet(arm.controller, gpu, count, step=STEP)
        fleet.place(q[rows], qd[rows])
        return fleet
    whole = begun().rollout(480, 1)
    assert (whole.state[:, -1] == 3).all() and np.ptp(whole.q[:, -1], axis=0).min() > 0.1
    turned = begun(slice(None, None, -1)).rollout(480, 5)
    for each, other in zip(whole, turned):
        np.testing.assert_array_equal(each[:, 4::5], other[::-1])
    cut, rows = begun(), 0
    for steps, every in ((3, 3), (7, 1), (470, 47)):
        part = cut.rollout(steps, every)
        for each, other in zip(whole, part):
            np.testing.assert_array_equal(each[:, rows + every - 1:rows + steps:every], other)
        rows += steps


def test_arrays_on_the_device(dynamics: Dynamics, monkeypatch: pytest.MonkeyPatch) -> None:
    """They give what those of NumPy give, without waiting, and the motion is there too."""
    arm, gpu = make(), dynamics.on('emulation')
    q, waits = starts(arm), []
    with monkeypatch.context() as patch:
        here, there = (Fleet(arm.controller, gpu, COUNT, step=STEP) for _ in range(2))
        here.place(q)
        here.load('payload', payloads())
        here.rollout(START)
        here.set_point(q + 0.1)
        expected = here.rollout(20, 10)
        patch.setattr(gpu.device, 'synchronize', lambda stream=None: waits.append(stream))
        there.place(Shown(np.asfortranarray(q)), Shown(np.zeros(7)))
        there.load('payload', Shown(payloads()))
        there.rollout(START, like=Shown(q))
        there.set_point(Shown(q + 0.1))
        found = there.rollout(20, 10, like=Shown(q))
        assert not waits
    assert found.share(State.RUNNING) == 1.0
    for each, other in zip(expected, found):
        assert isinstance(other, DeviceArray)
        np.testing.assert_array_equal(each, other.numpy())
    motion = gpu.rollout(Shown(q), Shown(0.0 * q), controller=UnderControl(arm.controller),
                         step=STEP, steps=4, every=2, stream=3)
    other = gpu.rollout(q, 0.0 * q, controller=UnderControl(arm.controller), step=STEP, steps=4,
                        every=2)
    np.testing.assert_array_equal(motion.q.numpy(), other.q)
    np.testing.assert_array_equal(motion.qd.numpy(), other.qd)


def test_numbers_on_the_device_that_are_not_finite(dynamics: Dynamics) -> None:
    """Nobody looks at them there but the controllers: the one of that robot starts no motion."""
    arm = make()
    q = starts(arm)
    q[1, 3] = np.nan
    fleet = Fleet(arm.controller, dynamics.on('emulation'), COUNT, step=STEP)
    fleet.place(Shown(q))
    found = fleet.rollout(START)
    assert (found.state[[0, 2], -1] == 3).all() and found.state[1, -1] != 3
    assert np.isfinite(found.q[[0, 2]]).all() and not found.torque[1].any()


def test_refusals(dynamics: Dynamics) -> None:
    """What a fleet cannot be made of, or given; each says what to do."""
    arm, gpu = make(), dynamics.on('emulation')
    with pytest.raises(RbdError, match=r"computes in float64.*robot\.on\('cuda'\)"):
        Fleet(arm.controller, dynamics.on('emulation', scalar='float32'), 1, step=STEP)
    with pytest.raises(RbdError, match='above 0'):
        Fleet(arm.controller, gpu, 1, step=0.0)
    for count in (0, -1, 2.5):
        with pytest.raises(RbdError, match=f'a fleet of {count} robots: give a whole number'):
            Fleet(arm.controller, gpu, count, step=STEP)
    with pytest.raises(RbdError, match='dead_man_timeout 0'):
        Fleet(make(dead_man_timeout=0.5).controller, gpu, 1, step=STEP)
    fleet = Fleet(arm.controller, gpu, 2, step=STEP)
    with pytest.raises(ShapeError, match=r'q has shape \(3, 7\), expected \(2, 7\), or \(7,\)'):
        fleet.place(np.zeros((3, 7)))
    with pytest.raises(NonFiniteError, match=r'qd\[1, 2\] is nan'):
        fleet.place(np.zeros(7), np.where(np.arange(14).reshape(2, 7) == 9, np.nan, 0.0))
    with pytest.raises(ShapeError, match=r'q must be an array of real numbers of shape \(7,\)'):
        fleet.place('home')
    with pytest.raises(RbdError, match=r'no "wind" \(known: .*gravity'):
        fleet.load('wind', 0.0)
    with pytest.raises(ShapeError, match=r'gravity has shape \(7,\), expected \(2, 3\), or'):
        fleet.load('gravity', np.zeros(7))
    for within in (-0.1, np.nan, np.inf):
        with pytest.raises(RbdError, match=f'within is {within} s: give a time'):
            fleet.set_point(np.zeros(7), within)
    for steps, every in ((5, 2), (0, None), (1.5, None)):
        with pytest.raises(ShapeError, match='positive whole numbers'):
            fleet.rollout(steps, every)
    with pytest.raises(ShapeError, match='q holds float32, closed_step computes in float64'):
        fleet.place(Shown(np.zeros((2, 7), 'f4')))
    with pytest.raises(ShapeError, match=r'q has shape \(2, 6\), expected \(2, 7\), or \(7,\)'):
        fleet.set_point(Shown(np.zeros((2, 6))))
    with pytest.raises(ShapeError, match='like is a list'):
        fleet.rollout(1, like=[0.0])
    with pytest.raises(TypeError, match='stream is a str'):
        fleet.place(np.zeros(7), stream='default')


class Paper(EmulatedDevice):
    """A GPU of NVIDIA that keeps its code and runs nothing."""

    name, dialect = 'paper', NVIDIA

    def __init__(self) -> None:
        super().__init__()
        self.target = targets.PTX

    def code(self, text: str, procedures: str = '') -> bytes:
        """Return PTX."""
        return targets.emit(text, self.target, assembly=True, procedures=procedures)

    def load(self, code: bytes, entries: object) -> list[Function]:
        """Return kernels that cannot be called."""
        return [Function(None, 0, 0)] * 4


def test_ptx_of_a_fleet(dynamics: Dynamics) -> None:
    """What a GPU is given: no memory of unknown kind, and no function from outside."""
    arm = make()
    graph = step_graph(MODEL, dynamics.kernel('forward_dynamics').graph, None, {})
    bindings = bindings_of(arm.controller, (compile_graph(graph).bind(), graph))
    ptx = DeviceProcedure(Paper(), take_set_point, bindings).code.decode()
    assert '.visible .entry rbd_run(' in ptx and '.extern' not in ptx
    assert 'ld.local.b64' in ptx and 'ld.global.nc.b64' in ptx
