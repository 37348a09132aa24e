#!/usr/bin/env python3
"""Facts that other libraries test about their arrays' interfaces, asked of ours. reports/TESTS_OF_OTHERS.md says whose.

    facts.py --module FOLDER --backend mock|cuda

On `mock` the other side is NumPy, on `cuda` CuPy. One line a fact; exit status 1 if one does not hold.
"""

import argparse
import enum
import gc
import sys
import warnings
from pathlib import Path

import numpy as np

from asked import ask, refused


class Only:
    """An object with some attributes of an array, and no others."""

    def __init__(self, array, *names, **instead):
        self.array = array
        for name in names:
            setattr(self, name, getattr(array, name))
        for name, value in instead.items():
            setattr(self, name, value)


class Capsule:
    """An array by a capsule that was taken out of it before."""

    def __init__(self, capsule, device):
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **keywords):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


class Facts:
    """Each method is a fact. `xp` is the other library, `cai` the name of the interface by a dictionary."""

    def __init__(self, module, backend):
        self.module, self.is_cuda = module, backend == "cuda"
        if self.is_cuda:
            import cupy

            self.xp, self.cai, self.of = cupy, "__cuda_array_interface__", cupy.from_dlpack
        else:
            self.xp, self.cai, self.of = np, "__array_interface__", np.from_dlpack

    def ours(self, kind="float32", shape=(5, 4)):
        """An array of the module's own memory, counted from 0."""
        return self.module.relayout(self.xp.arange(int(np.prod(shape)), dtype=kind).reshape(shape), "C")

    def values(self, array):
        taken = self.of(array)
        return np.asarray(taken.get() if self.is_cuda else taken).tolist()

    def interface(self, array, **changes):
        entries = {**getattr(array, self.cai), **changes}
        return Only(array, **{self.cai: entries})

    # ---- capsules of DLPack ----

    def a_versioned_capsule_comes_where_the_version_is_asked_for(self):
        array = self.ours("int8")
        for keywords, name in [
            ({}, "dltensor"), ({"max_version": None}, "dltensor"), ({"max_version": (0, 8)}, "dltensor"),
            ({"max_version": (1, 0)}, "dltensor_versioned"), ({"max_version": (10, 10)}, "dltensor_versioned"),
        ]:
            capsule = array.__dlpack__(**keywords)
            assert f'"{name}"' in str(capsule), (keywords, str(capsule))
            taken = self.module.asarray(Capsule(capsule, array.__dlpack_device__()))
            assert taken.ptr == array.ptr and f'"used_{name}"' in str(capsule), str(capsule)

    def the_own_device_may_be_asked_for_and_no_other(self):
        array = self.ours()
        kind, number = array.__dlpack_device__()
        assert self.values(Capsule(array.__dlpack__(dl_device=(kind, number)), (kind, number))) == self.values(array)
        for other in [(kind, 2**30), (9, 0), (1 if self.is_cuda else 2, 0), (3, 0)]:
            refused(BufferError, lambda: array.__dlpack__(dl_device=other))

    def a_copy_is_made_where_one_is_asked_for(self):
        array = self.ours()
        for keywords in ({}, {"max_version": (1, 0)}):
            copy = self.module.asarray(Capsule(array.__dlpack__(copy=True, **keywords), array.__dlpack_device__()))
            assert copy.ptr != array.ptr and self.values(copy) == self.values(array)
        for copy in (None, False):
            shared = self.module.asarray(Capsule(array.__dlpack__(copy=copy), array.__dlpack_device__()))
            assert shared.ptr == array.ptr

    def keywords_are_named(self):
        array = self.ours()
        assert "takes 0 positional" in refused(TypeError, lambda: array.__dlpack__(None))
        assert "argument 'unknown'" in refused(TypeError, lambda: array.__dlpack__(unknown=1))
        not_interned = {str(b"max_version", "ascii"): (1, 0), str(b"copy", "ascii"): None}
        assert '"dltensor_versioned"' in str(array.__dlpack__(**not_interned))
        refused(TypeError, lambda: array.__dlpack__(stream="1"))
        refused((ValueError, TypeError), lambda: array.__dlpack__(max_version=(1,)))

    def a_capsule_that_nobody_takes_frees_the_memory(self):
        for keywords in ({}, {"max_version": (1, 0)}):
            before = self.module.live()
            array = self.ours()
            capsule = array.__dlpack__(**keywords)
            del array
            assert self.module.live() != before
            del capsule
            assert self.module.live() == before, keywords

    def a_capsule_that_was_taken_frees_nothing(self):
        for keywords in ({}, {"max_version": (1, 0)}):
            before = self.module.live()
            array = self.ours()
            capsule = array.__dlpack__(**keywords)
            taken = self.of(Capsule(capsule, array.__dlpack_device__()))
            del array
            gc.collect()
            assert self.module.live() != before
            del taken
            gc.collect()
            assert self.module.live() == before, keywords
            del capsule
            assert self.module.live() == before

    def a_capsule_is_taken_once(self):
        for keywords in ({}, {"max_version": (1, 0)}):
            array = self.ours()
            taken_out = Capsule(array.__dlpack__(**keywords), array.__dlpack_device__())
            self.module.asarray(taken_out)
            words = refused(BufferError, lambda: self.module.asarray(taken_out))
            assert "no unused capsule" in words, words

    def the_kind_of_the_device_may_be_an_enumeration(self):
        kind, number = self.ours().__dlpack_device__()
        for as_enumeration in (enum.IntEnum("Kind", {"it": kind}).it, np.int32(kind)):
            array = self.ours()
            taken = self.module.asarray(Capsule(array.__dlpack__(), (as_enumeration, number)))
            assert taken.ptr == array.ptr

    def an_array_without_axes_goes_both_ways(self):
        array = self.module.asarray(self.xp.asarray(1.5, dtype="float32"))
        assert (array.shape, array.strides, array.ndim, array.size) == ((), (), 0, 1)
        assert self.values(array) == 1.5

    def stream_0_is_refused(self):
        if self.is_cuda:
            refused(ValueError, lambda: self.ours().__dlpack__(stream=0))
        else:
            for stream in (0, 1, 2, 5):
                refused(BufferError, lambda: self.ours().__dlpack__(stream=stream))

    def every_named_stream_is_taken(self):
        streams = [None, -1]
        if self.is_cuda:
            own = self.xp.cuda.Stream(non_blocking=True)
            streams += [1, 2, own.ptr]
        for stream in streams:
            array = self.ours()
            taken = self.of(Capsule(array.__dlpack__(stream=stream), array.__dlpack_device__()))
            self.module.live()  # waits
            assert taken.tolist() == self.values(array), stream

    def a_capsule_of_another_name_is_no_tensor(self):
        refused(BufferError, lambda: self.module.asarray(Capsule(object(), self.ours().__dlpack_device__())))

    # ---- the interfaces by a dictionary ----

    def an_object_with_the_dictionary_alone_is_an_array(self):
        own = self.xp.arange(10, dtype="float64")
        shown = Only(own, self.cai)
        array = self.module.asarray(shown)
        assert array.ptr == getattr(own, self.cai)["data"][0] and self.values(array) == list(range(10))
        back = Only(array, self.cai)
        assert getattr(back, self.cai)["data"] == (array.ptr, False)

    def the_entries_have_the_types_of_the_standard(self):
        for array in (self.ours(), self.ours().T, self.ours().slice(0, 1, 3), self.ours("int8", (3,)), self.ours().as_readonly()):
            entries = getattr(array, self.cai)
            assert type(entries) is dict and entries["version"] == 3 and type(entries["typestr"]) is str
            assert type(entries["shape"]) is tuple and all(type(extent) is int for extent in entries["shape"])
            address, readonly = entries["data"]
            assert type(address) is int and address == array.ptr and readonly is array.readonly
            if entries["strides"] is not None:
                assert all(type(stride) is int for stride in entries["strides"])
            if self.is_cuda:
                assert type(entries["stream"]) is int and entries["stream"] > 0
                assert entries["stream"] == array.__cuda_stream__()[1] and array.__cuda_stream__()[0] == 0
            else:
                assert "stream" not in entries

    def strides_are_told_unless_the_elements_are_dense(self):
        array = self.ours("float32", (2, 3, 4))
        strides = lambda array: getattr(array, self.cai)["strides"]
        assert strides(array) is None
        assert strides(array.transpose(2, 1, 0)) == (4, 16, 48)
        assert strides(array.slice(2, 0, 4, 2)) == (48, 16, 8)
        assert strides(array.flip(1)) == (48, -16, 4)
        assert strides(array.slice(0, 1, 2)) is None, "one matrix, dense"

    def strides_may_be_absent_none_or_told(self):
        own = self.xp.arange(12, dtype="int32").reshape(3, 4)
        entries = dict(getattr(own, self.cai))
        for strides in ("absent", None, (16, 4)):
            entries.pop("strides", None)
            if strides != "absent":
                entries["strides"] = strides
            array = self.module.asarray(Only(own, **{self.cai: dict(entries)}))
            assert (array.ptr, array.strides) == (entries["data"][0], (16, 4)), strides
        entries["strides"] = (4, 12)
        entries["shape"] = (3, 4)
        assert self.module.asarray(Only(own, **{self.cai: entries})).strides == (4, 12), "F order"

    def the_address_of_a_reversed_array_is_that_of_its_first_element(self):
        array, theirs = self.ours("float64", (10,)), np.arange(10.0)
        offset = getattr(array.flip(), self.cai)["data"][0] - getattr(array, self.cai)["data"][0]
        due = theirs[::-1].__array_interface__
        assert offset == due["data"][0] - theirs.__array_interface__["data"][0] == 72
        entries = getattr(array.flip(), self.cai)
        assert (entries["shape"], entries["strides"]) == (due["shape"], due["strides"])

    def the_address_of_a_slice_is_moved(self):
        for order in "CF":
            array = self.ours("int16", (10, 10))
            array = array.T if order == "F" else array
            base = getattr(array, self.cai)["data"][0]
            for rows, columns in ((0, 0), (0, 2), (2, 2), (2, 4)):
                moved = getattr(array.slice(0, rows, 10).slice(1, columns, 10), self.cai)["data"][0] - base
                assert moved == rows * array.strides[0] + columns * array.strides[1], (order, rows, columns)

    def no_elements_have_no_address(self):
        for array in (self.ours().slice(0, 0, 0), self.module.asarray(self.xp.zeros((0, 4), "float32"))):
            assert getattr(array, self.cai)["data"][0] == 0 and array.ptr == 0 and array.size == 0
            assert self.module.asarray(Only(array, self.cai)).shape == array.shape

    def a_mask_is_refused(self):
        own = self.xp.arange(4, dtype="int32")
        mask = Only(self.xp.zeros(4, "bool"), self.cai)
        assert "mask" in refused(BufferError, lambda: self.module.asarray(self.interface(own, mask=mask)))
        assert self.module.asarray(self.interface(own, mask=None)).size == 4

    def what_a_dictionary_lacks_is_told(self):
        own = self.xp.arange(4, dtype="int32")
        for entry in ("shape", "typestr", "data", "version"):
            entries = {key: value for key, value in getattr(own, self.cai).items() if key != entry}
            assert entry in refused(AttributeError, lambda: self.module.asarray(Only(own, **{self.cai: entries}))), entry

    def keys_may_be_any_strings_and_stand_in_any_order(self):
        own = self.xp.arange(12, dtype="int32").reshape(3, 4)[:, 1:3]
        entries = dict(getattr(own, self.cai), mask=None, unknown=1)
        made = [(str(key.encode(), "ascii"), value) for key, value in entries.items()]
        assert all(key is not known for (key, _), known in zip(made, entries)), "not the interned ones"
        for order in (made, made[::-1]):
            array = self.module.asarray(Only(own, **{self.cai: dict(order)}))
            assert (array.ptr, array.shape, array.strides) == (entries["data"][0], (3, 2), own.strides)
            lie = dict(order, **{"typestr": "<V4"})
            refused(BufferError, lambda: self.module.asarray(Only(own, **{self.cai: lie})))
        masked = [(key, value) for key, value in made if key != "mask"] + [(str(b"mask", "ascii"), own)]
        refused(BufferError, lambda: self.module.asarray(Only(own, **{self.cai: dict(masked)})))

    def older_versions_of_the_dictionary_are_taken(self):
        own = self.xp.arange(4, dtype="int32")
        for version in (1, 2, 3):
            assert self.values(self.module.asarray(self.interface(own, version=version))) == [0, 1, 2, 3], version

    def extents_may_be_numpys_integers_in_any_sequence(self):
        own = self.xp.arange(6, dtype="int16").reshape(2, 3)
        for shape in ((np.int64(2), np.uint8(3)), [2, 3], np.array([2, 3])):
            array = self.module.asarray(self.interface(own, shape=shape, strides=tuple(map(np.int32, own.strides))))
            assert array.shape == (2, 3) and array.strides == own.strides and array.ptr == getattr(own, self.cai)["data"][0]
        refused(TypeError, lambda: self.module.asarray(self.interface(own, shape=(2.0, 3))))
        refused(TypeError, lambda: self.module.asarray(self.interface(own, typestr=3)))

    def lies_of_a_dictionary_are_refused(self):
        own = self.xp.arange(4, dtype="int32")
        lies = [
            {"typestr": ">i4"}, {"typestr": "<V4"}, {"typestr": ""}, {"shape": (-1,)}, {"shape": (2**62, 2**62)}, {"version": 0},
            {"strides": (3,)}, {"strides": (4, 4)}, {"data": (0, False)}, {"data": (getattr(own, self.cai)["data"][0] + 1, False)},
        ]
        for lie in lies:
            refused((BufferError, ValueError, RuntimeError), lambda: self.module.asarray(self.interface(own, **lie)))
        if self.is_cuda:
            refused(BufferError, lambda: self.module.asarray(self.interface(own, stream=0)))

    def read_only_memory_stays_so(self):
        own = self.xp.arange(4, dtype="int32")
        array = self.module.asarray(self.interface(own, data=(getattr(own, self.cai)["data"][0], True)))
        assert array.readonly and getattr(array, self.cai)["data"][1] is True
        refused(BufferError, lambda: array.__dlpack__())
        assert "read-only" in refused(BufferError, lambda: self.module.scale(self.ours("float64", (4,)), 1, 0, out=self.interface(
            self.xp.zeros(4), data=(getattr(self.xp.zeros(4), self.cai)["data"][0], True))))

    def memory_lives_as_long_as_an_array_in_it(self):
        before = self.module.live()
        array = self.ours("int64", (100,))
        taken = self.xp.asarray(Only(array, self.cai))
        del array
        assert taken.tolist() == list(range(100)) and self.module.live() != before
        del taken
        gc.collect()
        assert self.module.live() == before

    def views_of_what_came_in_are_views(self):
        own = self.xp.arange(10, dtype="float64")
        array = self.module.asarray(own)
        assert self.values(array.slice(0, 0, 5)) == own[:5].tolist() and self.values(array.slice(0, 0, 10, 2)) == own[::2].tolist()
        strided = self.module.asarray(own[::2])
        stepped = array.slice(0, 0, 10, 2)
        assert (strided.shape, strided.strides, strided.ptr) == (stepped.shape, stepped.strides, stepped.ptr)

    def what_is_written_through_an_array_is_in_the_owners_memory(self):
        own, source = self.xp.zeros(10), self.xp.arange(5, dtype="float64")
        self.module.scale(source, 1, 7, out=own[:5])
        assert own.tolist() == [7, 8, 9, 10, 11] + [0] * 5
        self.module.scale(source, 2, 0, out=own[::2])
        assert own.tolist() == [0, 8, 2, 10, 4, 0, 6, 0, 8, 0]
        self.module.scale(source, 1, 0, out=own[5:][::-1])
        assert own.tolist()[5:] == [4, 3, 2, 1, 0]

    def what_is_read_is_not_written_but_in_place(self):
        own = self.xp.arange(10, dtype="float64")
        assert "share memory" in refused(ValueError, lambda: self.module.scale(own[:9], 1, 0, out=own[1:]))
        assert "share memory" in refused(ValueError, lambda: self.module.scale(own, 1, 0, out=own[::-1]))
        assert own.tolist() == list(range(10))
        self.module.scale(own[::2], 1, 0, out=own[1::2])
        assert own.tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8]
        self.module.scale(own, 2, 1, out=own)
        assert own.tolist() == [1, 1, 5, 5, 9, 9, 13, 13, 17, 17]

    # ---- Arrow ----

    def a_column_comes_in_read_only_and_its_result_goes_out(self):
        column = Only(self.ours("float64", (6,)), "__arrow_c_device_array__")
        array = self.module.asarray(column)
        assert array.readonly and array.ptr == column.array.ptr
        result = self.module.scale(array, 2, 1)
        back = self.module.asarray(Only(result, "__arrow_c_device_array__"))
        assert back.ptr == result.ptr and self.values(back) == [1, 3, 5, 7, 9, 11]
        # To write in place, a copy that nobody else has.
        own = array.copy()
        assert not own.readonly and own.ptr != array.ptr and self.values(own) == self.values(array)

    def unknown_keywords_are_refused_and_none_is_no_keyword(self):
        array = self.ours("int32", (3,))
        array.__arrow_c_device_array__(None, later=None)
        refused(NotImplementedError, lambda: array.__arrow_c_device_array__(None, later=1))

    def what_is_no_column_has_no_capsules(self):
        for array in (self.ours(), self.ours("int32", (4,)).slice(0, 0, 4, 2), self.ours("complex64", (2,))):
            refused(BufferError, array.__arrow_c_device_array__)

    # ---- the class ----

    def an_object_of_no_interface_is_told_so(self):
        for thing in (3, "text", object(), [1, 2]):
            assert "none of the interfaces" in refused(TypeError, lambda: self.module.asarray(thing))

    def memory_of_a_device_that_is_not_served_is_told_so(self):
        for device in ((7, 0), (12, 3), (1, 0) if self.is_cuda else (2, 0)):
            assert "not served" in refused(BufferError, lambda: self.module.asarray(Capsule(None, device)))

    def an_interface_of_the_other_kind_is_absent(self):
        absent = "__array_interface__" if self.is_cuda else "__cuda_array_interface__"
        assert not hasattr(self.ours(), absent)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True, type=Path)
    parser.add_argument("--backend", required=True, choices=["mock", "cuda"])
    options = parser.parse_args()
    sys.path.insert(0, str(options.module.resolve()))
    import devarray_example as module

    module.use_backend(options.backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked, failed = ask(module, Facts(module, options.backend), helpers=["ours", "values", "interface"])
    findings = module.findings()
    print(f"facts on {options.backend}: {asked} asked, {failed} do not hold, {len(findings)} findings", *findings, sep="\n")
    return 1 if failed or findings else 0


if __name__ == "__main__":
    sys.exit(main())
