"""The second reading shares no code: qtx_text imports itself and the standard library, and loads no library."""
import ast
import pathlib
import sys

ALLOWED = {"bisect", "ctypes", "fractions", "functools", "itertools", "math", "struct", "sys", "traceback", "types"}


def faults(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = []
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ctypes":
                names = [] if node.attr == "c_float" else ["ctypes." + node.attr]
        yield from ("%s:%d: %s" % (path, node.lineno, name) for name in names if name not in ALLOWED)


def main():
    files = sorted(pathlib.Path("qtx_text").rglob("*.py"))
    found = [fault for path in files for fault in faults(path)]
    print("\n".join(found) if found else "%d modules stand alone" % len(files))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
