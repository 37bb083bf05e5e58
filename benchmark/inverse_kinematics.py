# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Inverse kinematics of reachable targets: how many are found, and how fast.

Compared with a short loop around Pinocchio, with pink and with mink.
"""

from __future__ import annotations

from collections.abc import Callable
import time

from benchmark.robots import robot_file
import mujoco
import numpy as np
import pinocchio as pin

import rbd_ros
from rbd_ros.model import positions
from rbd_ros.peers.mujoco_robot import without_shapes

#: Robots and the frame that is sent to targets.
ROBOTS = {'ur5': 'tool0', 'panda': 'panda_hand'}
TARGETS = 1000
#: Of the targets. The settings of our search were chosen on those of seed 0, so not that one.
SEED = 1
TOLERANCE = 1e-4            # m, and rad
RESTARTS = 20
STEPS = 200                 # of one attempt of pink or mink
LOOP_STEPS = 50             # of one attempt of the loop around Pinocchio
#: Restarts where all targets are to be reached.
ENOUGH = 200
#: Targets that are searched for side by side.
SIDE_BY_SIDE = 100_000


class Case:
    """A robot, its targets and the random starts of which all searches may take some."""

    def __init__(self, name: str, count: int, seed: int = 0) -> None:
        self.frame, path = ROBOTS[name], str(robot_file(name))
        self.model = rbd_ros.load_urdf(path, on_warning=lambda text: None)
        self.robot = rbd_ros.Dynamics(self.model)
        self.peer = pin.buildModelFromUrdf(path)
        self.data, self.frame_id = self.peer.createData(), self.peer.getFrameId(self.frame)
        self.mujoco = mujoco.MjModel.from_xml_string(
            without_shapes(robot_file(name).read_text(encoding='utf-8')))
        rng = np.random.default_rng(seed)
        self.targets = [self.robot.pose(positions.random_position(self.model, rng), self.frame)
                        for _ in range(count)]
        self.start = np.clip(positions.neutral(self.model), self.model.lower, self.model.upper)

    def ours(self, target: np.ndarray, restarts: int) -> bool:
        """Return whether our search reaches a target."""
        found = self.robot.inverse_kinematics(
            {self.frame: target}, self.start, linear_tolerance=TOLERANCE,
            angular_tolerance=TOLERANCE, restarts=restarts)
        return bool(found.success) and self.reached(found.q, target)

    def reached(self, q: np.ndarray, target: np.ndarray) -> bool:
        """Return whether a position reaches a target by the kinematics of Pinocchio."""
        pin.framesForwardKinematics(self.peer, self.data, np.array(self.model.expand_q(
            q.tolist())))
        error = pin.log6(self.data.oMf[self.frame_id].actInv(
            pin.SE3(target[:3, :3], target[:3, 3]))).vector
        return max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])) < 1.01 * TOLERANCE

    def pinocchio(self, target: np.ndarray, restarts: int) -> bool:
        """Return whether damped least squares around Pinocchio does, with random restarts."""
        model, data, rng = self.peer, self.data, np.random.default_rng(0)
        low, high = model.lowerPositionLimit, model.upperPositionLimit
        goal, q = pin.SE3(target[:3, :3], target[:3, 3]), np.clip(pin.neutral(model), low, high)
        for _ in range(restarts + 1):
            for _ in range(LOOP_STEPS):
                pin.computeJointJacobians(model, data, q)
                pin.updateFramePlacement(model, data, self.frame_id)
                error = pin.log6(data.oMf[self.frame_id].actInv(goal)).vector
                if max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])) < TOLERANCE:
                    return True
                J = pin.getFrameJacobian(model, data, self.frame_id, pin.LOCAL)
                damped = J @ J.T + (0.1 * error @ error + 1e-9) * np.eye(6)
                q = np.clip(q + J.T @ np.linalg.solve(damped, error), low, high)
            q = rng.uniform(low, high)
        return False

    def pink(self, target: np.ndarray, restarts: int) -> bool:
        """Return whether pink does, from the same start and as many random ones."""
        return self._again(self._pink_once, target, restarts)

    def mink(self, target: np.ndarray, restarts: int) -> bool:
        """Return whether mink does, from the same starts as pink."""
        return self._again(self._mink_once, target, restarts)

    def _again(self, once: Callable[[np.ndarray, np.ndarray], bool], target: np.ndarray,
               restarts: int) -> bool:
        rng, q = np.random.default_rng(0), self.start
        for _ in range(restarts + 1):
            if once(target, np.array(self.model.expand_q(q.tolist()))):
                return True
            q = np.array(positions.random_position(self.model, rng))
        return False

    def _pink_once(self, target: np.ndarray, q: np.ndarray) -> bool:
        import pink
        from pink.limits import ConfigurationLimit
        from pink.tasks import FrameTask
        configuration = pink.Configuration(self.peer, self.peer.createData(), q)
        task = FrameTask(self.frame, 1.0, 1.0, lm_damping=0.1)
        task.set_target(pin.SE3(target[:3, :3], target[:3, 3]))
        limits = [ConfigurationLimit(self.peer)]
        for _ in range(STEPS):
            error = task.compute_error(configuration)
            if max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])) < TOLERANCE:
                return True
            try:
                v = pink.solve_ik(configuration, [task], 0.5, solver='daqp', limits=limits)
            except pink.exceptions.PinkError:
                return False
            configuration.integrate_inplace(v, 0.5)
        return False

    def _mink_once(self, target: np.ndarray, q: np.ndarray) -> bool:
        import mink
        configuration = mink.Configuration(self.mujoco)
        placed = np.empty(self.mujoco.nq)
        for name in self.model.joint_names:
            placed[self.mujoco.joint(name).qposadr[0]] = q[self.model.joint_index(name) - 1]
        configuration.update(placed)
        task = mink.FrameTask(self.frame, 'body', 1.0, 1.0, lm_damping=0.1)
        task.set_target(mink.SE3.from_matrix(target))
        limits = [mink.ConfigurationLimit(self.mujoco)]
        for _ in range(STEPS):
            error = task.compute_error(configuration)
            if max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])) < TOLERANCE:
                return True
            try:
                v = mink.solve_ik(configuration, [task], 0.5, solver='daqp', limits=limits)
            except mink.MinkError:
                return False
            configuration.integrate_inplace(v, 0.5)
        return False

    def times(self, search: Callable[[np.ndarray, int], bool], restarts: int,
              ) -> tuple[float, np.ndarray]:
        """Return the share of targets that a search reaches, and its milliseconds for each."""
        reached, spent = 0, []
        for target in self.targets:
            start = time.perf_counter()
            reached += search(target, restarts)
            spent.append(1e3 * (time.perf_counter() - start))
        return reached / len(self.targets), np.array(spent)

    def side_by_side(self, count: int) -> tuple[float, float]:
        """Return the share of many targets reached together, and microseconds for each."""
        rng = np.random.default_rng(SEED)
        q = rng.uniform(self.model.lower, self.model.upper, (count, self.model.nq))
        targets = self.robot.pose(q, self.frame)

        def search(rows: slice) -> rbd_ros.InverseKinematics:
            return self.robot.inverse_kinematics(
                {self.frame: targets[rows]}, self.start, linear_tolerance=TOLERANCE,
                angular_tolerance=TOLERANCE, restarts=ENOUGH)
        search(slice(10))                               # compiles what many need
        start = time.perf_counter()
        found = search(slice(None))
        spent = time.perf_counter() - start
        right = [self.reached(q, target) for q, target in zip(found.q, targets, strict=True)]
        return float((found.success & np.array(right)).mean()), 1e6 * spent / count


def report(count: int = TARGETS, many: int = SIDE_BY_SIDE) -> tuple[str, dict[str, object]]:
    """Return the table as text and as data."""
    lines = [f'{count} reachable targets each, within {TOLERANCE} m and rad; ms for each',
             f'{"":38}{"reached":>9}{"median":>9}{"mean":>9}']
    data: dict[str, object] = {}
    for name in ROBOTS:
        case = Case(name, count, SEED)
        case.ours(case.targets[0], 0)                   # compiles
        rivals: list[tuple[str, Callable[[np.ndarray, int], bool], int]] = [
            ('rbd_ros', case.ours, ENOUGH), ('loop around Pinocchio', case.pinocchio, ENOUGH)]
        for restarts in (0, RESTARTS):
            rivals += [(who, search, restarts) for who, search in (
                ('rbd_ros', case.ours), ('pink', case.pink), ('mink', case.mink))]
        for who, search, restarts in rivals:
            label = f'{who}, {f"{restarts} restarts" if restarts else "one start"}'
            share, spent = case.times(search, restarts)
            median, mean = float(np.median(spent)), float(spent.mean())
            lines.append(f'{name + ": " + label:38}{share:9.1%}{median:9.3f}{mean:9.3f}')
            data[f'{name} {label}'] = {'share': share, 'median ms': median, 'ms': mean}
        share, spent_each = case.side_by_side(many)
        lines.append(f'{name}: {many} side by side{"":12}{share:9.3%}   {spent_each:.1f} us each')
        data[f'{name} side by side'] = {'share': share, 'us': spent_each}
    return '\n'.join(lines), data
