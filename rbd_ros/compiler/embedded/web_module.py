# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Graphs as a WebAssembly module, and where each function finds its arrays in the memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.compiler.embedded.object_file import emit_object
from rbd_ros.compiler.embedded.processors import WASM
from rbd_ros.compiler.embedded.wasm_module import Memory, wasm_module
from rbd_ros.compiler.graph.graph import Argument, Graph
from rbd_ros.compiler.scalar import ScalarType

#: Bytes of the stack besides what an object file tells: for the frames of functions.
_FRAMES = 1024


class Array(NamedTuple):
    """An argument or a result in the memory of a module."""

    argument: Argument
    address: int


class Call(NamedTuple):
    """A function of a module, with places for its arrays."""

    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


class WebModule(NamedTuple):
    """
    Graphs for browsers.

    :param code: a WebAssembly module that imports nothing.
    :param calls: its functions, which take the addresses of their arrays.
    """

    code: bytes
    calls: tuple[Call, ...]


def web_module(graphs: Sequence[Graph], prefix: str, scalar: ScalarType) -> WebModule:
    """
    Return graphs as a module, the stack below in its memory and places for arrays above.

    :param graphs: what to compute.
    :param prefix: begins the name of every function.
    :param scalar: type of all numbers.
    """
    found = emit_object(graphs, prefix, WASM, scalar)
    stack = -(-(found.stack + _FRAMES) // 64) * 64
    calls, end = [], stack
    for graph in graphs:
        at, places = stack, []      # one function after the other: they share the memory
        for argument in graph.inputs + graph.outputs:
            places.append(Array(argument, at))
            at += argument.size * scalar.size
        count = len(graph.inputs)
        calls.append(Call(f'{prefix}_{graph.name}', tuple(places[:count]), tuple(places[count:])))
        end = max(end, at)
    code = wasm_module(found.code, [call.name for call in calls], Memory(stack, end))
    return WebModule(code, tuple(calls))
