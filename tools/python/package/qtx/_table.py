"""Tables for terminals and notebooks."""

import html


def _cell(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


_WIDEST = 40  # characters of a cell of text


def short(cell):
    """A text without its middle, where it is long."""
    return cell if len(cell) <= _WIDEST else f"{cell[:_WIDEST // 2 - 1]}..{cell[-_WIDEST // 2 + 1:]}"


def text(headers, rows, whole=False):
    """Columns aligned with blanks: numbers to the right, texts to the left, those that are long without their middle.

    whole: the last column, too, has its texts whole.
    """
    cells = [list(headers)] + [[short(_cell(value)) for value in row] for row in rows]
    if whole:
        for row, given in zip(cells[1:], rows):
            row[-1] = _cell(given[-1])
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    right = [bool(rows) and all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(headers))]
    lines = []
    for row in cells:
        parts = [cell.rjust(width) if is_right else cell.ljust(width)
                 for cell, width, is_right in zip(row, widths, right)]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def markup(caption, headers, rows):
    """An HTML table; every text is escaped."""
    head = "".join(f"<th>{html.escape(header)}</th>" for header in headers)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows)
    return (f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>")


def page(title, caption, headers, rows):
    """A page with one table, without anything from elsewhere."""
    style = ("body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}caption{text-align:left;padding:.5em 0}"
             "th,td{border:1px solid #999;padding:.2em .6em;text-align:left}")
    return (f"<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{html.escape(title)}</title>"
            f"<style>{style}</style></head><body>{markup(caption, headers, rows)}</body></html>\n")
