# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What can the arm lift, and where? A map of workspace and payload with Dask."""

import sys

from dask.distributed import Client, LocalCluster
import numpy as np

import rbd_ros

CELL, SIZE, G = 0.1, 16, 9.81                           # cells of 0.1 m: radius and height


def lifted(robot, seed, count):
    """Return the largest load that the motors hold in each cell, of random positions; -1: none."""
    model = robot.model
    q = np.random.default_rng(seed).uniform(model.lower, model.upper, (count, model.nq))
    T = robot.pose(q, 'tool0')
    J = robot.jacobian(q, 'tool0')[:, 3:]               # of the origin, in axes of the frame
    own, per_kg = robot.gravity(q), G * np.einsum('kij,ki->kj', J, T[:, 2, :3])
    spare = model.effort_limit - np.abs(own)            # what the arm's own weight leaves
    signed = np.where(own * per_kg < 0.0, model.effort_limit + np.abs(own), spare)
    mass = (signed / np.maximum(np.abs(per_kg), 1e-9)).min(axis=1)
    cell = np.floor(np.column_stack([np.hypot(*T[:, :2, 3].T), T[:, 2, 3] + 0.5]) / CELL)
    inside = ((cell >= 0) & (cell < SIZE)).all(axis=1) & (spare > 0.0).all(axis=1)
    found = np.full((SIZE, SIZE), -1.0)
    np.maximum.at(found, tuple(cell[inside].astype(int).T), mass[inside])
    return found


if __name__ == '__main__':
    tasks, count = (int(word) for word in (sys.argv[1:] or ('16', '20000')))
    arm = rbd_ros.Dynamics(
        rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'), threads=1)
    with LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster, Client(
            cluster) as client:                         # or Client('tcp://scheduler:8786')
        robot = client.scatter(arm, broadcast=True)     # once to each worker
        parts = client.map(lifted, [robot] * tasks, range(tasks), [count] * tasks)
        best = np.max(client.gather(parts), axis=0)
    print(f'reached {np.sum(best >= 0.0)} cells; kg at heights from -0.5 m, by radius:')
    print('\n'.join(' '.join(f'{x:5.1f}' if x >= 0.0 else '    .' for x in row)
                    for row in best.T[::-1]))
