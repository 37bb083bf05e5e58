# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Large robots: chains and trees of 50 to 200 revolute joints, next to Pinocchio.

Code without loops outgrows every instruction cache here; the time of an operation shows what that
costs. Processor time of the compilation is counted, in this process and without its cache.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

from benchmark.proof import same
import numpy as np
import pinocchio as pin

import rbd_ros
from rbd_ros.command_line.timing import best_times
from rbd_ros.compiler import code_size, emit_objects
from rbd_ros.model.model import Model
from rbd_ros.samples.families import general_chain, regular_tree

SIZES = (50, 100, 200)
METHODS = {'inverse_dynamics': None, 'forward_dynamics': 'aba', 'mass_matrix': None}


def report() -> tuple[str, dict[str, object]]:
    """Return the table as text and as data."""
    lines = [f'{"robot":20}{"quantity":18}{"operations":>11}{"code":>9}{"compiled":>10}'
             f'{"rbd_ros":>12}{"Pinocchio":>12}{"ratio":>7}']
    rows: dict[str, object] = {}
    for n in SIZES:
        for model in (general_chain(n), regular_tree(n, 2)):
            for quantity, row in _measured(model).items():
                lines.append(
                    f'{model.name:20}{quantity:18}{row["operations"]:11}'
                    f'{row["bytes"] / 1024:6.0f} kB{row["compiled"]:8.1f} s{row["us"]:9.2f} us'
                    f'{row["pinocchio_us"]:9.2f} us{row["pinocchio_us"] / row["us"]:7.1f}')
                rows[f'{model.name} {quantity}'] = row
    return '\n'.join(lines), rows


def _measured(model: Model) -> dict[str, dict[str, Any]]:
    """Return what each quantity of a robot costs."""
    peer, data = peer_of(model)
    q, qd, x = np.random.default_rng(0).uniform(-1.0, 1.0, (3, model.nv))
    calls: dict[str, Callable[[], object]] = {
        'inverse_dynamics': partial(pin.rnea, peer, data, q, qd, x),
        'forward_dynamics': partial(pin.aba, peer, data, q, qd, x),
        'mass_matrix': partial(pin.crba, peer, data, q)}
    robot = rbd_ros.Dynamics(model, cache=False)
    found = {}
    for quantity, method in METHODS.items():
        start = process_time()
        bound = robot.bind(quantity, method=method)
        compiled = process_time() - start
        for name, values in {'q': q, 'qd': qd, 'qdd': x, 'tau': x}.items():
            if name in bound.inputs:
                bound.inputs[name][:] = values
        graph = robot.kernel(quantity, method=method).graph
        bound()
        wanted = np.array(calls[quantity]())
        if quantity == 'mass_matrix':  # the upper triangle of it
            wanted = np.triu(wanted) + np.triu(wanted, 1).T
        same(f'{model.name}, {quantity}', next(iter(bound.outputs.values())), wanted)
        own, theirs = best_times(bound, calls[quantity], repetitions=400)
        found[quantity] = {
            'operations': graph.count().total, 'bytes': code_size(emit_objects(graph)),
            'compiled': compiled, 'us': own * 1e6, 'pinocchio_us': theirs * 1e6}
    return found


def peer_of(model: Model) -> tuple[pin.Model, pin.Data]:
    """
    Return a tree of revolute joints about z as Pinocchio has it.

    :param model: the tree.
    """
    peer = pin.Model()
    peer.gravity.linear = np.array(model.gravity)
    for i in range(1, model.nb + 1):
        E, r = np.array(model.X_T[i].E.to_list()), np.array(list(model.X_T[i].r))
        peer.addJoint(model.parent[i], pin.JointModelRZ(), pin.SE3(E.T, r), f'joint_{i}')
        body = model.inertia[i]
        c = np.array(list(body.h)) / body.m
        I = np.array(body.I.to_list()) - body.m * (c @ c * np.eye(3) - np.outer(c, c))
        peer.appendBodyToJoint(i, pin.Inertia(body.m, c, I), pin.SE3.Identity())
    return peer, peer.createData()
