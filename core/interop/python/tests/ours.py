#!/usr/bin/env python3
"""Code of ours that is called back while backends change, and arrays of ours that must not be written.

    ours.py --module FOLDER

On the simulator. A call that hangs ends the program after a minute, and says where.
"""

import argparse
import faulthandler
import gc
import sys
import threading
from pathlib import Path

import numpy as np

from asked import ask, refused


class Ours:
    def __init__(self, module):
        self.module = module

    def whoever_is_told_that_a_backend_is_replaced_may_ask_for_one(self):
        told, module = [], self.module

        class Owner:
            """Asks for what is served when it goes."""

            def __init__(self):
                self.memory = np.arange(6, dtype=np.float32)
                self.__array_interface__ = self.memory.__array_interface__

            def __del__(self):
                told.append(("gone", module.asarray(np.ones(2)).shape[0]))
                module.live()

        def ask(word, number):
            told.append((word, number))
            if word != "closed":
                return
            module.findings()
            assert module.asarray(np.ones(3)).shape == (3,)
            # Another thread, which this one waits for without the interpreter, needs it to get on.
            other = threading.Thread(target=lambda: told.append(("other", module.asarray(np.ones(4)).shape[0])))
            other.start()
            other.join()

        module.use_backend("mock")
        module.watch(ask)
        array = module.asarray(Owner())
        del array
        module.use_backend("mock")
        gc.collect()
        assert ("gone", 2) in told and ("closed", 0) in told and ("other", 4) in told, told

    def an_exception_of_who_is_told_stops_nothing(self):
        module = self.module
        module.use_backend("mock")
        said, sys.unraisablehook = [], lambda unraisable: said.append(unraisable.exc_type)
        try:
            module.watch(lambda word, number: 1 / 0)
            copy = module.asarray(np.ones(3)).copy()
            assert np.from_dlpack(copy).tolist() == [1.0] * 3 and said == [ZeroDivisionError]
        finally:
            sys.unraisablehook = sys.__unraisablehook__
            module.watch(lambda word, number: None)

    def an_exception_under_way_passes_who_is_told(self):
        module, told = self.module, []
        module.use_backend("mock")
        module.watch(lambda word, number: told.append((word, number)))
        try:
            # The exception ends the array, which nothing but the call has.
            print(module.asarray(np.ones(3)).copy(), 1 / 0)
        except ZeroDivisionError:
            told.append("caught")
        finally:
            module.watch(lambda word, number: None)
        assert told[-2:] == [("freed", 24), "caught"], told

    def what_repeats_elements_goes_out_as_read_only(self):
        rows = self.module.asarray(np.broadcast_to(np.arange(3.0), (2, 3)))
        assert rows.readonly and rows.__array_interface__["data"][1]
        assert not np.from_dlpack(rows).flags.writeable
        assert "read-only" in refused(BufferError, rows.__dlpack__)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True, type=Path)
    sys.path.insert(0, str(parser.parse_args().module.resolve()))
    import devarray_example as module

    faulthandler.dump_traceback_later(60, exit=True)
    module.use_backend("mock")
    made, failed = ask(module, Ours(module), helpers=[])
    findings = module.findings()
    print(f"ours: {made} asked, {failed} failed, {len(findings)} findings", *findings, sep="\n")
    return 1 if failed or findings else 0


if __name__ == "__main__":
    sys.exit(main())
