"""Prints tests/reference/train_step.h: training steps in double precision, with NumPy.

    python3 tests/reference/train_step.py > tests/reference/train_step.h
"""
import numpy as np

BATCH, INPUTS, HIDDEN, RATE, STEPS = 64, 20, 64, 0.01, 5


def numbers(count, seed):
    """Multiples of 2^-15 in [-1, 1), which f32 holds exactly; test_hand.c makes the same ones."""
    values, state = [], seed
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append((state >> 16) / 2**15 - 1)
    return np.array(values)


x = numbers(BATCH * INPUTS, 1).reshape(BATCH, INPUTS)
t = numbers(BATCH, 2).reshape(BATCH, 1)
w1 = numbers(INPUTS * HIDDEN, 3).reshape(INPUTS, HIDDEN) / 4
b1 = np.zeros(HIDDEN)
w2 = numbers(HIDDEN, 4).reshape(HIDDEN, 1) / 4
b2 = np.zeros(1)

losses = []
for _ in range(STEPS):
    before = x @ w1 + b1
    hidden = np.maximum(before, 0)
    y = hidden @ w2 + b2
    losses.append(np.mean((y - t) ** 2))
    grad_y = 2 * (y - t) / BATCH
    grad_hidden = (grad_y @ w2.T) * (before > 0)
    w2 = w2 - RATE * (hidden.T @ grad_y)
    b2 = b2 - RATE * grad_y.sum(axis=0)
    w1 = w1 - RATE * (x.T @ grad_hidden)
    b1 = b1 - RATE * grad_hidden.sum(axis=0)


def c_array(name, values):
    lines = [", ".join(f"{v:.17g}" for v in values[i : i + 4]) for i in range(0, len(values), 4)]
    print(f"static const double {name}[] = {{\n    " + ",\n    ".join(lines) + ",\n};")


print("/* Written by train_step.py: losses of five training steps, and the weights after them. */")
c_array("reference_losses", losses)
c_array("reference_w1", w1.ravel()[::53])
c_array("reference_b1", b1[::7])
c_array("reference_w2", w2.ravel()[::7])
c_array("reference_b2", b2)
