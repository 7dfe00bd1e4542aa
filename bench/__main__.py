"""`make bench`: all measurements, printed as the tables of docs/benchmarks.md."""

import argparse
import platform
import sqlite3
import sys
import time

from bench import claims
from bench.footprint import (
    measure_help,
    measure_memory,
    measure_memory_with_reader,
    measure_start,
)
from bench.ingest import measure_arrays, measure_singles, measure_slow_disk
from bench.table import as_markdown
from bench.trust import measure_trust


def main() -> None:
    """Runs everything, or what is named."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--only", choices=["speed", "claims"], default=None)
    options = parser.parse_args()
    if options.only != "claims":
        began = time.perf_counter()
        found = [
            *measure_arrays(options.events, options.repeats),
            measure_singles(options.seconds, options.repeats),
            measure_slow_disk(options.seconds, options.repeats),
            *measure_trust(options.events, options.repeats),
            measure_memory(),
            measure_memory_with_reader(),
            measure_start(options.repeats),
            measure_help(options.repeats),
        ]
        print(
            f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
            f"{platform.machine()}; {options.repeats} repeats, interleaved; "
            f"{time.perf_counter() - began:.0f} s in all.\n"
        )
        rows = [row for row in found if row is not None]
        print(as_markdown(rows))
        if len(rows) < len(found):
            print("\nNo C compiler here: the slow disk was not measured.", file=sys.stderr)
    if options.only != "speed":
        print()
        claims.main([])


if __name__ == "__main__":
    main()
