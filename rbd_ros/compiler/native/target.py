# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What code is made for: a processor by name and features; and all that code depends on."""

from __future__ import annotations

import enum
from functools import cache
import os
from types import ModuleType
from typing import NamedTuple, TYPE_CHECKING

from rbd_ros.compiler.native import cache as disk, object_layout
from rbd_ros.compiler.scalar import scalar_type, ScalarType
from rbd_ros.compiler.source_digest import source_digest

if TYPE_CHECKING:
    from llvmlite.binding import ModulePassManager, ModuleRef, PassBuilder, TargetMachine

#: What instructions are ordered for on an aarch64 processor that LLVM does not know. LLVM itself
#: would take a small one that runs them in order, and spill a third more values. This one has the
#: first instruction set, and extensions that no kernel uses.
_AARCH64 = 'cortex-a72'
#: Environment variable; ``quick`` leaves instructions in the order in which they are written, and
#: looks for registers one instruction at a time. The instructions that compute are the same, and
#: so is every result: LLVM takes a quarter of the time, and kernels of thousands of operations are
#: up to twice as slow. Read when the first kernel of a process is compiled.
VARIABLE = 'RBD_ROS_COMPILE'
#: what decides which machine code a graph or a procedure becomes
_SOURCES = ('rbd_ros.compiler.scalar', 'rbd_ros.compiler.graph', 'rbd_ros.compiler.native',
            'rbd_ros.compiler.language', 'rbd_ros.compiler.records')
#: what ``quick`` tells LLVM
_QUICK = ('-enable-misched=false', '-enable-post-misched=false', '-optimize-regalloc=false')


@cache
def quick() -> bool:
    """Return whether code is to be made in less time, though it takes more to run."""
    return os.environ.get(VARIABLE, '').strip().lower() == 'quick'


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
        if quick():
            for option in _QUICK:
                module.set_option('rbd_ros', option)
    except (OSError, RuntimeError, AttributeError) as error:
        raise ImportError(f'llvmlite does not load: {error}; install it again (pip install '
                          "--force-reinstall llvmlite), or use backend='python'") from error
    _fork_outside(module)
    return module


def _fork_outside(module: ModuleType) -> None:
    """
    Let a fork wait until no thread is inside LLVM: a child could not end what one has begun.

    A call makes one part of a kernel at most, which takes tenths of a second.
    """
    lock = getattr(module.ffi.lib, '_lock', None)
    if lock is None or not hasattr(os, 'register_at_fork'):
        return

    def leave() -> None:
        lock.__exit__(None, None, None)
    os.register_at_fork(before=lock.__enter__, after_in_parent=leave, after_in_child=leave)


def pointer(target: str) -> str:
    """Return the type of a pointer to a type; LLVM before 16 has no plain ``ptr``."""
    return 'ptr' if binding().llvm_version_info[0] >= 16 else f'{target}*'


class Passes(enum.Enum):
    """
    Which of LLVM's passes run over the intermediate form of procedures.

    ``FEW`` make registers of places on the stack, inline what is short and remove what is useless:
    code of decisions, such as a controller, needs a seventh of the time and is as fast. ``MANY``
    work on loops, too.
    """

    FEW = enum.auto()
    MANY = enum.auto()


#: in the order in which they run; llvmlite has them since its version 0.45
_FEW = ('always_inliner', 'sroa', 'simplify_cfg', 'instruction_combine')


def _pass_manager(builder: PassBuilder, passes: Passes) -> ModulePassManager:
    """Return what runs passes."""
    manager = binding().create_new_module_pass_manager()
    if passes is Passes.MANY or not hasattr(manager, 'add_sroa_pass'):
        return builder.getModulePassManager()
    for name in _FEW:
        getattr(manager, f'add_{name}_pass')()
    return manager


def _improve(module: ModuleRef, machine: TargetMachine, passes: Passes) -> None:
    """Run passes over a module."""
    # A higher level takes half as long again, and gains a hundredth.
    options = binding().create_pipeline_tuning_options(speed_level=1)
    builder = binding().create_pass_builder(machine, options)
    _pass_manager(builder, passes).run(module, builder)


class Target(NamedTuple):
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

    @property
    def table(self) -> bool:
        """Return whether constants are best loaded from a table, see ``constant_table``."""
        return not self.triple.startswith('x86_64')

    def width(self, scalar: ScalarType) -> int:
        """Return how many numbers of a type its vector registers hold."""
        return self.lanes * 8 // scalar.size

    def check_runs_here(self) -> None:
        """
        Refuse a target whose code this process cannot run.

        :raises ValueError: for another architecture, or features that this processor lacks.
        """
        here = host()
        wanted = {word for word in self.features.split(',') if word.startswith('+')}
        missing = sorted(wanted - set(here.features.split(',')))
        architectures = [target.triple.partition('-')[0] for target in (self, here)]
        if architectures[0] != architectures[1] or missing:
            lacks = ' '.join(missing) or f'{architectures[0]}, it is {architectures[1]}'
            raise ValueError(f'code for {self.triple} {self.cpu} does not run on this processor '
                             f'(no {lacks}); use emit_objects to make it for another one')

    def emit(self, text: str, opt: int = 2, *, passes: Passes | None = None,
             procedures: str = '') -> bytes:
        """
        Return the object code of a module.

        :param text: LLVM assembly.
        :param opt: effort of the code generator.
        :param passes: over the intermediate form. Of a graph they would cost more time than the
            code generator: it is simplified already.
        :param procedures: another module, to be joined, over which few passes run.
        """
        llvm, machine = binding(), self.machine(opt)
        context = llvm.create_context()
        module = llvm.parse_assembly(text, context)
        if passes is not None:
            _improve(module, machine, passes)
        if procedures:
            other = llvm.parse_assembly(procedures, context)
            _improve(other, machine, Passes.FEW)
            module.link_in(other)
        return machine.emit_object(module)

    def machine(self, opt: int) -> TargetMachine:
        """Return LLVM's own description of the target."""
        if self != host():
            _know_all_targets()
        return binding().Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=opt, reloc='default',
            codemodel='jitdefault')


@cache
def _know_all_targets() -> None:
    """Make LLVM ready to emit code for processors other than this one."""
    binding().initialize_all_targets()
    binding().initialize_all_asmprinters()


@cache
def host() -> Target:
    """Return this machine's processor."""
    llvm = binding()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # llvmlite knows none for this architecture
        features = ''
    triple, cpu = llvm.get_process_triple(), llvm.get_host_cpu_name()
    if triple.startswith('aarch64') and cpu in ('', 'generic'):
        cpu = _AARCH64
    return Target(triple, cpu, features)


class Options(NamedTuple):
    """
    What machine code is made of and for.

    :param scalar: type of all numbers.
    :param target: the processor.
    :param call: whether the checked call is machine code too.
    """

    scalar: ScalarType
    target: Target
    call: bool = True

    @classmethod
    def of(cls, scalar: str | ScalarType, target: Target | None, call: bool = True) -> Options:
        """Return options from what a caller gives; None is this machine's processor."""
        return cls(scalar_type(scalar), target or host(), call)


@cache
def circumstances(options: Options) -> str:
    """Return a digest of what object code depends on besides its source, '' if unknown."""
    import llvmlite
    try:
        own = source_digest(*_SOURCES)
    except ImportError as error:
        disk.explain('for this installation', str(error))
        return ''
    return disk.digest([llvmlite.__version__, binding().llvm_version_info, *options.target,
                        options.scalar.name, options.call, quick(),
                        object_layout.TABLE, object_layout.TUPLE_ITEMS, own])
