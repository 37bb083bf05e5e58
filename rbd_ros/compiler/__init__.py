# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A tracing compiler for functions of small arrays; knows nothing of robots.

``trace`` runs a function once on traced scalars and gives its Graph; ``compile`` makes a Graph
executable; ``jacobian``, ``gradient``, ``jvp`` and ``vjp`` differentiate it; ``emit_c`` and
``emit_python`` write it down, ``emit_objects`` makes object code to link, ``code_size`` weighs it.
"""

from rbd_ros.compiler.arguments import Array
from rbd_ros.compiler.backends import compile  # noqa: A004
from rbd_ros.compiler.code_size import code_size
from rbd_ros.compiler.graph.differentiate import gradient, jacobian, jvp, vjp
from rbd_ros.compiler.graph.expression import Expr, Matrix, Rows, Scalar, Values
from rbd_ros.compiler.graph.functions import (
    absolute, acos, asin, atan2, clamp, cos, divide, equal, exp, floor, is_finite, is_one, is_zero,
    less, less_equal, log, logical_and, logical_not, logical_or, maximum, minimum, sin, sqrt, tan,
    tanh, where)
from rbd_ros.compiler.graph.graph import Argument, Graph, Node, OperationCount
from rbd_ros.compiler.graph.trace import simplify, trace
from rbd_ros.compiler.kernel import Bound, Kernel
from rbd_ros.compiler.native.llvm_kernel import emit_objects
from rbd_ros.compiler.native.target import host, Target
from rbd_ros.compiler.source.c99 import emit_c
from rbd_ros.compiler.source.python import compile_python, emit_python

__all__ = [
    'Argument', 'Array', 'Bound', 'Expr', 'Graph', 'Kernel', 'Matrix', 'Node', 'OperationCount',
    'Rows', 'Scalar', 'Target', 'Values', 'absolute', 'acos', 'asin', 'atan2', 'clamp',
    'code_size', 'compile', 'compile_python', 'cos', 'divide', 'emit_c', 'emit_objects',
    'emit_python', 'equal', 'exp', 'floor', 'gradient', 'host', 'is_finite', 'is_one', 'is_zero',
    'jacobian', 'jvp', 'less', 'less_equal', 'log', 'logical_and', 'logical_not', 'logical_or',
    'maximum', 'minimum', 'simplify', 'sin', 'sqrt', 'tan', 'tanh', 'trace', 'vjp', 'where',
]


def __getattr__(name: str) -> object:
    """Import what makes machine code when it is asked for: most programs load it from disk."""
    if name != 'emit_objects':
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    from rbd_ros.compiler.native.llvm_kernel import emit_objects
    return emit_objects
