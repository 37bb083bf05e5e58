# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings of an arm that rests in poses, with a force-torque sensor that MuJoCo simulates."""

from __future__ import annotations

from pathlib import Path

from command_rig import ARM
import mujoco
import numpy as np
from rbd_ros.identification import bag as bags
from rosbags.rosbag2 import Writer

MASS, COM = 1.3, np.array([0.02, -0.03, 0.09])
FORCE_BIAS, MOMENT_BIAS = np.array([4.0, -2.0, 1.0]), np.array([0.2, -0.1, 0.3])
PERIOD, REST, MOVE = 0.01, 2.0, 1.0  # s
HEIGHT = 0.08  # m, of tool0 above link_7
STORE = bags.typestore()


def sensing_arm() -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Return the arm with a tool behind a sensor whose axes are those of tool0."""
    spec = mujoco.MjSpec.from_file(str(ARM))
    tool = spec.body('link_7').add_body(name='carried', pos=[0.0, 0.0, HEIGHT])
    tool.mass, tool.inertia, tool.ipos = MASS, [0.01] * 3, COM.tolist()
    tool.explicitinertial = True
    tool.add_site(name='sensor')
    for kind, name in ((mujoco.mjtSensor.mjSENS_TORQUE, 'n'),
                       (mujoco.mjtSensor.mjSENS_FORCE, 'f')):
        spec.add_sensor(type=kind, name=name, objtype=mujoco.mjtObj.mjOBJ_SITE, objname='sensor')
    model = spec.compile()
    return model, mujoco.MjData(model)


def write_rests(path: Path, poses: int, *, support: bool = False, noise: float = 0.02,
                seed: int = 0) -> Path:
    """Write a bag: rests in random poses and the ways between, in which the readings are wild."""
    model, data = sensing_arm()
    names = [model.joint(k).name for k in range(model.njnt)]
    rng = np.random.default_rng(seed)
    time, stamped, header = (STORE.types[name] for name in (
        'builtin_interfaces/msg/Time', 'geometry_msgs/msg/WrenchStamped', 'std_msgs/msg/Header'))
    state, wrench, vector = (STORE.types[name] for name in (
        'sensor_msgs/msg/JointState', 'geometry_msgs/msg/Wrench', 'geometry_msgs/msg/Vector3'))
    t, goal = 100.0, rng.uniform(-1.5, 1.5, 7)
    with Writer(path, version=9) as writer:
        states = writer.add_connection('/joint_states', state.__msgtype__, typestore=STORE)
        sensor = writer.add_connection(
            '/controller/force_torque', stamped.__msgtype__, typestore=STORE)
        for _ in range(poses):
            start, goal = goal, rng.uniform(-1.5, 1.5, 7)
            for k in range(round((MOVE + REST) / PERIOD)):
                share = min(k * PERIOD / MOVE, 1.0)
                data.qpos[:7] = start + share * (goal - start)
                mujoco.mj_forward(model, data)
                data.qacc[:] = 0.0
                mujoco.mj_rnePostConstraint(model, data)
                mujoco.mj_sensorAcc(model, data)
                load = -data.sensordata[:6] + (30.0 * rng.standard_normal(6) if share < 1.0 else 0)
                read = (-load if support else load) + np.concatenate([MOMENT_BIAS, FORCE_BIAS])
                read += noise * rng.standard_normal(6)
                stamp = time(int(t), round(t % 1 * 1e9))
                for connection, message in (
                        (states, state(header(stamp, ''), names, data.qpos[:7].copy(),
                                       np.empty(0), np.empty(0))),
                        (sensor, stamped(header(stamp, 'tool0'), wrench(
                            vector(*read[3:]), vector(*read[:3]))))):
                    writer.write(connection, round(t * 1e9),
                                 STORE.serialize_cdr(message, message.__msgtype__))
                t += PERIOD
    return path
