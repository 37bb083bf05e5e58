# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Runs in every mode, with what it takes from outside, recorded and replayed: the same torques.

The recorded controller gets each target in the base, made here by other means than the replay
makes it from the message, which names another frame.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from command_rig import ARM, data, rbd
from controlled_arm import Said, STORE, write_controlled
import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.command_line.replayed import replay
from rbd_ros.compiler import Array
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.payload import payload_vector
from rbd_ros.control.modes import DEFAULT, MODES, Takes, taking
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

#: of the torque limits; the replay has the very same numbers but for how they were turned
SAME = 1e-4
FRAME = 'link_5'  # in which targets are given
ROBOT = Dynamics(load_urdf(ARM))
AT_THE_TIP = taking(Takes.TARGET)
FOLLOWING = taking(Takes.TRAJECTORY)[0]


def made(kind: str, *values: Any) -> Any:
    """Return a message of geometry_msgs."""
    return STORE.types[f'geometry_msgs/msg/{kind}'](*values)


def framed(stamped: Any, frame: str = FRAME) -> Any:
    """Return a header that names a frame."""
    return STORE.types['std_msgs/msg/Header'](stamped.stamp, frame)


def pose(first: float, shift: Array, turn: Rotation) -> Said:
    """Return a pose of the tip, once: moved and turned from where it is."""
    def wanted(q: Array) -> tuple[Array, Rotation]:
        H = ROBOT.pose(q, 'tool0')
        return H[:3, 3] + shift, turn * Rotation.from_matrix(H[:3, :3])

    def make(stamped: Any, t: float, q: Array) -> Any:
        p, R = wanted(q)
        carrier = ROBOT.pose(q, FRAME)
        axes = Rotation.from_matrix(carrier[:3, :3]).inv()
        return made('PoseStamped', framed(stamped), made(
            'Pose', made('Point', *axes.apply(p - carrier[:3, 3])),
            made('Quaternion', *(axes * R).as_quat())))

    def take(controller: Controller, t: float, q: Array) -> None:
        p, R = wanted(q)
        controller.take_pose(t, t, p.tolist(), R.as_quat().tolist())
    return Said(first, first + 0.019, 'target_pose', 'geometry_msgs/msg/PoseStamped', make, take)


def vectors(first: float, topic: str, angular: Array, linear: Array) -> Said:
    """Return a twist or a wrench, streamed for a second."""
    kind = topic.removeprefix('target_').capitalize()

    def make(stamped: Any, t: float, q: Array) -> Any:
        axes = ROBOT.pose(q, FRAME)[:3, :3].T
        two = [made('Vector3', *(axes @ each)) for each in (linear, angular)]
        return made(f'{kind}Stamped', framed(stamped), made(kind, *two))

    def take(controller: Controller, t: float, q: Array) -> None:
        six = [*angular.tolist(), *linear.tolist()]
        (controller.take_twist if kind == 'Twist' else controller.take_wrench)(t, t, six)
    return Said(first, first + 1.0, topic, f'geometry_msgs/msg/{kind}Stamped', make, take)


def load(mass: float) -> Said:
    """Return a load in the axes of a frame that moves against the tip."""
    com, I = np.array([0.02, -0.01, 0.05]), np.diag([0.01, 0.02, 0.015])

    def make(stamped: Any, t: float, q: Array) -> Any:
        tip, other = ROBOT.pose(q, 'tool0'), ROBOT.pose(q, FRAME)
        R = other[:3, :3].T @ tip[:3, :3]
        c = R @ com + other[:3, :3].T @ (tip[:3, 3] - other[:3, 3])
        J = R @ I @ R.T
        return made('InertiaStamped', framed(stamped), made(
            'Inertia', mass, made('Vector3', *c), *J[np.triu_indices(3)].tolist()))

    def take(controller: Controller, t: float, q: Array) -> None:
        controller.take_payload(t, t, payload_vector(
            mass, com.tolist(), I[np.triu_indices(3)].tolist()))
    return Said(0.5, 0.519, 'payload', 'geometry_msgs/msg/InertiaStamped', make, take)


def test_a_load_that_was_refused(tmp_path: Path) -> None:
    """What the recorded controller could not hold it did not take, nor does the replay."""
    heavy = load(60.0)._replace(take=lambda *_: None)
    told = data('replay', write_controlled(tmp_path / 'run.mcap', FOLLOWING, said=[heavy]))
    assert told['within_tolerance'] and max(told['largest_share']) < SAME
    assert [note for note in told['notes'] if note.startswith('~/payload: rejected')]


def tilt(t: float) -> Rotation:
    """Return how the base stands in the world."""
    return Rotation.from_rotvec([0.25 + 0.05 * np.sin(2.0 * (t - 103.0)) * (t > 103.0), 0.1, 0.0])


def imu() -> Said:
    """Return what an IMU on the base says all the time."""
    def make(stamped: Any, t: float, q: Array) -> Any:
        none = made('Vector3', 0.0, 0.0, 0.0)
        return STORE.types['sensor_msgs/msg/Imu'](
            framed(stamped, 'base_link'), made('Quaternion', *tilt(t).as_quat()), np.zeros(9),
            none, np.zeros(9), none, np.zeros(9))

    def take(controller: Controller, t: float, q: Array) -> None:
        controller.take_gravity(t, t, t, tilt(t).inv().apply([0.0, 0.0, -1.0]))
    return Said(-1.0, np.inf, 'imu', 'sensor_msgs/msg/Imu', make, take)


def lost() -> Said:
    """Return what an IMU says that has no orientation: a tilt that means nothing."""
    right = imu()

    def make(stamped: Any, t: float, q: Array) -> Any:
        said = right.make(stamped, t, q)
        said.orientation_covariance[0] = -1.0
        said.orientation.x, said.orientation.w = 1.0, 0.0
        return said
    return right._replace(first=0.8, last=1.4, make=make, take=lambda *_: None)


def path_message() -> Said:
    """Return a path of the tip as a message that means nothing to the joints."""
    kind = 'trajectory_msgs/msg/MultiDOFJointTrajectory'
    return Said(0.5, 0.519, 'cartesian_trajectory', kind,
                lambda stamped, t, q: STORE.types[kind](stamped, [], []), lambda *_: None)


TWO = np.array([0.04, -0.03, 0.05]), Rotation.from_rotvec([0.1, -0.2, 0.1])
CASES: dict[str, tuple[str, list[Said]]] = {
    **{f'pose, {mode}': (mode, [pose(0.4, *TWO)]) for mode in AT_THE_TIP},
    **{f'twist and wrench, {mode}': (mode, [
        vectors(0.3, 'target_twist', np.array([0.1, 0.0, 0.2]), np.array([0.05, 0.0, -0.04])),
        vectors(1.8, 'target_wrench', np.array([0.0, 0.5, 0.0]), np.array([4.0, 0.0, -6.0]))])
        for mode in AT_THE_TIP},
    'load in another frame': (FOLLOWING, [load(1.5)])}


@pytest.mark.sampled('formats', 2)
@pytest.mark.parametrize('case', CASES)
def test_targets_are_replayed(case: str, tmp_path: Path) -> None:
    """What the tip is sent to, how fast, what it exerts and carries, is what it was."""
    mode, said = CASES[case]
    told = data('replay', write_controlled(tmp_path / 'run.mcap', mode, said=said))
    assert max(told['largest_share']) < SAME and not told['notes'], told
    assert told['within_tolerance'] and told['compared'] > 60


@pytest.mark.sampled('formats', 1)
@pytest.mark.parametrize('mode', AT_THE_TIP)
def test_a_pose_from_before_the_replay_runs(mode: str, tmp_path: Path) -> None:
    """A replay that starts later goes to the same pose."""
    file = write_controlled(tmp_path / 'run.mcap', mode, said=[pose(0.1, *TWO)],
                            spoken={'start.time': 1.5})
    found = replay(file, '/controller')
    off = np.abs(found.torque - found.recorded) / found.limits
    assert off[-5:].max() < 0.01 and off[0].max() > 0.0


@pytest.mark.sampled('formats', 2)
@pytest.mark.parametrize('mode', MODES)
def test_every_mode_is_replayed(mode: str, tmp_path: Path) -> None:
    """Without anything from outside, too."""
    told = data('replay', write_controlled(tmp_path / 'run.mcap', mode))
    assert max(told['largest_share']) < SAME and told['within_tolerance'], told


def test_gravity_of_an_imu_is_replayed(tmp_path: Path) -> None:
    """A base that is tilted, and then rocks."""
    down = 9.81 * tilt(0.0).inv().apply([0.0, 0.0, -1.0])
    file = write_controlled(tmp_path / 'run.mcap', FOLLOWING, given={'gravity_source': 'imu'},
                            said=[imu()], down=down)
    told = data('replay', file)
    assert max(told['largest_share']) < SAME and not told['notes'], told


def test_an_imu_without_orientation_is_not_replayed(tmp_path: Path) -> None:
    """What it says then is not where down is; the replay says so and computes as before."""
    down = 9.81 * tilt(0.0).inv().apply([0.0, 0.0, -1.0])
    file = write_controlled(tmp_path / 'run.mcap', FOLLOWING, given={'gravity_source': 'imu'},
                            said=[imu(), lost()], down=down)
    told = data('replay', file)
    assert max(told['largest_share']) < SAME, told
    assert told['notes'] and all('~/imu: ' in note for note in told['notes']), told


@pytest.mark.parametrize('mode, text', [
    (FOLLOWING, ''), (DEFAULT, f'a path of the tip in mode {DEFAULT} is not replayed')])
def test_paths_of_the_tip(mode: str, text: str, tmp_path: Path) -> None:
    """Where joints follow them they are in the reference; elsewhere it says that they are not."""
    told = data('replay', write_controlled(tmp_path / 'run.mcap', mode, said=[path_message()]))
    assert told['notes'] == ([text] if text else [])


def test_what_is_not_replayed_is_said(tmp_path: Path) -> None:
    """Gravity from TF, and a target that is refused."""
    def wrong(stamped: Any, t: float, q: Array) -> Any:
        return made('PoseStamped', framed(stamped, 'nowhere'), made(
            'Pose', made('Point', 0.0, 0.0, 0.0), made('Quaternion', 0.0, 0.0, 0.0, 1.0)))
    said = Said(0.4, 0.419, 'target_pose', 'geometry_msgs/msg/PoseStamped', wrong, lambda *_: None)
    file = write_controlled(tmp_path / 'run.mcap', AT_THE_TIP[0], said=[said])
    assert any('~/target_pose: rejected' in each and 'nowhere' in each
               for each in data('replay', file)['notes'])
    file = write_controlled(tmp_path / 'tf.mcap', DEFAULT, spoken={
        'gravity_source': 'tf', 'gravity_frame': 'world'})
    assert 'gravity_source tf is not replayed' in rbd('replay', file, code=2)[1]
