#!/usr/bin/env python3
"""golden.py: prints the table of decoder_test.cc, logits of llama.cpp.

Needs numpy, gguf 0.19 and llama-cpp-python 0.3.36. Of each case: the logits of tokens 0 to 7 after the prompt, then after two
tokens more from the cache. Those of gemma in the test are of a build of llama.cpp without GGML_GELU_FP16 in ggml-cpu/vec.h: its GELU
is binary32 then, no table of binary16.
"""
import pathlib
import tempfile

import models

PROMPT, STEPS = [3, 17, 5, 9, 22, 1], [8, 14]


def main():
    with tempfile.TemporaryDirectory() as folder:
        for case in models.CASES:
            path = pathlib.Path(folder) / "model.gguf"
            models.write(case, path)
            llama = models.LlamaCpp(path)
            rows = [llama(PROMPT)[-1]] + [llama([token])[-1] for token in STEPS]
            print(f'    {{"{case}",')
            for row, end in ((rows[0], ","), (rows[-1], "},")):
                print("     {" + ", ".join(f"{value:.7g}F" for value in row[:8]) + "}" + end)


if __name__ == "__main__":
    main()
