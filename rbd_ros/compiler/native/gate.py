# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The call from Python as machine code: checks, allocation and kernel in one built-in function.

``rbd_call`` takes exactly what the kernel takes. It looks at type, element type, shape, layout
and finiteness of every array, makes the results unless ``out`` is given, and runs the kernel.
Its ``self`` is a tuple: the checked Python path, the type of tuple for several results, then
arrays that stand for the last inputs where the caller gives fewer. Whatever it does not recognise
at once it hands, untouched, to the Python path, which converts or raises; so it does where a
result is not finite, for the Python path to explain. ``rbd_bound`` takes nothing, checks nothing
and works on one block of memory; ``rbd_run`` is the same for other machine code. None of them
contains an address of the process; they read them from a table.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler.graph.graph import Argument
from rbd_ros.compiler.native import object_layout
from rbd_ros.compiler.native.instructions import Lanes
from rbd_ros.compiler.native.target import pointer
from rbd_ros.compiler.native.words import Writer

#: Elements whose finiteness is checked without a loop.
_UNROLLED = 64
_LANES = 4
#: Items of ``self`` before the arrays.
_OWN = 2
_TABLE = f'@rbd_table = global [{len(object_layout.TABLE)} x i64] zeroinitializer'


def module(inputs: Sequence[Argument], outputs: Sequence[Argument],
           bound: str = 'rbd_kernel', *, call: bool = True) -> list[str]:
    """
    Return the lines of ``rbd_call`` and ``rbd_bound``, to stand next to ``rbd_kernel``.

    :param inputs: arguments of the kernel.
    :param outputs: its results.
    :param bound: what a bound kernel runs, see ``zeros``.
    :param call: whether there is a ``rbd_call``.
    """
    if not call:
        return [_TABLE, *_bound(inputs, outputs, bound)]
    shapes = {a.shape for a in outputs if a.shape}
    constants = [f'{_shape_name(s)} = private constant [{len(s)} x i64] ['
                 + ', '.join(f'i64 {n}' for n in s) + ']' for s in sorted(shapes)]
    largest = max([a.size for a in (*inputs, *outputs)], default=0)
    loop = _finite_loop() if largest > _UNROLLED else []
    return [_TABLE, *constants, *loop, *_call(inputs, outputs), *_bound(inputs, outputs, bound)]


def _shape_name(shape: tuple[int, ...]) -> str:
    return '@shape.' + '.'.join(map(str, shape))


def _call(inputs: Sequence[Argument], outputs: Sequence[Argument]) -> list[str]:
    w = Writer()
    fixed = w.load('%self', object_layout.TUPLE_SIZE)
    total = w.value(f'add i64 {fixed}, %nargs')
    w.equal(total, str(len(inputs) + _OWN))
    # Item k is at args + 8 k, or among the fixed ones, which begin as if at index nargs.
    back = w.value('mul i64 %nargs, -8')
    own = w.value(f'add i64 %self, {object_layout.TUPLE_ITEMS + 8 * _OWN}')
    base = w.value(f'add i64 {own}, {back}')
    given = []
    for k, argument in enumerate(inputs):
        first = w.value(f'icmp sgt i64 %nargs, {k}')
        item = w.load(w.value(f'select i1 {first}, i64 %args, i64 {base}'), 8 * k)
        given.append(_number(w, item, k) if argument.shape == () else
                     _array(w, item, argument.shape, object_layout.READABLE))
    for argument, data in zip(inputs, given, strict=True):
        _finite(w, data, argument.size)
    w.lines += ['%plain = icmp eq i64 %names, 0',
                'br i1 %plain, label %allocate, label %keyword', 'keyword:']
    item = _keyword_out(w)
    absent = w.value(f'icmp eq i64 {item}, {w.entry("none")}')
    w.lines += [f'br i1 {absent}, label %allocate, label %given', 'allocate:']
    answer, taken = _allocate(w, outputs)
    _run(w, given + taken)
    for argument, data in zip(outputs, taken, strict=True):
        _finite(w, data, argument.size, 'drop')
    w.lines += [f'ret i64 {answer}']
    if outputs:
        w.lines += ['drop:']
        w.call('Py_DecRef', 'void', [('i64', answer)])
        w.lines += ['br label %slow']
    w.lines += ['given:']
    taken = _given_out(w, outputs, item)
    _apart(w, list(zip(given, inputs, strict=True)), list(zip(taken, outputs, strict=True)))
    _run(w, given + taken)
    for argument, data in zip(outputs, taken, strict=True):
        _finite(w, data, argument.size)
    w.call('Py_IncRef', 'void', [('i64', item)])
    w.lines += [f'ret i64 {item}', 'slow:']
    slow = w.load('%self', object_layout.TUPLE_ITEMS)
    result = w.call('PyObject_Vectorcall', 'i64', [
        ('i64', slow), *[('i64', f'%{n}') for n in ('args', 'nargs', 'names')]])
    return ['define i64 @rbd_call(i64 %self, i64 %args, i64 %nargs, i64 %names) nounwind {',
            *w.lines, f'ret i64 {result}', '}']


def _array(w: Writer, item: str, shape: tuple[int, ...], flags: int) -> str:
    """Return the address of the elements of an array that is as it should be."""
    w.equal(w.load(item, object_layout.TYPE), w.entry('ndarray'))
    w.equal(w.load(item, object_layout.DESCR), w.entry('float64'))
    axes = w.load(item, object_layout.NDIM, 'i32')
    have = w.value(f'and i32 {w.load(item, object_layout.FLAGS, "i32")}, {flags}')
    wrong = w.value(f'or i32 {w.value(f"xor i32 {axes}, {len(shape)}")}, '
                    f'{w.value(f"xor i32 {have}, {flags}")}')
    w.require(w.value(f'icmp eq i32 {wrong}, 0'))
    lengths = w.load(item, object_layout.SHAPE) if shape else ''
    for k, length in enumerate(shape):
        w.equal(w.load(lengths, 8 * k), str(length))
    return w.load(item, object_layout.DATA)


def _number(w: Writer, item: str, k: int) -> str:
    """Return the address of a Python float, or of the element of an array without axes."""
    plain = w.value(f'icmp eq i64 {w.load(item, object_layout.TYPE)}, {w.entry("float")}')
    w.lines += [f'br i1 {plain}, label %float{k}, label %array{k}', f'float{k}:']
    inside = w.value(f'add i64 {item}, {object_layout.FLOAT_VALUE}')
    w.lines += [f'br label %number{k}', f'array{k}:']
    data = _array(w, item, (), object_layout.READABLE)
    w.lines += [f'br label %from{k}', f'from{k}:', f'br label %number{k}', f'number{k}:']
    return w.value(f'phi i64 [ {inside}, %float{k} ], [ {data}, %from{k} ]')


def _finite(w: Writer, data: str, size: int, otherwise: str = 'slow') -> None:
    """Go on only if no element is NaN or infinite."""
    if size > _UNROLLED:
        whole = w.value(f'call i1 @finite(i64 {data}, i64 {size})')
        w.require(whole, otherwise)
        return
    masks: dict[int, str] = {}
    start = 0
    for count in (_LANES, 2, 1):
        lanes = Lanes(count)
        while size - start >= count:
            mask = _not_finite(w, lanes, w.value(f'add i64 {data}, {8 * start}'))
            masks[count] = (w.value(f'or {lanes.mask} {masks[count]}, {mask}')
                            if count in masks else mask)
            start += count
    for count, mask in masks.items():
        if count > 1:
            mask = w.value(f'bitcast <{count} x i1> {mask} to i{count}')
        w.require(w.value(f'icmp eq i{count} {mask}, 0'), otherwise)


def _not_finite(w: Writer, lanes: Lanes, place: str) -> str:
    real, kind = lanes.real, pointer(lanes.real)
    x = w.value(f'load {real}, {kind} {w.value(f"inttoptr i64 {place} to {kind}")}, align 8')
    size = w.value(f'call {real} @llvm.fabs.{lanes.suffix}({real} {x})')
    return w.value(f'fcmp ueq {real} {size}, {lanes.constant(float("inf"))}')


def _finite_loop() -> list[str]:
    """Return ``finite(address, count)``; the last vector may overlap the one before."""
    w = Writer()
    last = w.value(f'sub i64 %count, {_LANES}')
    w.lines += ['br label %loop', 'loop:',
                '%k = phi i64 [ 0, %0 ], [ %next, %again ]',
                f'%inside = icmp slt i64 %k, {last}',
                f'%at = select i1 %inside, i64 %k, i64 {last}',
                '%byte = mul i64 %at, 8', '%place = add i64 %data, %byte']
    mask = _not_finite(w, Lanes(_LANES), '%place')
    word = w.value(f'bitcast <{_LANES} x i1> {mask} to i{_LANES}')
    w.require(w.value(f'icmp eq i{_LANES} {word}, 0'), 'bad')
    w.lines += ['br label %again', 'again:', f'%next = add i64 %k, {_LANES}',
                'br i1 %inside, label %loop, label %good',
                'good:', 'ret i1 true', 'bad:', 'ret i1 false']
    return ['define internal i1 @finite(i64 %data, i64 %count) nounwind {', *w.lines, '}']


def _allocate(w: Writer, outputs: Sequence[Argument]) -> tuple[str, list[str]]:
    """Return what the call returns, and the addresses of the new arrays' elements."""
    if len(outputs) == 1:
        array = _new_array(w, outputs[0])
        w.require(w.value(f'icmp ne i64 {array}, 0'), 'failed')
        w.lines += ['br label %made', 'failed:', 'ret i64 0', 'made:']
        return array, [w.load(array, object_layout.DATA)]
    answer = _new_tuple(w, len(outputs))
    w.require(w.value(f'icmp ne i64 {answer}, 0'), 'failed')
    taken = []
    for k, argument in enumerate(outputs):
        array = _new_array(w, argument)
        w.require(w.value(f'icmp ne i64 {array}, 0'), 'release')
        w.call('PyTuple_SetItem', 'i32', [('i64', answer), ('i64', str(k)), ('i64', array)])
        taken.append(w.load(array, object_layout.DATA))
    if outputs:
        w.lines += ['br label %made', 'release:']
        w.call('Py_DecRef', 'void', [('i64', answer)])
        w.lines += ['ret i64 0']
    else:
        w.lines += ['br label %made']
    w.lines += ['failed:', 'ret i64 0', 'made:']
    return answer, taken


def _new_tuple(w: Writer, count: int) -> str:
    """Return a new tuple, of the type that the caller wants."""
    kind = w.load('%self', object_layout.TUPLE_ITEMS + 8)
    plain = w.value(f'icmp eq i64 {kind}, {w.entry("tuple")}')
    w.lines += [f'br i1 {plain}, label %plain_tuple, label %named_tuple', 'plain_tuple:']
    own = w.call('PyTuple_New', 'i64', [('i64', str(count))])
    w.lines += ['br label %tuple', 'named_tuple:']
    named = w.call('PyType_GenericAlloc', 'i64', [('i64', kind), ('i64', str(count))])
    w.lines += ['br label %tuple', 'tuple:']
    return w.value(f'phi i64 [ {own}, %plain_tuple ], [ {named}, %named_tuple ]')


def _new_array(w: Writer, argument: Argument) -> str:
    kind = w.entry('float64')
    w.call('Py_IncRef', 'void', [('i64', kind)])  # the new array takes a reference
    n = len(argument.shape)
    lengths = '0'
    if n:
        lengths = w.value(f'ptrtoint {pointer(f"[{n} x i64]")} {_shape_name(argument.shape)} '
                          'to i64')
    return w.call('PyArray_NewFromDescr', 'i64', [
        ('i64', w.entry('ndarray')), ('i64', kind), ('i32', str(n)), ('i64', lengths),
        ('i64', '0'), ('i64', '0'), ('i32', '0'), ('i64', '0')])


def _keyword_out(w: Writer) -> str:
    """Return the value of the keyword ``out``, which must be the only one."""
    w.equal(w.load('%names', object_layout.TUPLE_SIZE), '1')
    w.equal(w.load('%names', object_layout.TUPLE_ITEMS), w.entry('out'))
    return w.load(w.value(f'add i64 %args, {w.value("mul i64 %nargs, 8")}'), 0)


def _given_out(w: Writer, outputs: Sequence[Argument], item: str) -> list[str]:
    """Return the addresses of the elements of the arrays in ``out``."""
    flags = object_layout.READABLE | object_layout.WRITEABLE
    if len(outputs) == 1:
        return [_array(w, item, outputs[0].shape, flags)]
    w.equal(w.load(item, object_layout.TYPE), w.entry('tuple'))
    w.equal(w.load(item, object_layout.TUPLE_SIZE), str(len(outputs)))
    return [_array(w, w.load(item, object_layout.TUPLE_ITEMS + 8 * k), a.shape, flags)
            for k, a in enumerate(outputs)]


def _apart(w: Writer, given: Sequence[tuple[str, Argument]],
           taken: Sequence[tuple[str, Argument]]) -> None:
    """Go on only if no output lies over an input: the Python path may have to read it again."""
    for target, output in taken:
        for source, argument in given:
            above = w.value(f'sub i64 {target}, {source}')
            below = w.value(f'sub i64 {source}, {target}')
            clear = [w.value(f'icmp sge i64 {distance}, {8 * size}')
                     for distance, size in ((above, argument.size), (below, output.size))]
            w.require(w.value(f'or i1 {clear[0]}, {clear[1]}'))


def _run(w: Writer, places: Sequence[str], kernel: str = 'rbd_kernel') -> None:
    real = pointer('double')
    pointers = [w.value(f'inttoptr i64 {place} to {real}') for place in places]
    w.lines.append(f'call void @{kernel}({", ".join(f"{real} {p}" for p in pointers)})')


def offsets(arguments: Sequence[Argument]) -> tuple[list[int], int]:
    """Return where each array starts in a bound block, and its length, all in elements."""
    starts, total = [], 0
    for argument in arguments:
        starts.append(total)
        total += -(-argument.size // 8) * 8  # each array begins a cache line
    return starts, total


def _bound(inputs: Sequence[Argument], outputs: Sequence[Argument], kernel: str) -> list[str]:
    """
    Return the function whose ``self`` is the array that holds all buffers.

    Procedures call ``rbd_run`` instead, with the address of the buffers.
    """
    own = Writer()
    _run(own, [own.value(f'add i64 %block, {8 * k}') for k in offsets([*inputs, *outputs])[0]],
         kernel)
    w = Writer()
    w.value(f'call i64 @rbd_run(i64 {w.load("%self", object_layout.DATA)})')
    return ['define i64 @rbd_run(i64 %block) nounwind {', *own.lines, 'ret i64 0', '}',
            *_without_arguments(w)]


def table_module() -> list[str]:
    """
    Return the lines of ``rbd_bound`` next to ``rbd_procedure``, whose table is ``self``.

    Procedures call ``rbd_run`` instead, with the address of the table, as they call kernels.
    """
    w = Writer()
    word = pointer('i64')
    table = w.value(f'inttoptr i64 {w.load("%self", object_layout.DATA)} to {word}')
    w.lines.append(f'call void @rbd_procedure({word} {table})')
    return [_TABLE, 'define i64 @rbd_run(i64 %given) nounwind {',
            f'%table = inttoptr i64 %given to {word}',
            f'call void @rbd_procedure({word} %table)', 'ret i64 0', '}', *_without_arguments(w)]


def _without_arguments(w: Writer) -> list[str]:
    """Return a built-in function that returns None."""
    none = w.entry('none')
    w.call('Py_IncRef', 'void', [('i64', none)])
    return ['define i64 @rbd_bound(i64 %self, i64 %unused) nounwind {', *w.lines,
            f'ret i64 {none}', '}']
