"""Prints the expected values of tests/ops/test_nn_ops.c, computed by NumPy in double precision."""
import numpy as np

np.set_printoptions(precision=17, floatmode="maxprec_equal")


def show(name, x):
    print(f"{name} {np.shape(x)}:", ", ".join(repr(float(v)) for v in np.ravel(x)))


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


x = np.array([[0.5, -1.25, 2.0], [3.0, 0.0, -0.75]])
g = np.array([[1.0, -2.0, 0.5], [0.25, 4.0, -1.0]])
for axis in (1, 0):
    s = softmax(x, axis)
    show(f"softmax, axis {axis}", s)
    show("  its gradient", s * (g - (g * s).sum(axis=axis, keepdims=True)))

y, t = x, g
show("mse", ((y - t) ** 2).mean())
show("  its gradient by y, given 3", 3 * 2 * (y - t) / y.size)

w = np.array([[1.0, -0.5], [0.25, 2.0], [-1.5, 0.75]])
b = np.array([0.125, -4.0])
show("dense", x @ w + b)
show("  relu", np.maximum(x @ w + b, 0))
