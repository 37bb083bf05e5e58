# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The processor that code is made for, and the memory it is loaded into."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import ctypes
from functools import cache
import itertools
import time
from types import ModuleType
from typing import NamedTuple, TYPE_CHECKING
import weakref

from rbd_ros.compiler.ir import LIBRARY

if TYPE_CHECKING:
    from llvmlite.binding import ExecutionEngine, TargetMachine


@cache
def binding() -> ModuleType:
    """
    Return llvmlite's binding, ready to make code for this processor.

    :raises ImportError: if llvmlite is not installed or does not load.
    """
    try:
        import llvmlite.binding as module
        if module.llvm_version_info[0] < 20:  # later ones do it on import and refuse the call
            module.initialize()
        module.initialize_native_target()
        module.initialize_native_asmprinter()
    except (OSError, RuntimeError, AttributeError) as error:
        raise ImportError(f'llvmlite does not load: {error}') from error
    return module


def pointer(target: str) -> str:
    """Return the type of a pointer to a type; LLVM before 16 has no plain ``ptr``."""
    return 'ptr' if binding().llvm_version_info[0] >= 16 else f'{target}*'


class Processor(NamedTuple):
    """
    What code is made for.

    :param triple: architecture and operating system.
    :param cpu: name of the processor, '' for a generic one.
    :param features: what it can do, in LLVM's notation.
    """

    triple: str
    cpu: str
    features: str

    @property
    def lanes(self) -> int:
        """Return how many doubles its vector registers hold."""
        have = self.features.split(',')
        if self.triple.startswith('x86_64'):
            return 8 if '+avx512f' in have else 4 if '+avx' in have else 2
        return 2

    def emit(self, text: str, opt: int = 2) -> bytes:
        """
        Return the object code of a module.

        No pass over the intermediate form is run: the graph is simplified already, and the
        passes would cost more time than the code generator.

        :param text: LLVM assembly.
        :param opt: effort of the code generator.
        """
        module = binding().parse_assembly(text, binding().create_context())
        return self._machine(opt).emit_object(module)

    def _machine(self, opt: int) -> TargetMachine:
        return binding().Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=opt, reloc='default',
            codemodel='jitdefault')


@cache
def host() -> Processor:
    """Return this machine's processor."""
    llvm = binding()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # llvmlite knows none for this architecture
        features = ''
    return Processor(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


@cache
def _register_library() -> None:
    """Tell LLVM where the C library's functions are; python may be linked without them."""
    try:
        library = ctypes.CDLL('libm.so.6')
    except OSError:
        library = ctypes.CDLL(None)
    for name in LIBRARY:
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        binding().add_symbol(name, address)


#: Engines in use, by number. A kernel and its built-in function refer to each other, so the
#: garbage collector frees them, in any order, and other finalisers may still call them: the code
#: must not be among the garbage.
_engines: dict[int, ExecutionEngine] = {}
_numbers = itertools.count()
#: Engines of dead code with the time of death; the memory is freed when the next code is loaded.
_retired: deque[tuple[float, ExecutionEngine]] = deque()
_MOURNING = 30.0


def _retire(number: int) -> None:
    _retired.append((time.monotonic(), _engines.pop(number)))


class Code:
    """
    Object code loaded into this process; it stays at least as long as this object does.

    :param objects: what ``Processor.emit`` gave.
    """

    def __init__(self, objects: Sequence[bytes]) -> None:
        llvm = binding()
        _register_library()
        while _retired and _retired[0][0] < time.monotonic() - _MOURNING:
            _retired.popleft()
        # llvmlite chooses the memory manager: its own on aarch64, where sections far apart
        # would be out of reach of each other.
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(''), host()._machine(2))
        for data in objects:
            engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        self._number = next(_numbers)
        _engines[self._number] = engine
        weakref.finalize(self, _retire, self._number).atexit = False

    def address(self, name: str) -> int:
        """Return where a function is."""
        return _engines[self._number].get_function_address(name)

    def write(self, name: str, values: Sequence[int]) -> None:
        """Fill a table of addresses that the code reads."""
        table = (ctypes.c_uint64 * len(values))(*values)
        place = _engines[self._number].get_global_value_address(name)
        ctypes.memmove(place, table, ctypes.sizeof(table))
