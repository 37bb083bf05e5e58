# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Run WebAssembly by node.js, and what the tests of embedded code compare it with."""

from __future__ import annotations

import json
import math
from pathlib import Path
import shutil
import subprocess
import warnings

from benchmark.robots import robot_file
import numpy as np
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.model.positions import random_position
from rbd_ros.samples.families import random_tree

NODE = shutil.which('node')
#: Largest error, relative to the largest entry, by number type.
ERRORS = {'float64': 1e-12, 'float32': 1e-5}
ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'

_RUN = """
const fs = require('fs');
const about = JSON.parse(fs.readFileSync('call.json'));
const module = new WebAssembly.Module(fs.readFileSync('module.wasm'));
const instance = new WebAssembly.Instance(module);
const memory = new Uint8Array(instance.exports.memory.buffer);
const given = fs.readFileSync('given.bin');
const found = [];
let at = 0;
for (let k = 0; k < about.count; ++k) {
  for (const [address, size] of about.inputs) {
    memory.set(given.subarray(at, at + size), address);
    at += size;
  }
  instance.exports[about.name](...[...about.inputs, ...about.outputs].map((pair) => pair[0]));
  for (const [address, size] of about.outputs) {
    found.push(Buffer.from(memory.slice(address, address + size)));
  }
}
fs.writeFileSync('found.bin', Buffer.concat(found));
"""


def need_node() -> str:
    """Return the path of node.js, or skip."""
    if NODE is None:
        pytest.skip('this machine has no node.js')
    return NODE


def node(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder."""
    return subprocess.run([need_node(), '-e', script], cwd=folder, capture_output=True, text=True,
                          check=False, timeout=patient(60))


def run_wasm(folder: Path, module, k: int, rows: np.ndarray) -> np.ndarray:
    """
    Return the results of a function for many rows of arguments.

    :param folder: to work in.
    :param module: of graphs.
    :param k: which of its functions.
    :param rows: all arguments of a call side by side.
    """
    call, size = module.calls[k], rows.itemsize
    (folder / 'module.wasm').write_bytes(module.code)
    (folder / 'given.bin').write_bytes(np.ascontiguousarray(rows).tobytes())
    sides = {side: [(a.address, a.argument.size * size) for a in arrays]
             for side, arrays in (('inputs', call.inputs), ('outputs', call.outputs))}
    (folder / 'call.json').write_text(
        json.dumps({'name': call.name, 'count': len(rows), **sides}))
    done = node(folder, _RUN)
    assert done.returncode == 0, done.stderr
    found = np.frombuffer((folder / 'found.bin').read_bytes(), rows.dtype)
    return found.reshape(len(rows), sum(a.argument.size for a in call.outputs))


def robots() -> dict[str, rbd_ros.Dynamics]:
    """Return a UR5, the arm of the package, and a tree of many kinds of joints."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        models = {'ur5': rbd_ros.load_urdf(robot_file('ur5')), 'arm': rbd_ros.load_urdf(ARM),
                  'tree': random_tree(4, seed=4)}
    return {name: rbd_ros.Dynamics(model) for name, model in models.items()}


def states(model, graph, count: int, scalar: str, seed: int = 0) -> list[list[np.ndarray]]:
    """Return random arguments of a graph, of numbers that the scalar type has."""
    rng = np.random.default_rng(seed)
    fixed = {'payload': 0.0, 'time': 0.0, 'f_ext': 0.0}
    found = []
    for _ in range(count):
        given = {a.name: np.full(a.shape, fixed[a.name]) if a.name in fixed
                 else rng.uniform(-2.0, 2.0, a.shape) for a in graph.inputs}
        given['q'] = np.array(random_position(model, rng))
        given['gravity'] = np.array(model.gravity)
        found.append([given[a.name].astype(scalar) for a in graph.inputs])
    return found


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest deviation, relative to the largest entry; NaN is none that is small."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape
    largest = np.abs(found - expected).max() / max(1.0, np.abs(expected).max())
    return math.inf if np.isnan(largest) else float(largest)
