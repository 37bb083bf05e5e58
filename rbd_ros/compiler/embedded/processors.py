# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The processors that code is made for, and what each can compute with."""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.compiler.native.target import Target
from rbd_ros.compiler.scalar import FLOAT32, FLOAT64, scalar_type, ScalarType
from rbd_ros.errors import SettingError, UnknownName


class Processor(NamedTuple):
    """
    A kind of processor.

    :param name: as users call it.
    :param target: as LLVM calls it.
    :param scalars: types of numbers that it computes with, the usual one first.
    :param floor: whether it rounds down by an instruction.
    """

    name: str
    target: Target
    scalars: tuple[ScalarType, ...]
    floor: bool = True

    @property
    def angles(self) -> ScalarType:
        """Return the type in which sines and cosines are found: double, where there is one."""
        return FLOAT64 if FLOAT64 in self.scalars else FLOAT32

    def scalar(self, name: str | None) -> ScalarType:
        """
        Return a type of number by its name, the usual one of this processor for None.

        :raises SettingError: if it has no instructions for such numbers.
        """
        if name is None:
            return self.scalars[0]
        try:
            kind = scalar_type(name)
        except ValueError as error:
            raise SettingError(str(error)) from None
        if kind not in self.scalars:
            raise SettingError(f'{self.name} has no instructions for {kind.c}: use '
                               f'{" or ".join(known.c for known in self.scalars)}')
        return kind


_ARM = 'thumbv7em-unknown-none-eabihf'
#: Cortex-M4 with the unit for floats: STM32F4, nRF52, SAM4E.
CORTEX_M4 = Processor('cortex-m4', Target(_ARM, 'cortex-m4', '+vfp4d16sp'), (FLOAT32,), False)
#: Cortex-M7 with the unit for doubles: STM32F76x and H7, i.MX RT.
CORTEX_M7 = Processor('cortex-m7', Target(_ARM, 'cortex-m7', '+fp-armv8d16'), (FLOAT64, FLOAT32))
#: The first version of WebAssembly, which every browser since 2017 has.
WASM = Processor('wasm', Target('wasm32-unknown-unknown', 'mvp', ''), (FLOAT64, FLOAT32))

PROCESSORS = {each.name: each for each in (CORTEX_M4, CORTEX_M7, WASM)}


def processor(name: str) -> Processor:
    """Return a processor by its name."""
    if name not in PROCESSORS:
        raise UnknownName('target', name, PROCESSORS)
    return PROCESSORS[name]
