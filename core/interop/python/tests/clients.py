"""Libraries that arrays are exchanged with: how each takes an array of the example module, and how each makes one of its own.

A client has `name`, `types` (the element types it knows), `take(array)`, `make(numpy_array)` (its own memory, in the same layout if
it can), `values(own)` (a NumPy copy), `strides(own)` in bytes or None where it has none, `address(own)` or None, `shares` (whether it
takes memory without a copy), and `layouts` (those it can make itself).
"""

import numpy as np

TYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]
LAYOUTS = {
    "C": lambda a: a,
    "F": lambda a: a.T,
    "sliced": lambda a: a[:, 1:3],
    "stepped": lambda a: a[::2],
    "reversed": lambda a: a[::-1],
    "0-d": lambda a: a[0, 0],
    "1-d": lambda a: a[0],
    "empty": lambda a: a[:0],
    "size-1": lambda a: a[1:2, :1],
    "offset": lambda a: a[1:],
    "1-d offset": lambda a: a[0, 1:],
}


def reference(kind):
    """Twenty elements of a type, no two alike where the type has twenty values."""
    values = np.arange(20).reshape(5, 4)
    return (values % 3 == 1) if kind == "bool" else (values - 3 * (kind[0] != "u")).astype(kind)


class Numpy:
    name, types, layouts, shares = "NumPy", TYPES, set(LAYOUTS), True

    def take(self, array):
        return np.from_dlpack(array)

    def make(self, layout, kind, readonly):
        base = reference(kind)
        own = np.asarray(LAYOUTS[layout](base)) if layout != "0-d" else base[:1, 0].reshape(())
        if readonly:
            own.flags.writeable = False
        return own

    def make_of(self, values):
        return values

    def values(self, own):
        return np.array(own)

    def strides(self, own):
        return own.strides

    def address(self, own):
        return own.ctypes.data

    def is_readonly(self, own):
        return not own.flags.writeable


class NumpyInterface(Numpy):
    """By `__array_interface__`."""

    name = "NumPy, array interface"

    class Shown:
        def __init__(self, own):
            self.own = own

        @property
        def __array_interface__(self):
            return self.own.__array_interface__

    def take(self, array):
        return np.asarray(array)

    def make(self, layout, kind, readonly):
        return self.Shown(super().make(layout, kind, readonly))

    def values(self, own):
        return np.array(getattr(own, "own", own))

    def strides(self, own):
        return getattr(own, "own", own).strides

    def address(self, own):
        return getattr(own, "own", own).ctypes.data

    def is_readonly(self, own):
        return not getattr(own, "own", own).flags.writeable


class Jax:
    name, types, layouts, shares = "JAX", [*TYPES, "bfloat16"], {"C", "0-d", "1-d", "empty"}, False

    def __init__(self):
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax = jax

    def take(self, array):
        return self.jax.dlpack.from_dlpack(array)

    def make(self, layout, kind, readonly):
        if readonly:
            raise NotImplementedError("its capsules say nothing of it")
        base = reference("float32" if kind == "bfloat16" else kind)
        return self.jax.numpy.asarray(np.array(LAYOUTS[layout](base))).astype(kind)

    def values(self, own):
        return np.array(own)

    def strides(self, own):
        return None

    def address(self, own):
        return own.unsafe_buffer_pointer()

    def is_readonly(self, own):
        return None


class Arrow:
    """Columns: one axis, no gaps, read-only by convention."""

    types = [kind for kind in TYPES if kind[0] in "iuf"]
    layouts, shares = {"1-d", "1-d offset"}, True

    def strides(self, own):
        return None

    def is_readonly(self, own):
        return None


class Pyarrow(Arrow):
    name = "pyarrow"

    def __init__(self):
        import pyarrow

        self.pyarrow = pyarrow

    def take(self, array):
        return self.pyarrow.Array._import_from_c_device_capsule(*array.__arrow_c_device_array__())

    def make(self, layout, kind, readonly):
        if not readonly:
            raise NotImplementedError("its arrays are read-only")
        base = self.pyarrow.array(reference(kind)[0])
        own = base[1:] if layout == "1-d offset" else base

        class Device:
            """An array without DLPack, so that the door of Arrow is what is used."""

            def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
                return own.__arrow_c_device_array__(requested_schema, **kwargs)

        shown = Device()
        shown.own = own
        return shown

    def values(self, own):
        return np.array(getattr(own, "own", own))

    def address(self, own):
        own = getattr(own, "own", own)
        return own.buffers()[1].address + own.offset * (own.type.bit_width // 8)


class Nanoarrow(Arrow):
    name = "nanoarrow"

    def __init__(self):
        from nanoarrow import device

        self.device = device

    def take(self, array):
        return self.device.c_device_array(array)

    def make(self, layout, kind, readonly):
        if not readonly:
            raise NotImplementedError("its arrays are read-only")
        import pyarrow

        base = pyarrow.array(reference(kind)[0])
        return self.device.c_device_array(base[1:] if layout == "1-d offset" else base)

    def values(self, own):
        view = own.array.view()
        values = np.asarray(view.buffer(1))
        return np.array(values[own.array.offset:own.array.offset + len(own.array)])

    def address(self, own):
        return None


class Exchange:
    """DLPack's exchange table, by calling a function of tvm-ffi, which takes the tensor by the table and gives it back so."""

    name, types, layouts, shares = "tvm-ffi, exchange table", TYPES, set(), True

    def __init__(self, witness):
        import tvm_ffi

        self.witness, self.echo = witness, tvm_ffi.convert(lambda tensor: tensor)

    def take(self, array):
        return self.echo(array)

    def values(self, own):
        return self.witness.values(self.witness.take(own))

    def strides(self, own):
        return own.strides

    def address(self, own):
        return own.ptr

    def is_readonly(self, own):
        return None  # it does not keep that


class CudaCore:
    """The description that cuda-core gives of an array; it reads none."""

    name, types, layouts, shares = "cuda-core (metadata)", TYPES, set(), True

    def __init__(self, stream):
        from cuda.core.utils import StridedMemoryView

        self.view, self.stream = StridedMemoryView, stream

    def take(self, array):
        return self.view.from_dlpack(array, stream_ptr=self.stream)

    def values(self, own):
        return None

    def strides(self, own):
        return own.strides and tuple(stride * own.dtype.itemsize for stride in own.strides)

    def address(self, own):
        return own.ptr

    def is_readonly(self, own):
        return own.readonly


class Cupy:
    """By DLPack, both ways."""

    class Shown:
        """An array without its other interfaces."""

        def __init__(self, own):
            self.own = own

        def __dlpack_device__(self):
            return self.own.__dlpack_device__()

        def __dlpack__(self, **keywords):
            return self.own.__dlpack__(**keywords)

    name, types, layouts, shares = "CuPy", TYPES, set(LAYOUTS), True

    def __init__(self):
        import cupy

        self.cupy = cupy

    def take(self, array):
        return self.cupy.from_dlpack(array)

    def make(self, layout, kind, readonly):
        if readonly:
            raise NotImplementedError("has no read-only arrays")
        return self.Shown(LAYOUTS[layout](self.cupy.asarray(reference(kind))))

    def make_of(self, values):
        return self.cupy.asarray(values)

    def values(self, own):
        return self.cupy.asnumpy(getattr(own, "own", own))

    def strides(self, own):
        return getattr(own, "own", own).strides

    def address(self, own):
        return getattr(own, "own", own).data.ptr

    def is_readonly(self, own):
        return None


class CupyInterface(Cupy):
    name = "CuPy, CUDA Array Interface"

    class Shown:
        def __init__(self, own):
            self.own = own

        @property
        def __cuda_array_interface__(self):
            return self.own.__cuda_array_interface__

    def take(self, array):
        return self.cupy.asarray(self.Shown(array))


class Torch:
    name, shares = "PyTorch", True
    types = [*TYPES, "bfloat16"]
    layouts = set(LAYOUTS) - {"reversed"}

    def __init__(self, device):
        import torch

        self.torch, self.device = torch, device

    def take(self, array):
        if any(stride < 0 for stride in array.strides):
            raise NotImplementedError("an exception in a destructor ends the process: Storage size calculation overflowed")
        return self.torch.from_dlpack(array)

    def make(self, layout, kind, readonly):
        if readonly:
            raise NotImplementedError("has no read-only arrays")
        base = self.torch.from_numpy(reference("float32" if kind == "bfloat16" else kind))
        return LAYOUTS[layout](base.to(getattr(self.torch, kind)).to(self.device))

    def values(self, own):
        own = own.float() if own.dtype == self.torch.bfloat16 else own
        return own.cpu().numpy().copy()

    def strides(self, own):
        return tuple(stride * own.element_size() for stride in own.stride())

    def address(self, own):
        return own.data_ptr()

    def is_readonly(self, own):
        return None


class Numba:
    name, types, layouts, shares = "Numba", TYPES, {"C", "F", "1-d", "offset", "1-d offset", "sliced", "stepped"}, True

    def __init__(self):
        from numba import cuda

        self.cuda = cuda

    def take(self, array):
        return self.cuda.as_cuda_array(array)

    def make(self, layout, kind, readonly):
        if readonly:
            raise NotImplementedError("has no read-only arrays")
        return LAYOUTS[layout](self.cuda.to_device(reference(kind)))

    def values(self, own):
        return own.copy_to_host()

    def strides(self, own):
        return own.strides

    def address(self, own):
        return own.device_ctypes_pointer.value or 0

    def is_readonly(self, own):
        return None


def of(backend):
    """A client that is trusted to make arrays and to tell their elements, and all clients of a backend that are installed."""
    if backend == "mock":
        made = [Numpy, NumpyInterface, Jax, Pyarrow, Nanoarrow, lambda: CudaCore(-1), lambda: Torch("cpu"), lambda: Exchange(Numpy())]
    else:
        made = [Cupy, CupyInterface, lambda: Torch("cuda"), Numba, Jax, lambda: CudaCore(-1)]
    found = []
    for make in made:
        try:
            found.append(make())
        except ImportError as error:
            print(f"not installed: {error}")
    return found[0], found
