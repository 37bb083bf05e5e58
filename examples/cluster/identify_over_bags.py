# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which parameters has my robot, by hundreds of bags? Dask makes sums of each of them."""

from pathlib import Path
import sys

from dask.distributed import Client, LocalCluster
import numpy as np

import rbd_ros
from rbd_ros.identification import (
    BagError, base_parameters, design, read_joint_states, smooth)


def sums(robot, columns, path):
    """Return A^T A, A^T tau, tau^T tau and the samples of a bag; a bad one says what is wrong."""
    try:
        motion = smooth(read_joint_states(path, robot.model), cutoff=20.0)
    except BagError as error:
        return str(error)
    A, tau = design(robot, *motion[1:4], drives=True)[:, columns], motion.tau.ravel()
    return A.T @ A, A.T @ tau, tau @ tau, len(motion.t)


if __name__ == '__main__':
    paths = sorted(Path(sys.argv[1]).iterdir())
    arm = rbd_ros.Dynamics(
        rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'), threads=1)
    columns = list(base_parameters(arm, drives=True).independent)
    with LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster, Client(
            cluster) as client:                         # or Client('tcp://scheduler:8786')
        robot = client.scatter(arm, broadcast=True)
        found = client.gather(client.map(
            sums, [robot] * len(paths), [columns] * len(paths), paths))
    for path, each in zip(paths, found, strict=True):
        if isinstance(each, str):
            print(f'{path.name} is left out: {each}')
    good = [each for each in found if not isinstance(each, str)]
    AA, Ab, bb, count = (sum(column) for column in zip(*good, strict=True))
    pi = np.linalg.solve(AA, Ab)
    print(f'{count} samples of {len(good)} bags: {len(pi)} base parameters leave '
          f'{np.sqrt(max(bb - Ab @ pi, 0.0) / (arm.model.nv * count)):.4f} N.m unexplained')
    np.save(sys.argv[2], pi)
