# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The same rollouts by other engines on the same GPU: MJX, MuJoCo Warp and frax, where installed.

Write the robots where they are, ``./run python -m benchmark.gpu.peers write FILE``, and measure on
a machine with a GPU and the engines, ``python3 -m benchmark.gpu.peers run FILE``. Those of MuJoCo
are general engines and compute in float; limits of joints are off, and contact too, but that of
the four feet of the quadruped with the floor. frax has no engine: its forward dynamics of its own
Panda is integrated by the same rule as ours.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import sys
import time
from typing import Any
import xml.etree.ElementTree as ElementTree

#: Joints that are fixed, by robot: the fingers of a hand.
ROBOTS = {'ur5': (), 'panda': ('panda_finger_joint1', 'panda_finger_joint2'), 'go2': ()}
#: States, and steps of a rollout that is timed.
STATES, STEPS = (4096, 65536), 100
_FOOT = 0.022


def described(robot: str) -> str:
    """Return a robot as MuJoCo's own description, without shapes but for feet and floor."""
    from benchmark.robots import FLOATING, robot_file
    import mujoco
    root = ElementTree.fromstring(robot_file(robot).read_text())
    for link in root.iter('link'):
        for shape in [*link.findall('visual'), *link.findall('collision')]:
            link.remove(shape)
    for joint in root.findall('joint'):
        if joint.get('name') in ROBOTS[robot]:
            joint.set('type', 'fixed')
            for mimic in joint.findall('mimic'):
                joint.remove(mimic)
    settings = ElementTree.SubElement(root, 'mujoco')
    ElementTree.SubElement(settings, 'compiler', {'fusestatic': 'false', 'discardvisual': 'false'})
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding='unicode'))
    spec.option.timestep = 1e-3
    for joint in spec.joints:
        joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE
    if robot in FLOATING:
        spec.worldbody.first_body().add_freejoint()
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1.0, 1.0, 1.0],
                                contype=1, conaffinity=0)
        for body in spec.bodies:
            if body.name.endswith('_foot'):
                body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[_FOOT, 0.0, 0.0],
                              contype=0, conaffinity=1, mass=0.0)
    else:
        spec.option.disableflags |= (mujoco.mjtDisableBit.mjDSBL_CONTACT
                                     | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    spec.compile()
    text: str = spec.to_xml()
    return text


def rates_of_mjx(text: str) -> dict[int, float]:
    """Return the steps per second of MJX, by number of states."""
    os.environ.setdefault('XLA_PYTHON_CLIENT_PREALLOCATE', 'false')
    os.environ.setdefault('MUJOCO_GL', 'disable')
    import jax
    import mujoco
    from mujoco import mjx
    import numpy as np
    model = mujoco.MjModel.from_xml_string(text)
    there, rng = mjx.put_model(model), np.random.default_rng(0)

    def rolled(q: Any, v: Any) -> Any:
        data = jax.vmap(lambda a, b: mjx.make_data(there).replace(qpos=a, qvel=b))(q, v)
        after, _ = jax.lax.scan(lambda d, _: (jax.vmap(lambda one: mjx.step(there, one))(d), None),
                                data, None, length=STEPS)
        return after.qpos
    run, found = jax.jit(rolled), {}
    for count in STATES:
        q = np.tile(model.qpos0, (count, 1))
        if model.nq > model.nv:                         # a quadruped about its stance
            q[:, 2], q[:, 7:] = 0.3, [0.0, 0.8, -1.6] * 4
        spread = rng.uniform(-0.1, 0.1, (count, model.nq))
        spread[:, :7 * (model.nq > model.nv)] = 0.0
        q = jax.numpy.asarray(q + spread, 'float32')
        v = jax.numpy.asarray(rng.uniform(-1.0, 1.0, (count, model.nv)), 'float32')
        jax.block_until_ready(run(q, v))
        begin = time.perf_counter()
        jax.block_until_ready(run(q, v))
        found[count] = count * STEPS / (time.perf_counter() - begin)
    return found


def rates_of_frax(text: str) -> dict[int, float]:
    """Return the steps per second of frax in float, by number of states; the Panda is its own."""
    os.environ.setdefault('XLA_PYTHON_CLIENT_PREALLOCATE', 'false')
    from frax.robots.franka_panda import load_panda
    import jax
    import numpy as np
    robot, rng = load_panda(), np.random.default_rng(0)

    def rolled(q: Any, v: Any) -> Any:
        def step(state: Any, _: None) -> Any:
            q, v = state
            v = v + 1e-3 * jax.vmap(lambda a, b: robot.forward_dynamics(
                a, b, jax.numpy.zeros_like(b), None))(q, v)
            return (q + 1e-3 * v, v), None
        return jax.lax.scan(step, (q, v), None, length=STEPS)[0]
    run, found = jax.jit(rolled), {}
    for count in STATES:
        q, v = (jax.numpy.asarray(rng.uniform(-1.0, 1.0, (count, robot.nv)), 'float32')
                for _ in range(2))
        jax.block_until_ready(run(q, v))
        begin = time.perf_counter()
        jax.block_until_ready(run(q, v))
        found[count] = count * STEPS / (time.perf_counter() - begin)
    return found


def rates_of_warp(text: str) -> dict[int, float]:
    """Return the steps per second of MuJoCo Warp, by number of states."""
    import mujoco
    import mujoco_warp
    import warp
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    if model.nq > model.nv:
        data.qpos[2], data.qpos[7:] = 0.3, [0.0, 0.8, -1.6] * 4
    mujoco.mj_forward(model, data)
    there, found = mujoco_warp.put_model(model), {}
    for count in STATES:
        states = mujoco_warp.put_data(model, data, nworld=count)
        mujoco_warp.step(there, states)
        with warp.ScopedCapture() as capture:
            mujoco_warp.step(there, states)
        warp.capture_launch(capture.graph)
        warp.synchronize()
        begin = time.perf_counter()
        for _ in range(STEPS):
            warp.capture_launch(capture.graph)
        warp.synchronize()
        found[count] = count * STEPS / (time.perf_counter() - begin)
    return found


def main(task: str, file: str) -> None:
    """Write the robots to a file, or measure those of one."""
    if task == 'write':
        Path(file).write_text(json.dumps({robot: described(robot) for robot in ROBOTS}))
        return
    for robot, text in json.loads(Path(file).read_text()).items():
        for engine, measure in (('MJX', rates_of_mjx), ('MuJoCo Warp', rates_of_warp),
                                ('frax', rates_of_frax)):
            if engine == 'frax' and robot != 'panda':
                continue
            try:
                said = ', '.join(f'{rate:.2e} steps/s of {count} states'
                                 for count, rate in measure(text).items())
            except Exception as error:          # the others must not be lost with it
                said = f'not measured, {type(error).__name__}: {error}'
            print(f'{robot} {engine}: {said}', flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
