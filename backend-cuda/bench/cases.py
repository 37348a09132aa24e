"""The CASE language of `devarray bench copy` in Python: NAME:DTYPE:SHAPE:STEPS, and what of it memory must move."""

import math
from dataclasses import dataclass

WIDTHS = {
    "bool": 1, "u8": 1, "i8": 1, "u16": 2, "i16": 2, "f16": 2, "bf16": 2, "u32": 4, "i32": 4, "f32": 4,
    "u64": 8, "i64": 8, "f64": 8, "c64": 8, "c128": 16,
}  # fmt: skip
BLOCK_BYTES = 64  # what device memory is read in: two sectors


@dataclass(frozen=True)
class Case:
    text: str
    name: str
    dtype: str
    shape: tuple
    steps: tuple  # of (operation, argument)

    @property
    def width(self):
        return WIDTHS[self.dtype]


def parse(text):
    name, dtype, shape, steps = text.split(":", 3)
    extents = tuple(int(n) for n in shape.split("x")) if shape else ()
    return Case(text, name, dtype, extents, tuple(step(s) for s in steps.split("/") if s))


def step(text):
    operation, _, inside = text.strip().partition("(")
    items = [item.strip() for item in inside.rstrip(")").split(",") if item.strip()]
    if operation == "index":
        return operation, tuple(item_of(item) for item in items)
    if operation == "reshape" and items and items[-1].replace("order=", "") in "CF":
        raise ValueError("only reshapes in C order are measured here")
    return operation, tuple(int(item) for item in items)


def item_of(text):
    if text in ("...", "Ellipsis"):
        return Ellipsis
    if text in ("None", "newaxis"):
        return None
    if ":" in text:
        return slice(*(int(part) if part.strip() else None for part in text.split(":")))
    return int(text)


def strides_of(case):
    """Shape and byte strides of the view that the steps make; None where a reshape has to copy."""
    import numpy as np

    base = np.lib.stride_tricks.as_strided(np.empty(1, f"V{case.width}"), case.shape, c_strides(case))
    try:
        view = apply(base, case.steps, np)
    except ValueError:
        return None
    return view.shape, view.strides


def c_strides(case):
    return tuple(case.width * math.prod(case.shape[axis + 1 :]) for axis in range(len(case.shape)))


def apply(array, steps, numpy):
    """The view, with the functions of NumPy or of a library like it. Raises ValueError where there is none."""
    for operation, argument in steps:
        if operation == "permute":
            array = array.transpose(*argument)
        elif operation == "index":
            array = array[argument]
        elif operation == "flip":
            array = numpy.flip(array, argument)
        elif operation == "squeeze":
            array = array.squeeze(argument) if argument else array.squeeze()
        elif operation == "broadcast":
            array = numpy.broadcast_to(array, argument)
        elif operation == "reshape":
            array = view_of_shape(array, argument)
        else:
            raise ValueError(operation)
    return array


def view_of_shape(array, shape):
    if hasattr(array, "at"):  # JAX has no views, and so no copies either
        return array.reshape(shape)
    view = array.view()
    view.shape = shape
    return view


def ceiling(case):
    """The least traffic of a copy as a share of a contiguous copy's: 2 x result over blocks read and bytes written.

    A block of memory that holds an element is read whole, once. So 1 where the source is dense, 2 where it repeats,
    and less where elements lie apart.
    """
    found = strides_of(case)
    if found is None:
        return 1.0
    shape, strides = found
    result = case.width * math.prod(shape)
    axes = sorted((abs(s), n) for n, s in zip(shape, strides) if n > 1 and s != 0)
    span, pieces = case.width, 1
    for stride, extent in axes:
        if pieces == 1 and stride - span < BLOCK_BYTES:  # no block in the gap stays untouched
            span += (extent - 1) * stride
        else:
            pieces *= extent
    read = pieces * math.ceil(span / BLOCK_BYTES) * BLOCK_BYTES
    return 2 * result / (min(read, span * pieces + pieces * BLOCK_BYTES) + result)
