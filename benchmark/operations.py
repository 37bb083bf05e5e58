# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Operation counts next to RBDA Table 10.1, and those of real robots: ``./run bench ops``."""

from __future__ import annotations

from benchmark.robots import FILES, FLOATING, robot_file

from rbd_ros import load_urdf
from rbd_ros.algorithms import aba, crba, kinematics, rnea
from rbd_ros.algorithms.equivalence import simplified_inertias
from rbd_ros.command_line.commands.ops import operation_counts
from rbd_ros.compiler import OperationCount, trace
from rbd_ros.model.model import Model
from rbd_ros.samples.families import general_chain
from rbd_ros.spatial import Vec3

#: The best published counts for general chains of 6 and 7 joints (RBDA Table 10.1).
BOOK = {'inverse dynamics': (836, 1010), 'inertia matrix': (759, 1017),
        'articulated bodies': (2067, 2496)}

#: What a tracer was seen to reach: the limits this package keeps (m + a for 6 and 7 joints).
LIMITS = {
    'inverse dynamics, spatial': (1109, 1341), 'inverse dynamics, 3-D': (871, 1054),
    'inverse dynamics, 3-D, simplified': (754, 913),
    'inertia matrix': (718, 967), 'articulated bodies': (1945, 2372),
}


def chain_counts(n: int) -> dict[str, OperationCount]:
    """Return the counts of the tree algorithms on a general chain, as RBDA 10.3 counts."""
    model = general_chain(n)
    simple = kinematics.Conditions(
        Vec3(0.0, 0.0, -9.81), inertia=simplified_inertias(model, '3d'))
    fall = kinematics.Conditions(Vec3(0.0, 0.0, -9.81))
    q, qd, x = {'q': (n,)}, {'qd': (n,)}, {'x': (n,)}

    def count(function, *inputs) -> OperationCount:
        arguments = {key: shape for item in inputs for key, shape in item.items()}
        return trace(function, arguments, name='chain').count()

    return {
        'inverse dynamics, spatial':
            count(lambda q, qd, x: rnea.rnea(model, q, qd, x, fall).tau, q, qd, x),
        'inverse dynamics, 3-D':
            count(lambda q, qd, x: rnea.newton_euler_3d(model, q, qd, x, fall), q, qd, x),
        'inverse dynamics, 3-D, simplified':
            count(lambda q, qd, x: rnea.newton_euler_3d(model, q, qd, x, simple), q, qd, x),
        'inertia matrix':
            count(lambda q: crba.crba(model, kinematics.links(model, q)), q),
        'articulated bodies':
            count(lambda q, qd, x: aba.aba(model, q, qd, x, fall).qdd, q, qd, x),
    }


def robot_counts(model: Model) -> dict[str, OperationCount]:
    """Return the counts of every quantity and method of a robot, gravity being an input."""
    return {f'{name} ({method})': count
            for (name, method), count in operation_counts(model).items()}


def report() -> tuple[str, dict[str, object]]:
    """Return the tables as text and as data."""
    six, seven = chain_counts(6), chain_counts(7)
    lines = ['General chains of n revolute joints, multiplications + additions (RBDA 10.3)',
             f'{"algorithm":36}{"n = 6":>20}{"n = 7":>20}{"limit":>14}{"book best":>14}']
    data: dict[str, object] = {}
    for name, limit in LIMITS.items():
        book = BOOK[name.partition(',')[0]]
        lines.append(f'{name:36}{_shown(six[name]):>20}{_shown(seven[name]):>20}'
                     f'{f"{limit[0]}/{limit[1]}":>14}{f"{book[0]}/{book[1]}":>14}')
        data[name] = [six[name].total, seven[name].total]
    for robot in FILES:
        model = load_urdf(robot_file(robot), robot in FLOATING, on_warning=lambda text: None)
        lines += ['', f'{robot}: {model.nb} bodies, nv = {model.nv}']
        counts = robot_counts(model)
        lines += [f'{name:28}{_shown(count):>20}' for name, count in counts.items()]
        data[robot] = {name: count.total for name, count in counts.items()}
    return '\n'.join(lines), data


def _shown(count: OperationCount) -> str:
    return f'{count} = {count.total}'
