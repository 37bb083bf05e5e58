# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How do I label a data set of states with torques? Shards, one short task of Ray for each."""

from pathlib import Path
import sys

import numpy as np
import ray

import rbd_ros


@ray.remote(num_cpus=1)
def label(robot, path):
    """Write torques next to the states of a shard; return how many."""
    states = np.load(path)
    tau = robot.inverse_dynamics(states['q'], states['qd'], states['qdd'])
    np.save(path.with_suffix('.tau.npy'), tau)
    return len(tau)


if __name__ == '__main__':
    folder, shards, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for k in range(shards):                             # your own data set takes their place
        q, qd, qdd = np.random.default_rng(k).uniform(-1.0, 1.0, (3, count, 7))
        np.savez(folder / f'shard_{k:05d}.npz', q=q, qd=qd, qdd=qdd)
    ray.init(log_to_driver=False)               # here, or the cluster that RAY_ADDRESS names
    robot = ray.put(rbd_ros.Dynamics(                           # once to each machine
        rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'), threads=1))
    labelled = ray.get([label.remote(robot, path)
                        for path in sorted(folder.glob('shard_*.npz'))])
    print(f'{sum(labelled)} states of {len(labelled)} shards have torques')
