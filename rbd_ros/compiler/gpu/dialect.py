# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The words in which kernels of different processors differ.

A kernel is one text for every GPU, and for the emulation on this processor: what stands here is
all that is put into it. So what the emulation runs is what the GPU runs.
"""

from __future__ import annotations

from typing import NamedTuple

#: Threads of a block where nothing is said: four warps of NVIDIA.
BLOCK = 128


class Dialect(NamedTuple):
    """
    What a kernel for one kind of processor is written with.

    :param convention: how a kernel is called.
    :param memory: type of a pointer to the arrays.
    :param constants: address space of the table of constants, '' for none.
    :param numbers: names of functions that give the number of the block and of the thread in it;
        without them both are the last two parameters.
    :param inverse: name of the function that gives about 1 / x of a double, '' for none.
    :param ratio: name of the function that gives about x / y of floats, '' for none.
    """

    convention: str
    memory: str
    constants: str
    numbers: tuple[str, ...]
    inverse: str = ''
    ratio: str = ''

    @property
    def near(self) -> str:
        """Return the type of a pointer to the stack of a thread."""
        return 'ptr addrspace(5)' if self.constants else 'ptr'

    @property
    def parameters(self) -> list[str]:
        """Return the parameters that only this kind of processor needs."""
        return [] if self.numbers else ['i32 %cta', 'i32 %tid']

    @property
    def numbering(self) -> list[str]:
        """Return the lines that find the number %state of the thread's state."""
        return self.numbered(BLOCK)

    def numbered(self, block: int) -> list[str]:
        """Return the lines of ``numbering`` for blocks of so many threads."""
        names = zip(('%cta', '%tid'), self.numbers)
        return [*[f'{name} = call i32 @{function}()' for name, function in names],
                '%cta64 = zext i32 %cta to i64', '%tid64 = zext i32 %tid to i64',
                f'%base = mul i64 %cta64, {block}', '%state = add i64 %base, %tid64']

    @property
    def declarations(self) -> list[str]:
        """Return what the lines of ``numbering`` and of quotients call."""
        return [*[f'declare i32 @{function}()' for function in self.numbers],
                *([f'declare double @{self.inverse}(double)'] if self.inverse else ()),
                *([f'declare float @{self.ratio}(float, float)'] if self.ratio else ())]

    def about_inverse(self, name: str, x: str) -> list[str]:
        """
        Return lines that find about 1 / x, to 20 bits: 0, infinite or NaN where 1 / x is.

        The emulation leaves out as many bits as NVIDIA does, so that what mends them is tested.
        """
        if self.inverse:
            return [f'{name} = call double @{self.inverse}(double {x})']
        return [f'{name}.f = fdiv double 1.0, {x}', f'{name}.b = bitcast double {name}.f to i64',
                f'{name}.m = and i64 {name}.b, -4294967296',
                f'{name} = bitcast i64 {name}.m to double']

    def attributes(self, registers: int, block: int = BLOCK) -> str:
        """
        Return the attributes of a kernel.

        :param registers: most that a thread may have. Without a number NVIDIA's assembler falls
            to 32 at times, and the kernel to a fifth of its speed.
        :param block: threads of a block.
        """
        if self is NVIDIA:
            return f'nounwind "nvvm.maxntid"="{block}" "nvvm.maxnreg"="{registers}"'
        return 'nounwind'


NVIDIA = Dialect('ptx_kernel ', 'ptr addrspace(1)', ' addrspace(4)',
                 ('llvm.nvvm.read.ptx.sreg.ctaid.x', 'llvm.nvvm.read.ptx.sreg.tid.x'),
                 'llvm.nvvm.rcp.approx.ftz.d', 'llvm.nvvm.div.full')
EMULATED = Dialect('', 'ptr', '', ())
