#!/usr/bin/env python3
"""Prints the tables of src/gguf/grids*.cc from the grids of the gguf package (PyPI, 0.19.0).

A vector of 8 values of 3 kinds is a number of 8 digits of 2 bits, one of 4 values of 8 kinds one of
4 digits of 3 bits; the first value is the lowest digit.  Use: grids.py NAME
"""
import sys

import numpy as np
from gguf import quants

GRIDS = {
    "Iq2Xxs": quants.IQ2_XXS,
    "Iq2Xs": quants.IQ2_XS,
    "Iq2S": quants.IQ2_S,
    "Iq3Xxs": quants.IQ3_XXS,
    "Iq3S": quants.IQ3_S,
    "Iq1": quants.IQ1_S,
}


def numbers(cls):
    cls.init_grid()
    grid = np.asarray(cls.grid).reshape(cls.grid_shape)
    bits = 2 if cls.grid_shape[1] == 8 else 3
    digit = {value: i for i, value in enumerate(cls.grid_map)}
    rows = [sum(digit[int(v)] << (bits * i) for i, v in enumerate(row)) for row in grid]
    assert len(set(rows)) == len(rows), "a vector occurs twice"
    return rows


def main():
    rows = numbers(GRIDS[sys.argv[1]])
    print(f"constexpr std::array<std::uint16_t, {len(rows)}> k{sys.argv[1]} = {{")
    line = "   "
    for row in rows:
        item = f" {row},"
        if len(line) + len(item) > 100:
            print(line)
            line = "   "
        line += item
    print(line + "};")


if __name__ == "__main__":
    main()
