"""The mutation operators: what each node of a syntax tree may be replaced by.

`Candidates` walks the trees that libclang made of the sources and yields one `Candidate` for each small fault that it
could plant: a comparison with its neighbour, a constant one off, a term dropped, a clamp left out, a statement removed.
"""

import ctypes
import dataclasses
import re

from clang.cindex import CursorKind, TypeKind, conf

RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|"}
LOGIC = {"&&": "||", "||": "&&"}
COMPOUND = {"+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<="}
ROUNDINGS = {"nearbyint": "round", "nearbyintf": "roundf", "rint": "round", "lrint": "lround", "llrint": "llround",
             "round": "nearbyint", "lround": "lrint", "roundf": "nearbyintf", "floor": "ceil", "ceil": "floor",
             "floorf": "ceilf", "ceilf": "floorf", "trunc": "floor"}
WAITS = {"wait", "join", "notify_all", "notify_one", "lock", "unlock", "fetch_add", "store"}
# What an integer of 64 bits that passes through 32 is named where it is a number. Other ones are positions, sizes and
# strides: those pass 2^31 in a tensor of 2 GiB alone, which no case holds.
NUMBER = re.compile(r"\b(?:\w*(?:stored|offset|integer|value|mantissa|sum|magnitude|bias|addend|carry|cells|range)\w*|"
                    r"(?:acc|dot|of_[hx]|quant_m\w+|min_?|max_?|zero|high|low|left|right|shifted|half|cube|error)(?!\.))\b(?!\.(?:data|columns|rows))",
                    re.IGNORECASE)
# Functions whose result chooses between kernels that compute the same, by time: no input tells their mutants apart.
CHOICES = {"PaysAsBytes"}
# Calls whose arguments choose a layout in memory, which no result depends on.
LAYOUTS = {"LayoutOf"}
# What a bound of an error is named, in a declaration, an assignment or a record. A wider one only sends a result to the exact
# path, with the same value; a narrower one shows where a result lies closer to a tie than two estimates, some 2^-50 of it. No
# case can seek that out without knowing the estimate: tests beside the code compare bounds with MPFR.
BOUND = re.compile(r"(?:error|bound|doubt|slack)s?_?")
NUMBERS_ONLY = re.compile(r"/reference/src/arithmetic/|/fixed_point\.cc$")  # files that hold no positions, or few
# Functions whose arguments, or the first two of them, may change places: exact sums and products, comparisons for equality.
SYMMETRIC = {"min", "max", "swap", "hypot", "mpq_equal", "mpfr_equal_p", "lcm", "TwoSum", "SameRange", "MapsAlike"}
SYMMETRIC_START = {"fma", "fmaf"}
INTEGER = re.compile(r"(0[xX][0-9a-fA-F']+|[0-9][0-9']*)([uUlL]*)")
FLOAT = re.compile(r"(?:0[xX][0-9a-fA-F.']+[pP][-+]?[0-9]+|[0-9.']+(?:[eE][-+]?[0-9]+)?)[fFlL]?")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
WIDE = {TypeKind.LONG: ("std::int64_t", "std::int32_t"), TypeKind.LONGLONG: ("std::int64_t", "std::int32_t"),
        TypeKind.DOUBLE: ("double", "float")}
NUMBERS = {TypeKind.INT, TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.FLOAT, TypeKind.DOUBLE, TypeKind.BOOL,
           TypeKind.SHORT, TypeKind.USHORT, TypeKind.SCHAR, TypeKind.UCHAR}
FLOATING = {TypeKind.FLOAT, TypeKind.DOUBLE}
FUNCTIONS = {CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD, CursorKind.CONSTRUCTOR, CursorKind.DESTRUCTOR,
             CursorKind.FUNCTION_TEMPLATE, CursorKind.CONVERSION_FUNCTION, CursorKind.LAMBDA_EXPR}
SCOPES = FUNCTIONS | {CursorKind.COMPOUND_STMT, CursorKind.FOR_STMT, CursorKind.IF_STMT, CursorKind.WHILE_STMT,
                      CursorKind.CXX_FOR_RANGE_STMT}
REFERENCES = {CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR, CursorKind.TYPE_REF, CursorKind.TEMPLATE_REF}
# What a statement's removal takes: a value that is computed and not returned.
EFFECTS = {CursorKind.CALL_EXPR, CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR,
           CursorKind.UNARY_OPERATOR, CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT}
LONGEST = 240  # characters of an expression that is written out again


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A fault that can be planted: the text from `start` to `end` of `file` becomes `mutated`."""
    file: str
    start: int
    end: int
    rule: str
    original: str
    mutated: str
    removes: bool = False  # a statement, which is skipped; `mutated` is empty

    @property
    def inverts(self):
        """True for a condition that becomes its opposite, whatever type it was made of."""
        return self.rule == "condition" or (self.rule == "negation" and self.original.startswith("!"))


def file_offset(location):
    """The file and offset where a token is written; of a macro's own tokens those of its use."""
    file, line, column, offset = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    conf.lib.clang_getFileLocation(location, ctypes.byref(file), ctypes.byref(line), ctypes.byref(column),
                                   ctypes.byref(offset))
    return offset.value


def siblings(declaration, kind):
    """The declarations of one kind and type beside `declaration`, in order."""
    parent = declaration.semantic_parent
    if parent is None:
        return []
    wanted = declaration.type.get_canonical().spelling
    return [child for child in parent.get_children()
            if child.kind == kind and child.type.get_canonical().spelling == wanted]


def written(cursor):
    """The expression without the conversions that the compiler adds."""
    children = list(cursor.get_children())
    while cursor.kind == CursorKind.UNEXPOSED_EXPR and len(children) == 1:
        cursor = children[0]
        children = list(cursor.get_children())
    return cursor


def following(declaration, kind):
    """The next of `siblings`, the first after the last; None where there is no other."""
    names = [child.spelling for child in siblings(declaration, kind)]
    if len(names) < 2 or declaration.spelling not in names:
        return None
    return names[(names.index(declaration.spelling) + 1) % len(names)]


class Walk:
    """One file's part of a translation unit."""

    def __init__(self, name, text, macros):
        self.name = name
        self.text = text
        self.macros = macros  # {offset of a use: name}
        self.visible = []  # local variables, innermost last
        self.found = {}

    def span(self, cursor):
        return file_offset(cursor.extent.start), file_offset(cursor.extent.end)

    def add(self, span, rule, mutated, removes=False):
        start, end = span
        original = self.text[start:end]
        if mutated == original or len(original) > LONGEST or "[" in original and "] {" in original or "\n#" in original:
            return
        candidate = Candidate(self.name, start, end, rule, original, mutated, removes)
        self.found.setdefault((start, end, mutated, removes), candidate)

    def visit(self, cursor, parent):
        """Adds the candidates of `cursor` and of what it contains."""
        start, end = self.span(cursor)
        macro = self.macros.get(start)
        if cursor.kind in FUNCTIONS and cursor.spelling in CHOICES:
            return
        if macro == "assert" or self.is_constant(cursor, start) or self.is_text(cursor) or self.is_capacity(cursor):
            return
        if cursor.kind == CursorKind.CALL_EXPR and cursor.spelling in LAYOUTS:
            return
        if self.is_bound(cursor):
            return
        depth = len(self.visible)
        if macro is None and start < end <= len(self.text):
            self.apply(cursor, parent, (start, end))
        children = list(cursor.get_children())
        for child in children:
            if child.kind == CursorKind.INTEGER_LITERAL and not self.is_value(cursor, child):
                continue
            if (cursor.kind == CursorKind.CASE_STMT and child == children[0]) or self.is_estimate(cursor, child):
                continue
            if self.is_bound_of_record(cursor, children, child):
                continue
            self.visit(child, cursor)
        if cursor.kind in SCOPES:
            del self.visible[depth:]
        elif cursor.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL) and cursor.type.get_canonical().kind in NUMBERS:
            self.visible.append(cursor)  # after its own initial value, where it has none yet

    def is_value(self, cursor, literal):
        """False for an argument of a template or the bound of an array, which are constants."""
        if cursor.kind in REFERENCES:
            return False
        if cursor.kind in (CursorKind.VAR_DECL, CursorKind.FIELD_DECL, CursorKind.PARM_DECL):
            return file_offset(literal.extent.start) > file_offset(cursor.location)
        return True

    def is_constant(self, cursor, start):
        """True for what is computed before the program runs, where no switch could be read."""
        kind = cursor.kind
        if kind in (CursorKind.STATIC_ASSERT, CursorKind.ENUM_DECL, CursorKind.TEMPLATE_NON_TYPE_PARAMETER):
            return True
        if kind in FUNCTIONS:  # the engine and the reference make tables of constants with those
            return "constexpr" in self.text[start:file_offset(cursor.location)]
        if kind == CursorKind.IF_STMT and re.match(r"if\s+constexpr", self.text[start:start + 20]):
            return False  # its branches are not; its condition is left out by `apply`
        if kind != CursorKind.VAR_DECL:
            return False
        if "constexpr" in self.text[start:file_offset(cursor.location)]:
            return True
        return cursor.semantic_parent is not None and cursor.semantic_parent.kind in (
            CursorKind.NAMESPACE, CursorKind.TRANSLATION_UNIT, CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL)

    def is_capacity(self, cursor):
        """True for what only memory and time depend on: a reservation."""
        return cursor.kind == CursorKind.CALL_EXPR and cursor.spelling == "reserve"

    def is_estimate(self, cursor, child):
        """True for the estimated time of a loop (engine/threads.h), which chooses its threads: results do not depend on those."""
        if cursor.kind != CursorKind.CALL_EXPR or cursor.spelling != "For":
            return False
        arguments = list(cursor.get_arguments())
        return len(arguments) == 3 and child == arguments[1]

    def is_bound(self, cursor):
        """True for a statement that sets the bound of an error, a floating number."""
        if cursor.type.get_canonical().kind not in FLOATING:
            return False
        if cursor.kind == CursorKind.VAR_DECL:
            return BOUND.fullmatch(cursor.spelling) is not None
        children = list(cursor.get_children())
        if cursor.kind not in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR) or len(children) != 2:
            return False
        (start, end), (right, _) = self.span(children[0]), self.span(children[1])
        assigns = re.fullmatch(r"\s*[-+*/]?=\s*", self.text[end:right])
        return assigns is not None and BOUND.fullmatch(re.split(r"\W", self.text[start:end])[-1]) is not None

    @staticmethod
    def is_bound_of_record(cursor, children, child):
        """True for what a list in braces gives a field that is the bound of an error."""
        if cursor.kind != CursorKind.INIT_LIST_EXPR:
            return False
        fields = list(cursor.type.get_canonical().get_fields())
        at = children.index(child)
        return (at < len(fields) and fields[at].type.get_canonical().kind in FLOATING and
                BOUND.fullmatch(fields[at].spelling) is not None)

    def is_text(self, cursor):
        """True for what only a message says, which no case compares."""
        return cursor.kind in (CursorKind.CALL_EXPR, CursorKind.BINARY_OPERATOR) and (
            "basic_string<" in cursor.type.get_canonical().spelling or cursor.spelling in ("to_string", "Format"))

    def apply(self, cursor, parent, span):
        kind = cursor.kind
        if kind in EFFECTS or kind == CursorKind.RETURN_STMT:
            self.removal(cursor, parent, span)
        if kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
            children = list(cursor.get_children())
            if len(children) == 2:
                self.binary(cursor, span, children)
        elif kind == CursorKind.CALL_EXPR:
            self.call(cursor, parent, span)
        elif kind == CursorKind.UNARY_OPERATOR and self.text[span[0]] in "-!":
            self.add(span, "negation", self.text[span[0] + 1:span[1]])
        elif kind in (CursorKind.IF_STMT, CursorKind.CONDITIONAL_OPERATOR):
            self.condition(cursor, span)
        elif kind in (CursorKind.INTEGER_LITERAL, CursorKind.FLOATING_LITERAL, CursorKind.CXX_BOOL_LITERAL_EXPR):
            self.literal(kind, span)
        elif kind in (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR):
            self.reference(cursor, parent, span)
        elif kind == CursorKind.CXX_STATIC_CAST_EXPR:
            self.width(cursor, [written(child) for child in list(cursor.get_children())[-1:]], span)

    def removal(self, cursor, parent, span):
        """A statement that is skipped: a reset, a call, a wait, an early return."""
        if parent is None:
            return
        body = parent.kind == CursorKind.COMPOUND_STMT or (
            parent.kind in (CursorKind.IF_STMT, CursorKind.FOR_STMT, CursorKind.CXX_FOR_RANGE_STMT)
            and list(parent.get_children())[-1] == cursor)
        if not body or (cursor.kind == CursorKind.RETURN_STMT and parent.kind != CursorKind.IF_STMT):
            return
        rule = "wait" if cursor.kind == CursorKind.CALL_EXPR and cursor.spelling in WAITS else "statement"
        self.add(span, rule, "", removes=True)

    def binary(self, cursor, span, operands):
        left, right = (self.span(operand) for operand in operands)
        operator = COMMENT.sub("", self.text[left[1]:right[0]]).strip()
        lhs, rhs = self.text[span[0]:left[1]], self.text[right[0]:span[1]]
        gap = self.text[left[1]:right[0]]
        for rule, table in (("relation", RELATIONS), ("arithmetic", ARITHMETIC), ("logic", LOGIC), ("arithmetic", COMPOUND)):
            if operator in table:
                self.add(span, rule, lhs + gap.replace(operator, table[operator], 1) + rhs)
        if operator in ("+", "-"):
            self.add(span, "term", lhs)
        if operator in ("*", "-"):
            self.width(cursor, operands, span)
        if operator == "+=" and self.is_number(cursor, span):
            wide, narrow = WIDE[cursor.type.get_canonical().kind]
            self.add(span, "width", f"{lhs} = static_cast<{wide}>(static_cast<{narrow}>({lhs} + ({rhs})))")

    def is_number(self, cursor, span):
        """False for integers that are positions, and for what is not of 64 bits."""
        kind = cursor.type.get_canonical().kind
        if kind == TypeKind.DOUBLE:
            return True
        return kind in WIDE and bool(NUMBERS_ONLY.search(self.name) or NUMBER.search(self.text[span[0]:span[1]]))

    def width(self, cursor, operands, span):
        """A number of 64 bits that passes through 32."""
        names = WIDE.get(cursor.type.get_canonical().kind)
        if names and self.is_number(cursor, span) and any(operand.type.get_canonical().kind in WIDE for operand in operands):
            self.add(span, "width", f"static_cast<{names[0]}>(static_cast<{names[1]}>({self.text[span[0]:span[1]]}))")

    def call(self, cursor, parent, span):
        arguments = list(cursor.get_arguments())
        spans = [self.span(argument) for argument in arguments]
        texts = [self.text[start:end] for start, end in spans]
        if cursor.spelling.startswith("operator") and len(arguments) == 2 and spans[0][1] < spans[1][0]:
            return self.binary(cursor, span, arguments)
        constructs = parent is not None and parent.kind == CursorKind.VAR_DECL and span[0] == file_offset(parent.location)
        if constructs or not spans or any(not span[0] < start < end for start, end in spans):
            return None
        head = self.text[span[0]:spans[0][0]]
        callee = re.search(r"(\w+)\s*(?:<[^()]*>)?\s*\($", head)  # of a template's call, which has no spelling
        name = cursor.spelling or (callee[1] if callee else "")
        if name == "clamp":
            self.add(span, "saturation", texts[0])
        if name in ("min", "max") and len(texts) == 2:
            for text in texts:
                self.add(span, "saturation", text)
        if name in ROUNDINGS and name in head:
            self.add(span, "rounding", head.replace(name, ROUNDINGS[name], 1) + self.text[spans[0][0]:span[1]])
        for i in range(1 if name in SYMMETRIC_START else 0, 0 if name in SYMMETRIC else len(spans) - 1):
            types = [argument.type.get_canonical().spelling for argument in arguments[i:i + 2]]
            if types[0] == types[1] and texts[i] != texts[i + 1]:
                (first, first_end), (second, second_end) = spans[i:i + 2]
                self.add(span, "order", self.text[span[0]:first] + texts[i + 1] + self.text[first_end:second] + texts[i] +
                         self.text[second_end:span[1]])
        return None

    def condition(self, cursor, span):
        """A condition that is negated. That of `if constexpr`, or with a declaration, stays as it is."""
        children = list(cursor.get_children())
        if cursor.kind == CursorKind.IF_STMT:
            head = self.text[span[0]:self.span(children[0])[0]]
            if not re.fullmatch(r"if\s*\(\s*", head) or children[0].kind in (CursorKind.DECL_STMT, CursorKind.VAR_DECL):
                return
        start, end = self.span(children[0])
        if start not in self.macros:
            self.add((start, end), "condition", f"!({self.text[start:end]})")

    def literal(self, kind, span):
        text = self.text[span[0]:span[1]]
        if kind == CursorKind.CXX_BOOL_LITERAL_EXPR:
            self.add(span, "constant", {"true": "false", "false": "true"}.get(text, text))
        elif match := INTEGER.fullmatch(text):
            value = int(match[1].replace("'", ""), 0)
            self.add(span, "constant", f"{value + 1}{match[2]}")
            if value > 0 or not match[2]:
                self.add(span, "constant", f"{value - 1}{match[2]}")
        elif FLOAT.fullmatch(text):  # half of 0 is 0
            self.add(span, "constant", f"({text} / 2)" if re.search("[1-9a-fA-F]", text.rstrip("fFlL")) else f"({text} + 1)")

    def reference(self, cursor, parent, span):
        """Another enumerator, field or local variable of the same type: channel for group, one axis for another."""
        target = cursor.referenced
        name = cursor.spelling
        if target is None or not self.text[span[0]:span[1]].endswith(name):
            return
        head = self.text[span[0]:span[1] - len(name)]
        if target.kind == CursorKind.ENUM_CONSTANT_DECL:
            other = following(target, CursorKind.ENUM_CONSTANT_DECL)
            rule = "enumerator"
        elif target.kind == CursorKind.FIELD_DECL and target.type.get_canonical().kind in NUMBERS:
            other = following(target, CursorKind.FIELD_DECL)
            rule = "variable"
        else:
            other = self.neighbour(target)
            rule = "variable"
        if other:
            self.add(span, rule, head + other)

    def neighbour(self, target):
        """The local variable of the same type declared last before `target`, else the next after it."""
        if target.kind not in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
            return None
        wanted = target.type.get_canonical()
        alike = [variable for variable in self.visible
                 if variable.type.get_canonical().kind == wanted.kind and variable.spelling]
        at = [i for i, variable in enumerate(alike) if variable == target]
        if not at:
            return None
        others = [alike[at[0] - 1]] if at[0] > 0 else alike[1:2]
        return others[0].spelling if others and others[0].spelling != target.spelling else None


def candidates(unit, texts, done):
    """The candidates of the files of `texts` ({name: text}) that `unit` includes and `done` does not yet hold."""
    macros = {}
    roots = {}
    for cursor in unit.cursor.get_children():
        file = cursor.location.file
        if file is None or file.name not in texts or file.name in done:
            continue
        if cursor.kind == CursorKind.MACRO_INSTANTIATION:
            macros.setdefault(file.name, {})[file_offset(cursor.extent.start)] = cursor.spelling
        elif not cursor.kind.is_preprocessing():
            roots.setdefault(file.name, []).append(cursor)
    found = []
    for name, cursors in roots.items():
        walk = Walk(name, texts[name], macros.get(name, {}))
        for cursor in cursors:
            walk.visit(cursor, None)
        found.extend(walk.found.values())
        done.add(name)
    return found
