#!/usr/bin/env python3
"""command_tree_test.py QTX

Completion in each shell, and the manual page in man's own formatter, against what --help says.
"""
import re
import shutil
import subprocess
import sys
import tempfile

QTX = sys.argv[1]

# Stands where the shell would ask the function: the words typed so far, the last to be completed.
BASH = """{script}
COMP_WORDS=({words}); COMP_CWORD={last}; _qtx; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """compdef() {{ : }}; compadd() {{ shift; print -l -- $@ }}; _files() {{ print -l -- *(N) }}
{script}
words=({words}); CURRENT={last_from_1}; _qtx
"""
FISH = "{script}\ncomplete -C {line}\n"

failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)


def output(*arguments):
    return subprocess.run([QTX, *arguments], capture_output=True, text=True, check=True).stdout


def commands():
    """Each command's words, and its --help."""
    found = []

    def add(words):
        text = output(*words, "--help")
        found.append((words, text))
        listed = text.partition("Subcommands:\n")[2]
        for name in re.findall(r"^  ([a-z]\S*)", listed, re.MULTILINE):
            if name != "help":  # whose help is that of what follows
                add([*words, name])

    add([])
    return found


def complete(shell, words, folder=None):
    """What `shell` offers for the last of `words`, in that folder."""
    script = output("completion", shell)
    quoted = " ".join(f"'{word}'" for word in words)
    last = len(words) - 1
    template = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell]
    text = template.format(script=script, words=quoted, last=last, last_from_1=last + 1,
                           line="'" + " ".join(words) + "'")
    program = {"bash": ["bash", "--norc"], "zsh": ["zsh", "-f"], "fish": ["fish", "--no-config"]}[shell]
    run = subprocess.run([*program, "-c", text], capture_output=True, text=True, check=False, cwd=folder)
    expect(run.returncode == 0 and not run.stderr, f"{shell} {words}: {run.returncode} {run.stderr}")
    return {line.split("\t")[0] for line in run.stdout.splitlines() if line.startswith(words[-1])}


def test_completion(shell, tree):
    if shutil.which(shell) is None:
        print(f"{shell} is not installed: its completion was not run")
        return
    for words, text in tree:
        options = set(re.findall(r"(?:^  |,)(--[a-z0-9-]+)", text, re.MULTILINE))
        offered = complete(shell, ["qtx", *words, "--"])
        expect(options <= offered, f"{shell}: qtx {' '.join(words)}: {sorted(options - offered)} are not offered")
    below = {words[0] for words, _ in tree if len(words) == 1}
    expect(complete(shell, ["qtx", ""]) >= below, f"{shell}: not all commands are offered")
    expect(complete(shell, ["qtx", "help", "spec", "h"]) == {"html"}, f"{shell}: help spec h")
    expect(complete(shell, ["qtx", "spec", "c"]) == {"coverage"}, f"{shell}: spec c")
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/a.onnx", "w", encoding="ascii").close()
        for words in (["check", ""], ["convert", "--with", ""]):
            expect("a.onnx" in complete(shell, ["qtx", *words], folder), f"{shell}: no files after {words}")
        expect("a.onnx" not in complete(shell, ["qtx", "spec", ""], folder), f"{shell}: files after spec")
    expect(complete(shell, ["qtx", "convert", "--eight-bits", ""]) == {"int8", "uint8"}, f"{shell}: values")


def test_manual(tree):
    page = output("manual")
    run = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-c"], input=page, capture_output=True, text=True, check=False)
    expect(run.returncode == 0 and not run.stderr, f"groff: {run.stderr[:500]}")
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", run.stdout)
    for words, help_text in tree:
        expect(not words or f"qtx {' '.join(words)}\n" in text, f"manual: no section of qtx {' '.join(words)}")
        for option in re.findall(r"(?:^  |,)(--[a-z0-9-]+)", help_text, re.MULTILINE):
            expect(option in text, f"manual: no {option}")


def test_words():
    for words, says in [(["conver", "a.tflite"], "found no command 'conver'; the nearest is convert"),
                        (["spec", "hmtl"], "found no command 'hmtl'; the nearest is html"),
                        (["help", "qantize"], "found no command 'qantize'; the nearest is quantize"),
                        (["nosuch"], "found no command 'nosuch'"), (["--bad"], "found no option '--bad'"),
                        (["help", "--bad"], "found no command '--bad'"),
                        (["help", "convert", "it"], "found no command 'it'")]:
        run = subprocess.run([QTX, *words], capture_output=True, text=True, check=False)
        expect(run.returncode == 2 and run.stderr == f"qtx: {says} (see qtx --help)\n", f"{words}: {run.stderr}")
    expect(output("help", "spec", "run") == output("spec", "run", "--help"), "help spec run")
    expect(output("help") == output("--help"), "help")


def main():
    tree = commands()
    expect(len(tree) > 20, f"--help lists {len(tree)} commands")
    for shell in ("bash", "zsh", "fish"):
        test_completion(shell, tree)
    test_manual(tree)
    test_words()
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
