# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What kernels of a GPU are made for, and LLVM's part in making them."""

from __future__ import annotations

from functools import cache

from rbd_ros.compiler.native import cache as disk
from rbd_ros.compiler.native.target import binding, Target
from rbd_ros.compiler.source_digest import source_digest
from rbd_ros.errors import DeviceError

#: Every GPU of NVIDIA since 2018; the driver makes code for the one that it finds. Text for newer
#: ones is no faster.
PTX = Target('nvptx64-nvidia-cuda', 'sm_75', '+ptx63')
#: LLVM that has the attributes of ``Dialect`` and was tested.
_LLVM = 22
#: Of the passes over procedures.
_LEVEL = 2
_SOURCES = ('rbd_ros.compiler.scalar', 'rbd_ros.compiler.graph', 'rbd_ros.compiler.native',
            'rbd_ros.compiler.gpu', 'rbd_ros.compiler.language', 'rbd_ros.compiler.records')


def emit(text: str, target: Target, *, assembly: bool, procedures: str = '') -> bytes:
    """
    Return the code of a module for a GPU.

    :param text: LLVM assembly.
    :param target: the GPU.
    :param assembly: whether as text, which is what NVIDIA's driver takes, or as object code.
    :param procedures: another module, to be joined, over which LLVM's passes run: what has loops
        and branches needs them.
    :raises DeviceError: if the installed LLVM is too old.
    """
    llvm = binding()
    if llvm.llvm_version_info[0] < _LLVM:
        raise DeviceError(
            f'kernels of a GPU need LLVM {_LLVM}, llvmlite here has '
            f'{".".join(map(str, llvm.llvm_version_info))}; install llvmlite 0.50 or newer')
    machine = target.machine(2)
    head = (f'target datalayout = "{machine.target_data}"\n'
            f'target triple = "{target.triple}"\n')
    context = llvm.create_context()
    module = llvm.parse_assembly(head + text, context)
    if procedures:
        improved = llvm.parse_assembly(head + procedures, context)
        builder = llvm.create_pass_builder(
            machine, llvm.create_pipeline_tuning_options(speed_level=_LEVEL))
        builder.getModulePassManager().run(improved, builder)
        module.link_in(improved)
    return machine.emit_assembly(module).encode() if assembly else machine.emit_object(module)


def streamed(ptx: bytes) -> bytes:
    """
    Return kernels whose results need not stay in the caches, where they push out what is read.

    On an H200 they take up to a seventh less time, and none takes longer.

    :param ptx: where ``st.global`` writes results alone.
    """
    return ptx.replace(b'st.global.', b'st.global.cs.')


@cache
def circumstances(target: Target) -> str:
    """Return a digest of what such code depends on besides its graph, '' if unknown."""
    import llvmlite
    try:
        own = source_digest(*_SOURCES)
    except ImportError as error:
        disk.explain('for this installation', str(error))
        return ''
    return disk.digest(['gpu', llvmlite.__version__, binding().llvm_version_info, *target, own])
