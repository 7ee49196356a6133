"""Measured tables inside the texts, between markers that say of what: kept by scripts, compared by tests.

    <!-- NAME: onnx 1.23.2 -->
    | ... |
    <!-- end of NAME -->
"""
import argparse
import re
import sys


class Text:
    def __init__(self, path, name):
        self.path, self.name = path, name
        self.block = re.compile(rf"<!-- {name}: (?P<versions>[^>]+) -->\n(?P<table>.*?)<!-- end of {name} -->\n", re.S)

    def tables(self):
        return {m["versions"]: m["table"] for m in self.block.finditer(self.path.read_text())}

    def check(self, versions, table):
        """True unless the text has a table of these versions that says otherwise."""
        tables = self.tables()
        if versions in tables:
            differences = _compare(_cells(tables[versions]), _cells(table))
            for line in differences:
                print(f"{self.path.name}: {self.name}: {versions}: {line}")
            print(f"{versions}: {'not ' if differences else ''}as {self.path.name} says")
            return not differences
        others = [key for key in tables if _packages(key) == _packages(versions)]
        if not others:
            print(f"{versions}: {self.path.name} has no table of these packages")
            return True
        differences = _compare(_cells(tables[others[0]]), _cells(table))
        print(f"{versions}: the table of {self.path.name} is of {others[0]}; {len(differences)} cells differ, "
              "for information:")
        for line in differences:
            print(f"  {line}")
        return True

    def keep(self, options, groups, measure):
        """For each installed group the table and the messages that `measure` gives, as `options` say; True if all is well."""
        good = True
        for group in groups:
            if not group.installed():
                continue
            table, messages = measure(group)
            if options.check:
                good = self.check(group.versions(), table) and good
            elif options.write:
                self.write(group.versions(), table)
            else:
                print("\n".join(messages) if options.messages else f"{group.versions()}\n\n{table}")
        return good

    def write(self, versions, table):
        text = self.path.read_text()
        found = next((m for m in self.block.finditer(text) if m["versions"] == versions), None)
        if found is None:
            sys.exit(f"{self.path.name}: no markers '{self.name}: {versions}'; put them where the table belongs")
        block = f"<!-- {self.name}: {versions} -->\n{table}<!-- end of {self.name} -->\n"
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(text[:found.start()] + block + text[found.end():])
        temporary.replace(self.path)


def parser(description):
    """The options of keep()."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = made.add_mutually_exclusive_group()
    for name in ("check", "write", "messages"):
        mode.add_argument(f"--{name}", action="store_true")
    return made


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def table(head, rows):
    return row(head) + "|---" * len(head) + "|\n" + "".join(row(cells) for cells in rows)


def _packages(versions):
    return [part.split()[0] for part in versions.split(", ")]


def _cells(text):
    """{(first cell of the row, head of the column): cell}"""
    rows = [[cell.strip() for cell in line.strip()[1:-1].split(" | ")] for line in text.splitlines()
            if line.startswith("|") and not line.startswith("|---")]
    return {(cells[0], head): cell for cells in rows[1:] for head, cell in zip(rows[0][1:], cells[1:])}


def _compare(text, measured):
    return [f"{key[0]}: {key[1]}: the text says {text.get(key, 'nothing')}, measured {measured.get(key, 'nothing')}"
            for key in dict.fromkeys([*text, *measured]) if text.get(key) != measured.get(key)]
