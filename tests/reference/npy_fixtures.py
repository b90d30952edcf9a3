"""Writes the .npy files that tests/bench/test_npy.c reads, with NumPy itself.

    python3 tests/reference/npy_fixtures.py tests/bench/npy
"""
import os
import sys

import numpy as np
from numpy.lib import format as npy

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)


def save(name, array, version=None):
    with open(os.path.join(folder, name), "wb") as file:
        npy.write_array(file, array, version=version, allow_pickle=True)


counting = np.arange(6).reshape(2, 3)
save("f4.npy", counting.astype("<f4") / 4)
save("f8.npy", counting.astype("<f8") / 3)
save("i4.npy", counting.astype("<i4") - 3)
save("b1.npy", counting % 2 == 1)
save("scalar.npy", np.float32(2.5).reshape(()))
save("empty.npy", np.zeros((0, 3), "<f4"))
save("rank6.npy", np.arange(64, dtype="<f4").reshape((2,) * 6))
save("version2.npy", counting.astype("<f4") / 4, (2, 0))
save("version3.npy", counting.astype("<f4") / 4, (3, 0))

# What is refused.
save("big_endian.npy", counting.astype(">f4"))
save("fortran.npy", np.asfortranarray(counting.astype("<f4")))
save("f2.npy", counting.astype("<f2"))
save("i8.npy", counting.astype("<i8"))
save("complex.npy", counting.astype("<c8"))
save("record.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
save("object.npy", np.array([{"a": 1}, None], dtype=object))
save("unicode.npy", np.array(["text"]))
save("rank7.npy", np.zeros((1,) * 7, "<f4"))
