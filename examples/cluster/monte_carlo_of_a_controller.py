# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How far does a controller stray with a load that it does not know? Monte Carlo with Ray."""

import sys

import numpy as np
import ray

import rbd_ros

STEP, STEPS, ARMS = 2e-3, 500, 32


@ray.remote(num_cpus=1)
class Trials:
    """A process with its robots, which takes one short task after the other."""

    def __init__(self, model):
        self.known = rbd_ros.Dynamics(model, threads=1)
        self.truth = rbd_ros.Dynamics(model, payload_frame='tool0', threads=1)

    def run(self, seed):
        """Return a random load, and the largest error of some arms after one second."""
        rng = np.random.default_rng(seed)
        load = rng.uniform(0.0, 3.0)
        self.truth.set_payload(load, com=[0.0, 0.0, 0.05], inertia=np.diag([0.004] * 3))
        q, way = rng.uniform((-1.0, -0.3), (1.0, 0.3), (ARMS, 7, 2)).transpose(2, 0, 1)
        goal, qd = q + way, np.zeros((ARMS, 7))
        for _ in range(STEPS):
            tau = self.known.inverse_dynamics(q, qd, 100.0 * (goal - q) - 20.0 * qd)
            qd = qd + STEP * self.truth.forward_dynamics(q, qd, tau)
            q = q + STEP * qd
        return load, np.abs(goal - q).max()


if __name__ == '__main__':
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    ray.init(log_to_driver=False)               # here, or the cluster that RAY_ADDRESS names
    arm = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
    workers = [Trials.remote(arm) for _ in range(int(ray.available_resources()['CPU']))]
    pool = ray.util.ActorPool(workers)
    found = np.array(list(pool.map_unordered(lambda worker, seed: worker.run.remote(seed),
                                             range(count))))
    for low in (0.0, 1.0, 2.0):
        chosen = found[(found[:, 0] >= low) & (found[:, 0] < low + 1.0)]
        print(f'{low:.0f} to {low + 1.0:.0f} kg: {len(chosen)} trials, error up to '
              f'{np.degrees(chosen[:, 1].max()):.2f} degrees')
