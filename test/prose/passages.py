# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Extracts the English of a file: documents, comments, docstrings, messages, descriptions.

A passage is (line number, kind, text). Code, options, links' targets and licence lines are left
out. The kinds are "document", "comment" and "message".
"""

import ast
import html.parser
import io
import json
import re
import tokenize

CODE = "`x`"  # stands for a span of code, so that its sentence keeps its length
LICENCE = re.compile(r"SPDX-License-Identifier|Copyright \(c\)")
# A string that has this many words is a message, not an option, a format or a name.
WORDS_OF_A_MESSAGE = 3
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
FORMAT = re.compile(r"%[-+ #0]*[\d.*]*(?:hh|h|ll|l|z|j|t)?[a-zA-Z%]|\\[nt\"\\]|\{\w*\}")
C_TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
# Text between two literals that the compiler joins.
JOINT = re.compile(r"\s*(?:PRI\w+\s*)?")
DESCRIPTIONS = ("description", "title", "summary")


def is_message(text):
    """A literal is prose if it has several words with spaces between them."""
    plain = FORMAT.sub(" ", text)
    return len(WORD.findall(plain)) >= WORDS_OF_A_MESSAGE and " " in plain.strip()


def plain_message(text):
    """A literal without its formats; a new line in it ends a sentence."""
    text = text.replace("\\n", "\n").replace('\\"', '"').replace("\\t", " ")
    return FORMAT.sub(CODE, text)


def plain_comment(text):
    """A comment without its frame of asterisks or hashes, and without spans of code."""
    lines = []
    for line in text.split("\n"):
        line = re.sub(r"^\s*(?:/\*+|\*+/?|//+|#+)\s?", "", line)
        lines.append("" if LICENCE.search(line) else re.sub(r"\s*\*/\s*$", "", line))
    # An empty line, a list or an indented line begins another sentence.
    text = re.sub(r"\n(?=\s*(?:[-*•] |\d+[.)] |@|\t| {2,}|$))", "\n\n", "\n".join(lines))
    return re.sub(r"`[^`\n]+`", CODE, text)


def of_c(text, messages):
    """Comments of a C or JavaScript file, and its messages if they are wanted."""
    pending = None  # [line, text, end] of literals that may go on
    for found in C_TOKEN.finditer(text):
        token = found[0]
        line = text.count("\n", 0, found.start()) + 1
        if token[0] == '"' and pending and JOINT.fullmatch(text[pending[2]:found.start()]):
            pending[1] += token[1:-1]
            pending[2] = found.end()
            continue
        if pending:
            if is_message(pending[1]):
                yield pending[0], "message", plain_message(pending[1])
            pending = None
        if token[0] == "/":
            yield line, "comment", plain_comment(token)
        elif messages:
            pending = [line, token[1:-1], found.end()]
    if pending and is_message(pending[1]):
        yield pending[0], "message", plain_message(pending[1])


def docstrings(tree):
    """The expressions of a Python program that document it."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and \
                    isinstance(first.value.value, str):
                yield first.value


def of_python(text, messages):
    """Comments and docstrings of a Python program, and its messages if they are wanted."""
    block = None  # [first line, text, last line] of comments in a row
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or token.string.startswith("#!"):
            continue
        line, alone = token.start[0], not token.line[:token.start[1]].strip()
        if block and alone and line == block[2] + 1:
            block[1] += "\n" + token.string
            block[2] = line
            continue
        if block:
            yield block[0], "comment", plain_comment(block[1])
        block = [line, token.string, line if alone else -1]
    if block:
        yield block[0], "comment", plain_comment(block[1])
    tree = ast.parse(text)
    documented = list(docstrings(tree))
    for node in documented:
        yield node.lineno, "comment", plain_comment(node.value)
    if not messages:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and \
                not any(node is other for other in documented) and is_message(node.value):
            yield node.lineno, "message", plain_message(node.value)


def of_hashes(text, messages):
    """Comments of a shell script, a build file or a unit; strings that a script prints."""
    block = None
    for number, line in enumerate(text.split("\n"), 1):
        found = re.search(r"(?:^|\s)#(?!!)\s?(.*)$", line)
        if found and not re.search(r"['\"$]\S*$", line[:found.start()]):
            alone = not line[:found.start()].strip()
            if block and alone and block[2] == number - 1:
                block[1] += "\n" + found[1]
                block[2] = number
            else:
                if block:
                    yield block[0], "comment", plain_comment(block[1])
                block = [number, found[1], number if alone else -1]
        if messages:
            for said in re.findall(r'\b(?:echo|printf|die) "([^"]*)"', line):
                if is_message(said):
                    yield number, "message", plain_message(said)
    if block:
        yield block[0], "comment", plain_comment(block[1])


def of_records(text, names, margin):
    """Texts of `NAME: ...` in an alert rule, a package or a unit, with lines that go on."""
    for found in re.finditer(rf"^( *)(?:- )?(?:{names})[:=] *(.*(?:\n\1 {{{margin},}}\S.*)*)", text,
                             re.M):
        plain = re.sub(r"^[>|]-?\s|^ +\.$", "", found[2], flags=re.M)
        plain = re.sub(r"\{\{.*?\}\}", CODE, plain).replace("''", "'").strip("'\"")
        if names == "Description":  # the first line is a summary
            plain = plain.replace("\n", "\n\n", 1)
        if is_message(plain):
            yield text.count("\n", 0, found.start()) + 1, "message", plain


def of_json(text):
    """Titles and descriptions, which an editor or a dashboard shows."""
    for found in re.finditer(r'"(\w+)":\s*("(?:\\.|[^"\\])*")', text):
        if found[1] in DESCRIPTIONS and is_message(found[2]):
            yield text.count("\n", 0, found.start()) + 1, "message", json.loads(found[2])


class Shown(html.parser.HTMLParser):
    """Text between tags, and the attributes that are read out or shown."""

    def __init__(self):
        super().__init__()
        self.passages = []

    def add(self, text):
        """One piece that a reader meets."""
        if is_message(text):
            self.passages.append((self.getpos()[0], "message", " ".join(text.split())))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("title", "aria-label", "alt", "placeholder") and value:
                self.add(value)

    def handle_data(self, data):
        self.add(data)


def of_html(text):
    """Text that a page shows."""
    parser = Shown()
    parser.feed(text)
    yield from parser.passages


def of_markdown(text):
    """Paragraphs, headings, items and cells of a document, without code."""
    def blank(found):
        return "\n" * found[0].count("\n")
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.S)
    text = re.sub(r"^( *)```.*?^\1```$", blank, text, flags=re.M | re.S)
    # Indented code stands after an empty line that no item of a list precedes.
    text = re.sub(r"(?<=\n\n)(?: {4}|\t).*\n(?:(?: {4}|\t).*\n|\n(?= {4}|\t))*",
                  lambda found: found[0] if re.match(r"\s+(?:[-*]|\d+\.) ", found[0])
                  else blank(found), text)
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", lambda found: CODE + blank(found), text,
                  flags=re.S)
    text = re.sub(r"!?\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    paragraph, begun = [], 1
    for number, line in enumerate([*text.split("\n"), ""], 1):
        begins = re.match(r"\s*(?:#+ |[-*] |\d+\. |> |\||$)", line)
        if begins and paragraph:
            yield begun, "document", " ".join(paragraph)
            paragraph = []
        if re.match(r"\s*\|", line):
            for cell in line.strip().strip("|").split("|"):
                if WORD.search(cell):
                    yield number, "document", cell.strip(" *")
        elif line.strip():
            begun = begun if paragraph else number
            paragraph.append(re.sub(r"^\s*(?:#+|[-*]|\d+\.|>) ", "", line).strip())


def of_mdoc(text):
    """Paragraphs and items of a manual page, without literal blocks; a macro is a span of code."""
    paragraph, begun, literal = [], 1, False
    for number, line in enumerate([*text.split("\n"), ".Pp"], 1):
        macro = (re.match(r"\.(\w\w)\b", line) or " .")[1]
        literal = literal and macro != "Ed" or line.startswith(".Bd -literal")
        if literal or line.startswith('.\\"') or macro == "Dl":
            continue
        if macro in ("Dd", "Dt", "Os", "Sh", "Ss", "Pp", "Bl", "El", "It", "Bd", "Ed"):
            if WORD.search(" ".join(paragraph).replace(CODE, "")):
                yield begun, "document", " ".join(paragraph)
            paragraph = []
            continue
        begun = begun if paragraph else number
        if macro == "Nd":
            line = line.removeprefix(".Nd ")
        elif macro != ".":
            line = CODE + "".join(re.findall(r" ([.,;:)])(?= |$)", line))
        paragraph.append(re.sub(r"\\f.|\\", "", line))


def passages_of(name, text):
    """All passages of a file, by the kind of file of that name; tests have no messages."""
    messages = not name.startswith("test/")
    ending = name.rsplit("/", 1)[-1].rsplit(".", 1)[-1]
    if ending == "md":
        yield from of_markdown(text)
    elif ending in ("c", "h", "js", "css"):
        yield from of_c(text, messages)
    elif ending == "py":
        yield from of_python(text, messages)
    elif ending == "json":
        yield from of_json(text)
    elif ending == "html":
        yield from of_html(text)
    elif re.fullmatch(r"[1-8]", ending):
        yield from of_mdoc(text)
    elif text.startswith("#!/usr/bin/python3"):
        yield from of_python(text, messages)
    elif text.startswith("#") or ending in ("build", "yml", "conf", "txt", "in"):
        yield from of_hashes(text, messages)
        if ending == "yml" and ".test." not in name:
            yield from of_records(text, "summary|description", 2)
        elif ending in ("control", "in"):
            yield from of_records(text, "Description", 1)
