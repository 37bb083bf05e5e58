# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What the machine-code gate knows about objects of CPython and NumPy; nothing else does.

The gate reads the fields of an array without asking NumPy, because the documented ways cost more
than a whole kernel. The offsets below hold for CPython 3.8 to 3.13 with its lock (a build without
one has a larger object header) and for NumPy 1.x and 2.x, whose C interface freezes them. CPython
3.14 moved the items of a tuple, which are therefore where the type itself says. ``verified`` looks
at known objects once per process; where anything differs, it says so once in the log, no gate is
made, and calls take the portable slow path.
"""

from __future__ import annotations

from collections.abc import Callable
import ctypes
from functools import cache
import logging
import platform
import sys
import sysconfig
from typing import Any

import numpy as np

#: struct _object: ob_refcnt, ob_type.
TYPE = 8
#: PyFloatObject: the number.
FLOAT_VALUE = 16
#: PyTupleObject: number of items, first item (24; 32 since 3.14, which keeps a hash before it).
TUPLE_SIZE, TUPLE_ITEMS = 16, tuple.__basicsize__
#: PyArrayObject: pointer to the elements, number of axes (int), lengths, type of the elements,
#: flags (int).
DATA, NDIM, SHAPE, DESCR, FLAGS = 16, 24, 32, 56, 64
#: NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, and NPY_ARRAY_WRITEABLE.
READABLE, WRITEABLE = 0x0001 | 0x0100, 0x0400

#: METH_FASTCALL | METH_KEYWORDS and METH_NOARGS.
FASTCALL, NOARGS = 0x0080 | 0x0002, 0x0004

#: Positions in NumPy's table of functions, and the two versions of its binary interface that
#: have them there.
_GET_C_VERSION, _NEW_FROM_DESCR = 0, 94
C_VERSIONS = (0x01000009, 0x02000000)

#: Addresses of this process that the gate reads from a table, by position; code on disk must not
#: contain them.
TABLE = ('ndarray', 'float64', 'float', 'tuple', 'out', 'none', 'PyArray_NewFromDescr',
         'PyObject_Vectorcall', 'Py_IncRef', 'Py_DecRef', 'PyTuple_New', 'PyTuple_SetItem',
         'PyType_GenericAlloc')
_OUT = sys.intern('out')
_FLOAT64 = np.dtype(np.float64)
_NONE = None
_log = logging.getLogger('rbd_ros')


class MethodDef(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [('ml_name', ctypes.c_char_p), ('ml_meth', ctypes.c_void_p),
                ('ml_flags', ctypes.c_int), ('ml_doc', ctypes.c_char_p)]


def make_function(definition: int, owner: object) -> Callable[..., Any]:
    """
    Return a built-in function.

    :param definition: address of a ``MethodDef``, which must live as long as the function.
    :param owner: what the machine code gets as ``self``; must keep that code alive.
    """
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    new = prototype(('PyCFunction_NewEx', ctypes.pythonapi))
    return new(definition, owner, None)


def _numpy_table() -> ctypes.Array[Any]:
    """Return NumPy's table of C functions."""
    core = np._core if hasattr(np, '_core') else np.core
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ('PyCapsule_GetPointer', ctypes.pythonapi))
    address = get(core._multiarray_umath._ARRAY_API, None)
    return (ctypes.c_void_p * (_NEW_FROM_DESCR + 1)).from_address(address)


@cache
def table() -> tuple[int, ...]:
    """Return the addresses named by TABLE."""
    objects = [np.ndarray, _FLOAT64, float, tuple, _OUT, _NONE]
    calls = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
             for name in TABLE[7:]]
    return (*map(id, objects), _numpy_table()[_NEW_FROM_DESCR], *calls)


@cache
def verified() -> bool:
    """Return whether objects look as this module says; says once in the log if they do not."""
    reason = _difference()
    if reason:
        _log.warning(
            'calls of compiled kernels take the slow path, a few microseconds longer each: '
            '%s (%s %s, NumPy %s)', reason,
            platform.python_implementation(), platform.python_version(), np.__version__)
    return not reason


def _difference() -> str:
    """Return what is not as this module says, '' if all is."""
    if platform.python_implementation() != 'CPython' or ctypes.sizeof(ctypes.c_void_p) != 8:
        return 'this is not a 64-bit CPython'
    if sysconfig.get_config_var('Py_GIL_DISABLED') or sys.byteorder != 'little':
        return 'this Python has no global lock, or the processor is big-endian'
    if np.ndarray.__basicsize__ < FLAGS + 4 or float.__basicsize__ < FLOAT_VALUE + 8:
        return 'arrays or floats are smaller than expected'
    missing = [name for name in TABLE[7:] if not hasattr(ctypes.pythonapi, name)]
    if missing:     # Python 3.10 has some as macros only
        return f'this Python has no function {missing[0]}'
    try:
        for name, check in (('floats or tuples', _scalars_verified), ('arrays', _arrays_verified),
                            ('new arrays', _allocation_verified)):
            if not check():
                return f'{name} are laid out in another way than expected'
    except (AttributeError, ValueError, TypeError) as error:
        return f'objects cannot be examined: {error}'
    return ''


def _word(owner: object, offset: int) -> int:
    return ctypes.c_uint64.from_address(id(owner) + offset).value


def _half(owner: object, offset: int) -> int:
    return ctypes.c_int.from_address(id(owner) + offset).value


def _scalars_verified() -> bool:
    number, pair = 0.1 + len(TABLE), (_FLOAT64, _OUT)
    return (_word(number, TYPE) == id(float)
            and ctypes.c_double.from_address(id(number) + FLOAT_VALUE).value == number
            and _word(pair, TYPE) == id(tuple) and _word(pair, TUPLE_SIZE) == 2
            and _word(pair, TUPLE_ITEMS) == id(_FLOAT64)
            and _word(pair, TUPLE_ITEMS + 8) == id(_OUT))


def _arrays_verified() -> bool:
    plain = np.arange(6.0).reshape(2, 3)
    locked = np.arange(6.0).reshape(2, 3)
    locked.flags.writeable = False
    strided, swapped = np.arange(12.0).reshape(2, 6)[:, ::2], plain.astype('>f8')
    raw = np.zeros(49, np.uint8)
    offset = 1 if raw.ctypes.data % 8 == 0 else 0
    skew = raw[offset:offset + 48].view(np.float64).reshape(2, 3)
    expected = ((plain, True, True), (locked, True, False), (strided, False, True),
                (skew, False, True))
    for array, readable, writeable in expected:
        flags = _half(array, FLAGS)
        shape = _word(array, SHAPE)
        if (_word(array, TYPE) != id(np.ndarray) or _word(array, DATA) != array.ctypes.data
                or _half(array, NDIM) != 2
                or list((ctypes.c_int64 * 2).from_address(shape)) != [2, 3]
                or _word(array, DESCR) != id(_FLOAT64)
                or (flags & READABLE == READABLE) != readable
                or (flags & WRITEABLE == WRITEABLE) != writeable):
            return False
    return _word(swapped, DESCR) != id(_FLOAT64)


def _allocation_verified() -> bool:
    functions = _numpy_table()
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(functions[_GET_C_VERSION])
    if version() not in C_VERSIONS:
        return False
    pointer = ctypes.c_void_p
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int,
                            pointer, pointer, pointer, ctypes.c_int, pointer)(
        functions[_NEW_FROM_DESCR])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_FLOAT64))  # the function takes one for itself
    array = new(np.ndarray, _FLOAT64, 2, (ctypes.c_int64 * 2)(2, 3), None, None, 0, None)
    return (type(array) is np.ndarray and array.shape == (2, 3) and array.dtype is _FLOAT64
            and array.flags.owndata and array.flags.carray)
