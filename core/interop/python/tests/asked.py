"""The common part of attacks.py, facts.py and ours.py: each method of a class is asked by itself, and leaves nothing alive."""

import gc
import traceback


def refused(kinds, call):
    """The words of an exception that must come."""
    try:
        call()
    except kinds as error:
        words = str(error)
        traceback.clear_frames(error.__traceback__)
        return words
    raise AssertionError(f"nothing was raised, where {kinds} was due")


def ask(module, asked, helpers):
    """Calls every method of `asked` but the helpers. How many there are, and how many failed."""
    before, failed = module.live(), 0
    names = [name for name, thing in vars(type(asked)).items() if callable(thing) and name not in ("__init__", *helpers)]
    for name in names:
        try:
            getattr(asked, name)()
            gc.collect()
            assert module.live() == before, f"alive: {module.live()}, not {before}"
        except Exception:
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}")
    return len(names), failed
