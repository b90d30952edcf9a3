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

losses, gradients = [], None
for _ in range(STEPS):
    before = x @ w1 + b1
    hidden = np.maximum(before, 0)
    y = hidden @ w2 + b2
    losses.append(np.mean((y - t) ** 2))
    grad_y = 2 * (y - t) / BATCH
    grad_hidden = (grad_y @ w2.T) * (before > 0)
    by_w2, by_b2 = hidden.T @ grad_y, grad_y.sum(axis=0)
    by_w1, by_b1 = x.T @ grad_hidden, grad_hidden.sum(axis=0)
    gradients = gradients or [by_w1, by_b1, by_w2, by_b2]
    w2, b2 = w2 - RATE * by_w2, b2 - RATE * by_b2
    w1, b1 = w1 - RATE * by_w1, b1 - RATE * by_b1


def c_array(name, values):
    lines = [", ".join(f"{v:.17g}" for v in values[i : i + 4]) for i in range(0, len(values), 4)]
    print(f"static const double {name}[] = {{\n    " + ",\n    ".join(lines) + ",\n};")


print("/* Written by train_step.py: losses of five training steps, the weights after them, and the")
print(" * gradients of the first. */")
c_array("reference_losses", losses)
c_array("reference_w1", w1.ravel()[::53])
c_array("reference_b1", b1[::7])
c_array("reference_w2", w2.ravel()[::7])
c_array("reference_b2", b2)
c_array("reference_by_w1", gradients[0].ravel()[::53])
c_array("reference_by_b1", gradients[1][::7])
c_array("reference_by_w2", gradients[2].ravel()[::7])
c_array("reference_by_b2", gradients[3])
