# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A C99 project for a robot: functions, header, an example that checks itself, CMake file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rbd_ros.command_line.cmake_head import CMAKE_HEAD
from rbd_ros.command_line.prefixes import check_prefix
from rbd_ros.command_line.sample_calls import sample_call
from rbd_ros.compiler.scalar import scalar_type
from rbd_ros.compiler.source.c99 import emit_c, literal
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import ModelError, SettingError
from rbd_ros.quoting import in_comment

if TYPE_CHECKING:
    from rbd_ros.compiler import Graph
    from rbd_ros.dynamics.quantity import Target
    from rbd_ros.model.model import Model

__all__ = ['c_project', 'chosen_graphs']

#: Relative error that the example accepts, by scalar type.
TOLERANCE = {'double': 1e-9, 'float': 1e-3}

_EXAMPLE = """\
/*
 * One call of each function of {prefix}.c, for the robot "{robot}".
 *
 * Vectors are in the order of the joints: {joints}.
 * Expected values were computed by rbd_ros on the machine that generated this file.
 */
#include "{prefix}.h"

#include <math.h>
#include <stdio.h>

static int differs(const char *name, const {real} *found, const {real} *expected, int count)
{{
    {real} largest = 0, error = 0;
    int k;

    printf("%s:", name);
    for (k = 0; k < count; ++k) {{
        const {real} size = {abs}(expected[k]), wrong = {abs}(found[k] - expected[k]);
        printf(" %g", (double)found[k]);
        if (size > largest) {{ largest = size; }}
        if (error == error && !(wrong <= error)) {{ error = wrong; }} /* NaN stays */
    }}
    printf("\\n");
    return !(error <= ({real}){tolerance} * (largest + 1));
}}

int main(void)
{{
    int wrong = 0;

{blocks}
    if (wrong) {{
        printf("%d results differ from the expected values\\n", wrong);
    }} else {{
        printf("all as expected\\n");
    }}
    return wrong != 0;
}}
"""

_CMAKE = CMAKE_HEAD + """\
# The source refuses -ffast-math, which breaks the handling of NaN in the limiters.
add_library({prefix} STATIC {prefix}.c)
target_include_directories({prefix} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
target_link_libraries({prefix} PUBLIC m)

add_executable(example example.c)
target_link_libraries(example PRIVATE {prefix})

enable_testing()
add_test(NAME example COMMAND example)
"""


def c_project(
    model: Model, quantities: Sequence[tuple[str, Target]], *, prefix: str, scalar: str = 'double',
) -> dict[str, str]:
    """
    Return the files of a project by name.

    :param model: the robot.
    :param quantities: names from the table of quantities, each with its frame or None.
    :param prefix: of every name in the C code, and name of the files.
    :param scalar: type of the numbers, ``double`` or ``float``.
    """
    if scalar not in TOLERANCE:
        raise SettingError(f'scalar must be one of {", ".join(TOLERANCE)}, got "{scalar}"')
    graphs = chosen_graphs(model, quantities, prefix)
    code = emit_c(graphs, prefix, scalar=scalar)
    example = _EXAMPLE.format(
        prefix=prefix, robot=in_comment(model.name),
        joints=in_comment(', '.join(model.independent_joint_names)), real=scalar,
        abs='fabs' if scalar == 'double' else 'fabsf', tolerance=f'{TOLERANCE[scalar]:g}',
        blocks=''.join(_block(model, graph, prefix, scalar) for graph in graphs))
    return {f'{prefix}.c': code.source, f'{prefix}.h': code.header,
            'example.c': example,
            'CMakeLists.txt': _CMAKE.format(
                prefix=prefix, subject=f' for the robot "{in_comment(model.name)}"')}


def chosen_graphs(model: Model, quantities: Sequence[tuple[str, Target]], prefix: str,
                  ) -> list[Graph]:
    """Return what is computed; a robot or a prefix from which no code can be made is refused."""
    check_prefix(prefix)
    if not model.nv:
        raise ModelError(f'robot "{model.name}" has no movable joint: there is nothing to compute')
    robot = Dynamics(model, backend='reference')
    return [robot.kernel(name, target).graph for name, target in quantities]


def _block(model: Model, graph: Graph, prefix: str, real: str) -> str:
    """Return the call of one function, with its inputs and the expected outputs."""
    given, expected = sample_call(model, graph)
    lines = [_array(real, name, values) for name, values in given.items()]
    lines += [f'{real} {a.name}_out[{a.size}];' for a in graph.outputs]
    lines += [_array(real, f'{name}_expected', values)
              for name, values in expected.items()]
    arguments = [a.name for a in graph.inputs] + [f'{a.name}_out' for a in graph.outputs]
    lines += ['', f'{prefix}_{graph.name}({", ".join(arguments)});']
    lines += [f'wrong += differs("{graph.name}: {a.name}", {a.name}_out, {a.name}_expected, '
              f'{a.size});' for a in graph.outputs]
    return '    {\n' + ''.join(f'        {line}\n' if line else '\n' for line in lines) + '    }\n'


def _array(real: str, name: str, values: np.ndarray) -> str:
    kind = scalar_type(real)
    numbers = ', '.join(literal(each, kind) for each in values.tolist())
    return f'const {real} {name}[{len(values)}] = {{{numbers}}};'
