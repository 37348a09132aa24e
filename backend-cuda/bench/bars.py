"""The goals, and the figures that the recorded runs reached."""

from copies import against_compilers, bytes_of, compilers, of_peers, rows_of
from records import cards, cell, mean, read, table, where


def ratios(card, name):
    """The ratios to memcpy of a list of cases."""
    run = read(card, name)
    return [line["ratio"] for line in run.by().values()] if run else []


def geometric(card, name):
    found = ratios(card, name)
    return mean(found) if found else None


def lowest(card, name):
    return min(ratios(card, name), default=None)


def beside_compilers(card):
    run = read(card, "copy")
    found = against_compilers(list(rows_of(run.by(), {})), compilers(run.header["device"])["cases"]) if run else []
    return mean(found) if found else None


def beside_torch(card):
    run, peers = read(card, "copy"), of_peers(card, "copy")
    found = [line["gbps"] / peers[text]["torch"] for text, line in run.by().items() if peers.get(text, {}).get("torch")] if run else []
    return mean(found) if found else None


def slowest_small(card):
    run, peers = read(card, "small"), of_peers(card, "small")
    both = [(text, line) for text, line in run.by().items() if text in peers] if run else []
    return min((bytes_of(text) / peers[text]["torch"] / 1e9 / line["median_s"] for text, line in both), default=None)


def line_of(card, name, key, case, field):
    run = read(card, name)
    return run.by(key).get(case, {}).get(field) if run else None


# Figure, bar, whether more is better, the recorded run that it is of, how it is reached on a card.
BARS = [
    ("33 cases, geometric mean of the ratio to memcpy", 0.88, True, "copy", lambda card: geometric(card, "copy")),
    ("23 cases over the better compiler of 2026-11-20", 1.12, True, "copy", beside_compilers),
    ("33 cases over PyTorch eager", 2.5, True, "copy", beside_torch),
    ("39 other shapes, geometric mean", 0.90, True, "large", lambda card: geometric(card, "large")),
    ("60 awkward shapes, geometric mean", 0.83, True, "awkward", lambda card: geometric(card, "awkward")),
    ("60 awkward shapes, lowest", 0.50, True, "awkward", lambda card: lowest(card, "awkward")),
    ("200 drawn shapes, geometric mean", 0.87, True, "drawn", lambda card: geometric(card, "drawn")),
    ("200 drawn shapes, lowest", 0.55, True, "drawn", lambda card: lowest(card, "drawn")),
    ("100 results of 3 to 50 MB, lowest", 0.90, True, "middle", lambda card: lowest(card, "middle")),
    ("48 small results over PyTorch eager, lowest", 1.00, True, "small", slowest_small),
    ("joins and paddings of 256 MiB, lowest", 0.90, True, "joins", lambda card: lowest(card, "joins")),
    ("pinned 256 MiB to the device, over the driver's call", 0.98, True, "transfer", lambda card: line_of(card, "transfer", "case", "pinned-to-device-256MiB", "ratio")),
    ("pageable 256 MiB to the device, GB/s", 45, True, "transfer", lambda card: line_of(card, "transfer", "case", "pageable-to-device-256MiB", "gbps")),
    ("pageable 256 MiB back, GB/s", 38, True, "transfer", lambda card: line_of(card, "transfer", "case", "pageable-from-device-256MiB", "gbps")),
    ("4 KiB copy, tracked, over the driver's call", 1.10, False, "overhead", lambda card: line_of(card, "overhead", "call", "copy 4 KiB, tracked", "ratio")),
    ("allocate and free 4 KiB, over the driver's calls", 1.30, False, "overhead", lambda card: line_of(card, "overhead", "call", "allocate and free 4 KiB", "ratio")),
]  # fmt: skip


def of_bars():
    """A row for each bar and card that has a figure."""
    rows = []
    for figure, bar, more, name, reached in BARS:
        for card in cards():
            value = reached(card)
            if value is not None:
                digits = 1 if bar > 10 else 3
                met = value >= bar if more else value <= bar
                sign = "≥" if more else "≤"
                rows.append([figure, f"{sign} {bar:g}", cell(value, digits), "yes" if met else "**no**", where(read(card, name).header)])
    return table(["figure", "bar", "reached", "met", "run"], rows, 5)
