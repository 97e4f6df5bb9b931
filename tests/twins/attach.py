# SPDX-License-Identifier: Apache-2.0
"""attach.py torch|numpy PATH COUNT: maps a named segment of doubles, and then does as it is told."""
import sys

library, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
if library == "torch":
    import torch

    values = torch.from_file(path, shared=True, size=count, dtype=torch.float64)
else:
    import numpy

    values = numpy.memmap(path, dtype=numpy.float64, mode="r+", shape=(count,))

for line in sys.stdin:
    word, *rest = line.split()
    if word == "read":
        print(repr(float(values[int(rest[0])])), flush=True)
    elif word == "write":
        values[int(rest[0])] = float(rest[1])
        print("written", flush=True)
    elif word == "add":
        values += float(rest[0])
        print("added", flush=True)
