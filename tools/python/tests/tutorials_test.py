"""The tutorials print what their pages say, and the runner notices where one does not."""

import json
import re

import pytest

from qtx import tutorials

PAGE = """# Sums

<!-- needs: nothing -->

```python
x = 2
```

Text.

```python
print(x + 1, "in 0.3 s")
print(x)
```

```text
3 in ... s
2
```

## More

<!-- needs: cc -->

```python
print(undefined)
```
"""


@pytest.fixture(name="page")
def saved_page(tmp_path, monkeypatch):
    monkeypatch.setitem(tutorials.NEEDS, "nothing", lambda: True)
    monkeypatch.setitem(tutorials.NEEDS, "cc", lambda: False)
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


@pytest.mark.parametrize("name", tutorials.names())
def test_a_tutorial_prints_what_its_page_says(name, capsys):
    count, missing = tutorials.run(tutorials.FOLDER / f"{name}.md")
    if count == 0:
        pytest.skip(f"needs {', '.join(missing)}")
    with capsys.disabled():
        print(f"\n{name}: {count} cells{''.join(f', without {need}' for need in missing)}")


def test_every_name_that_a_page_needs_is_known():
    for name in tutorials.names():
        for cell in tutorials.cells((tutorials.FOLDER / f"{name}.md").read_text(encoding="utf-8")):
            assert set(cell.needs) <= set(tutorials.NEEDS)


def test_cells_run_in_order_and_those_that_lack_something_do_not(page):
    assert [(cell.line, cell.needs) for cell in tutorials.cells(PAGE)] == [
        (6, ("nothing",)), (12, ("nothing",)), (26, ("nothing", "cc"))]
    assert tutorials.run(page) == (2, ["cc"])


@pytest.mark.parametrize("change", [("x = 2", "x = 3"), ("3 in", "4 in"), ("\n2\n", "\n"), ("x = 2", "x = 2; print(x)")])
def test_another_output_is_a_mismatch_that_names_the_line(page, change):
    page.write_text(PAGE.replace(*change))
    with pytest.raises(tutorials.Mismatch, match=rf"{re.escape(str(page))}:(6|12): "):
        tutorials.run(page)


def test_a_notebook_has_the_text_and_the_code_without_what_is_printed():
    book = json.loads(tutorials.notebook(PAGE))
    assert [cell["cell_type"] for cell in book["cells"]] == ["markdown", "code", "markdown", "code", "markdown", "code"]
    assert book["cells"][3]["source"].startswith("print(x + 1") and "in ... s" not in json.dumps(book)
    assert book["cells"][4]["source"].startswith("## More")
