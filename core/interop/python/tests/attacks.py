#!/usr/bin/env python3
"""Hostile producers in Python: exchange tables, capsules and Arrow structures that lie. Each is refused, or taken, and gives back once.

    attacks.py --module FOLDER

On the simulator, whose memory is the host's. The twins at the end plant a producer's mistake and want the count to show it.
"""

import argparse
import ctypes
import gc
import sys
import threading
from ctypes import POINTER, PYFUNCTYPE, Structure, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, py_object
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from asked import ask, refused

api = ctypes.pythonapi
api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = c_void_p, [py_object, c_char_p]
api.PyCapsule_SetName.argtypes = [py_object, c_char_p]
api.PyErr_SetString.argtypes = [py_object, c_char_p]


class Tensor(Structure):
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8),
        ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64),
    ]


class Managed(Structure):
    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p), ("flags", c_uint64), ("tensor", Tensor),
    ]


class Table(Structure):
    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("previous", c_void_p), ("allocate", c_void_p), ("export", c_void_p),
        ("import_", c_void_p), ("borrow", c_void_p), ("stream", c_void_p),
    ]


class ArrowSchema(Structure):
    _fields_ = [
        ("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64), ("n_children", c_int64),
        ("children", c_void_p), ("dictionary", c_void_p), ("release", c_void_p), ("private", c_void_p),
    ]


class ArrowArray(Structure):
    _fields_ = [
        ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
        ("buffers", POINTER(c_void_p)), ("children", c_void_p), ("dictionary", c_void_p), ("release", c_void_p), ("private", c_void_p),
        ("device_id", c_int64), ("device_type", c_int32), ("sync_event", c_void_p), ("reserved", c_int64 * 3),
    ]


Delete = PYFUNCTYPE(None, c_void_p)
Export = PYFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))
Stream = PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))
KEPT = []  # what C code may still lead to


def pointer(function):
    KEPT.append(function)
    return ctypes.cast(function, c_void_p).value


class Producer:
    """Structures in a NumPy array's memory, and how often each was given back."""

    def __init__(self, **lies):
        self.memory, self.deleted, self.exported, self.threads = np.arange(12, dtype=np.float32), 0, 0, set()
        self.lies = lies

    def structure(self):
        self.exported += 1
        shape, strides = (c_int64 * 2)(3, 4), (c_int64 * 2)(4, 1)
        managed = Managed(1, 3, None, None, 0, Tensor(self.memory.ctypes.data, 1, 0, 2, 2, 32, 1, shape, strides, 0))
        managed.deleter = pointer(Delete(self.delete))
        for field, value in self.lies.items():
            setattr(managed.tensor if hasattr(managed.tensor, field) else managed, field, value)
        KEPT.append((managed, shape, strides))
        return managed

    def delete(self, structure):
        self.deleted += 1
        self.threads.add(threading.get_ident())

    def capsule(self, name=b"dltensor_versioned"):
        KEPT.append(name)
        return api.PyCapsule_New(ctypes.addressof(self.structure()), name, None)


class ByCapsule:
    def __init__(self, producer):
        self.producer = producer

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        return self.producer.capsule()


def export_of(producer):
    def export(thing, out):
        out[0] = ctypes.addressof(producer.structure())
        return 0

    return Export(export)


def class_of(table, name=b"dlpack_exchange_api"):
    """A new class whose objects have this table, and no other interface."""
    KEPT.extend([table, name])
    return type("Shown", (), {"__dlpack_c_exchange_api__": api.PyCapsule_New(ctypes.addressof(table), name, None)})


def table_of(producer, **lies):
    table = Table(1, 3, None, None, pointer(export_of(producer)), None, None, pointer(Stream(lambda kind, number, out: 0)))
    for field, value in lies.items():
        setattr(table, field, value)
    return table


def once(producer, what):
    gc.collect()
    assert producer.deleted == producer.exported == 1, f"{what}: {producer.exported} out, {producer.deleted} given back"


LIES = [
    {"major": 2}, {"major": 0}, {"device_type": 2}, {"device_type": -5}, {"ndim": -1}, {"ndim": 65}, {"lanes": 2}, {"lanes": 0},
    {"code": 3}, {"bits": 4}, {"data": None}, {"byte_offset": 2}, {"byte_offset": 2**64 - 1}, {"shape": (c_int64 * 2)(-1, 4)},
    {"shape": (c_int64 * 2)(2**62, 2**62)}, {"strides": (c_int64 * 2)(2**62, 1)}, {"strides": (c_int64 * 2)(1, 1)}, {"shape": None},
]


class Attacks:
    def __init__(self, module):
        self.module = module

    def a_table_is_taken_and_gives_back_once(self):
        producer = Producer()
        array = self.module.asarray(class_of(table_of(producer))())
        assert array.ptr == producer.memory.ctypes.data and array.shape == (3, 4) and producer.deleted == 0
        assert np.from_dlpack(array).tolist() == producer.memory.reshape(3, 4).tolist()
        del array
        once(producer, "by the table")

    def every_lie_of_a_structure_is_refused_and_given_back_once(self):
        for lie in LIES:
            for show in (lambda producer: class_of(table_of(producer))(), ByCapsule):
                producer = Producer(**lie)
                refused((BufferError, ValueError, RuntimeError), lambda: self.module.asarray(show(producer)))
                once(producer, lie)

    def a_table_that_fails_says_why(self):
        # A C function of this signature, which refuses the object and sets its exception.
        table = table_of(Producer(), export=ctypes.cast(api.PyObject_GetBuffer, c_void_p).value)
        assert "bytes-like object is required" in refused(TypeError, lambda: self.module.asarray(class_of(table)()))

    def a_table_that_fails_without_a_word_is_an_error(self):
        table = table_of(Producer(), export=pointer(Export(lambda thing, out: -1)))
        assert "without a word" in refused(BufferError, lambda: self.module.asarray(class_of(table)()))

    def a_table_that_answers_nothing_is_refused(self):
        table = table_of(Producer(), export=pointer(Export(lambda thing, out: 0)))
        assert "no tensor" in refused(BufferError, lambda: self.module.asarray(class_of(table)()))

    def a_table_without_functions_or_of_another_version_is_none(self):
        for lie in ({"export": None}, {"stream": None}, {"major": 0}, {"major": 2}, {"major": 2**32 - 1}):
            producer = Producer()
            refused(TypeError, lambda: self.module.asarray(class_of(table_of(producer, **lie))()))
            assert producer.exported == 0, lie

    def an_earlier_table_is_found_behind_a_later_one(self):
        producer = Producer()
        earlier = table_of(producer)
        later = table_of(Producer(), major=2, previous=ctypes.addressof(earlier))
        KEPT.append(earlier)
        assert self.module.asarray(class_of(later)()).shape == (3, 4)
        once(producer, "behind another")

    def a_chain_of_tables_that_leads_back_ends(self):
        table = table_of(Producer(), major=2)
        table.previous = ctypes.addressof(table)
        refused(TypeError, lambda: self.module.asarray(class_of(table)()))

    def what_is_no_capsule_of_a_table_is_none(self):
        producer = Producer()
        for shown in (class_of(table_of(producer), b"another name"), type("Shown", (), {"__dlpack_c_exchange_api__": 3})):
            refused(TypeError, lambda: self.module.asarray(shown()))
        assert producer.exported == 0

    def a_class_is_looked_up_once_and_many_classes_are_not_kept(self):
        shown, producers = [], []
        for _ in range(40):
            producers.append(Producer())
            shown.append(class_of(table_of(producers[-1]))())
        for _ in range(2):
            for thing in shown:
                self.module.asarray(thing)
        assert [(p.exported, p.deleted) for p in producers] == [(2, 2)] * 40
        import weakref

        classes = [weakref.ref(type(thing)) for thing in shown]
        del shown, thing
        gc.collect()
        assert sum(kept() is not None for kept in classes) <= 16

    def a_capsule_that_was_used_is_not_taken_again(self):
        producer = Producer()
        capsule = producer.capsule()
        thing = ByCapsule(producer)
        thing.__class__ = type("Again", (ByCapsule,), {"__dlpack__": lambda self, **keywords: capsule})
        self.module.asarray(thing)
        refused(BufferError, lambda: self.module.asarray(thing))
        once(producer, "twice the same")

    def the_last_array_may_go_on_another_thread(self):
        producer = Producer()
        arrays = [self.module.asarray(class_of(table_of(producer))())]
        arrays += [arrays[0].T, arrays[0].flip(0), np.from_dlpack(arrays[0])]
        threads = [threading.Thread(target=lambda: arrays.pop()) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.module.live()
        once(producer, "on other threads")
        assert threading.get_ident() not in producer.threads

    def an_exception_between_gives_back_once(self):
        producer = Producer()

        def broken():
            array = self.module.asarray(class_of(table_of(producer))())
            taken = np.from_dlpack(array)
            raise ZeroDivisionError(taken.shape)

        refused(ZeroDivisionError, broken)
        self.module.live()
        once(producer, "an exception")

    def work_in_flight_keeps_the_memory(self):
        producer = Producer()
        array = self.module.asarray(class_of(table_of(producer))())
        sums = [self.module.centre(array) for _ in range(3)]
        del array
        self.module.live()
        self.module.asarray(np.zeros(3, np.float32))  # whoever comes by next lets owners go
        once(producer, "after its work")
        assert abs(np.from_dlpack(sums[0])).max() == 5.5

    def arrow(self, **lies):
        """A column of three by hand, and how often its array and its schema were released."""
        memory, released = np.arange(5, dtype=np.int32), {"array": 0, "schema": 0}
        buffers = (c_void_p * 2)(None, memory.ctypes.data)
        schema, array = ArrowSchema(format=b"i"), ArrowArray(3, 0, 1, 2, 0, buffers, device_id=-1, device_type=1)

        def release(structure, name):
            released[name] += 1
            structure.release = None

        # The structure may have been moved, so the one that is told is marked.
        release_schema = Delete(lambda at: release(ArrowSchema.from_address(at), "schema"))
        release_array = Delete(lambda at: release(ArrowArray.from_address(at), "array"))
        schema.release, array.release = pointer(release_schema), pointer(release_array)
        for field, value in lies.items():
            setattr(schema if field == "format" else array, field, value)
        KEPT.append((memory, buffers, schema, array))
        capsules = (
            api.PyCapsule_New(ctypes.addressof(schema), b"arrow_schema", None),
            api.PyCapsule_New(ctypes.addressof(array), b"arrow_device_array", None),
        )
        shown = type("Column", (), {"__arrow_c_device_array__": lambda self, requested_schema=None, **keywords: capsules})()
        return shown, released, memory

    def an_arrow_column_is_released_once(self):
        event = (c_void_p * 1)(None)  # leads to no event; memory of the host has none
        KEPT.append(event)
        for lie in ({}, {"sync_event": ctypes.addressof(event)}):
            shown, released, memory = self.arrow(**lie)
            array = self.module.asarray(shown)
            assert array.readonly and array.ptr == memory.ctypes.data + 4 and released["array"] == 0
            assert np.from_dlpack(array).tolist() == [1, 2, 3]
            del array
            gc.collect()
            assert released == {"array": 1, "schema": 1}

    def every_lie_of_an_arrow_column_is_refused_and_released_once(self):
        lies = [
            {"length": -1}, {"length": 2**63 - 1}, {"offset": -1}, {"offset": 2**63 - 1}, {"null_count": 1}, {"n_buffers": 3},
            {"n_buffers": 0}, {"n_children": 1}, {"buffers": None}, {"device_type": 2}, {"device_type": -1}, {"format": b"+s"},
            {"format": b""}, {"format": None}, {"format": b"\xff\xfe"},
        ]
        for lie in lies:
            shown, released, _ = self.arrow(**lie)
            refused((BufferError, ValueError, RuntimeError), lambda: self.module.asarray(shown))
            assert released == {"array": 1, "schema": 1}, (lie, released)

    def a_released_arrow_column_is_refused_and_not_released_again(self):
        shown, released, _ = self.arrow(release=None)
        refused(BufferError, lambda: self.module.asarray(shown))
        assert released["array"] == 0

    def what_keeps_memory_is_let_go_by_a_deleter_with_the_interpreter_or_by_the_next_call(self):
        import weakref

        memory, used = np.arange(4, dtype=np.float32), b"used_dltensor_versioned"
        KEPT.append(used)
        for function, is_attached in ((PYFUNCTYPE, True), (ctypes.CFUNCTYPE, False)):
            shown = type("Shown", (), {"__array_interface__": memory.__array_interface__})()
            capsule = self.module.asarray(shown).__dlpack__(max_version=(1, 0))
            structure = api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
            api.PyCapsule_SetName(capsule, used)
            kept = weakref.ref(shown)
            del shown, capsule
            assert kept() is not None
            function(None, c_void_p)(Managed.from_address(structure).deleter)(structure)
            assert (kept() is None) == (is_attached and sys.version_info >= (3, 12)), function
            self.module.live()
            assert kept() is None

    def only_an_array_of_cupys_own_class_is_read_without_its_dictionary(self):
        asked, said = [], {"shape": (2,), "typestr": "<f4", "data": (4096, False), "strides": None, "stream": 1, "version": 3}

        class Pointer:
            __slots__ = ("ptr", "device_id")

        class Array:
            __slots__ = ("data", "dtype", "shape", "strides", "_c_contiguous")

            def __init__(self, shape=(2,), dtype="<f4", strides=(4,), data=Pointer, device_id=0, c_contiguous=False):
                self.shape, self.dtype, self.strides, self._c_contiguous, self.data = shape, np.dtype(dtype), strides, c_contiguous, data()
                self.data.ptr, self.data.device_id = 4096, device_id

            @property
            def __cuda_array_interface__(self):
                asked.append(type(self))
                return said

        classes = [type("ndarray", (Array,), {"__module__": "cupy"}) for _ in range(2)]
        classes.append(type("ndarray", (classes[0],), {"__module__": "mine"}))
        stream, streams_of = SimpleNamespace(ptr=0), []
        cuda = SimpleNamespace(MemoryPointer=Pointer, get_current_stream=lambda device_id=-1: streams_of.append(device_id) or stream)
        sys.modules["cupy"] = SimpleNamespace(ndarray=classes[0], cuda=cuda)
        # The simulator takes no memory of a CUDA device, whoever says that it is there.
        take = lambda shown: refused(BufferError, lambda: self.module.asarray(shown))
        [take(shown) for shown in (classes[0](), classes[0](c_contiguous=True, strides=None, device_id=1))]
        assert asked == [] and streams_of == [0, 1]
        unusual = [dict(shape=(0,)), dict(dtype=">f4"), dict(dtype="U3"), dict(strides=None), dict(shape=[2]), dict(data=type("P", (Pointer,), {})), dict(c_contiguous=1), dict(device_id="0"), dict(device_id=1 << 40)]
        for shown in (*(classes[0](**fields) for fields in unusual), classes[1](), classes[2]()):
            take(shown)
            assert asked.pop() is type(shown) and asked == []

    # ---- the twins: a mistake of the producer, which the count shows ----

    def twin_a_deleter_that_is_not_there_is_not_called(self):
        producer = Producer(deleter=None)
        del_array = self.module.asarray(ByCapsule(producer))
        del del_array
        refused(AssertionError, lambda: once(producer, "nobody gives it back"))

    def twin_a_structure_that_is_given_away_twice_is_given_back_twice(self):
        producer = Producer()
        managed = producer.structure()

        class Twice(ByCapsule):
            def __dlpack__(self, **keywords):
                return api.PyCapsule_New(ctypes.addressof(managed), b"dltensor_versioned", None)

        for _ in range(2):
            self.module.asarray(Twice(producer))
        refused(AssertionError, lambda: once(producer, "the producer's mistake"))
        assert (producer.exported, producer.deleted) == (1, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True, type=Path)
    sys.path.insert(0, str(parser.parse_args().module.resolve()))
    import devarray_example as module

    module.use_backend("mock")
    made, failed = ask(module, Attacks(module), helpers=["arrow"])
    findings = module.findings()
    print(f"attacks: {made} made, {failed} succeeded, {len(findings)} findings", *findings, sep="\n")
    return 1 if failed or findings else 0


if __name__ == "__main__":
    sys.exit(main())
