#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks the manual pages of doc/man against the help texts of the programs.

Usage: check_man.py SOURCE_ROOT BUILD_ROOT

mandoc finds no warning, and lexgrog of man-db reads the name. Each page has the usual sections. A
page and the help of its program list the same options, commands and exit statuses. Each example
names an existing program with these options. The code has the messages under DIAGNOSTICS. Each
reference to a page of Weir leads to a file. Without one of the two tools its check is skipped,
except in CI and in tools/test, which installs both.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools/manual"))
from check_documents import PROGRAMS, Programs, check_command, commands_of  # noqa: E402
from manual import all_options, ask, options_of  # noqa: E402

PAGES = {"weir": "8", "weirctl": "8", "weirsim": "1", "weir-exporter": "8", "weir-import": "8",
         "weir-support": "8"}
SECTIONS = ("NAME", "SYNOPSIS", "DESCRIPTION", "FILES", "EXIT STATUS", "EXAMPLES", "DIAGNOSTICS",
            "SEE ALSO")
SECTIONS_OF_A_FILE = ("NAME", "DESCRIPTION", "FILES", "EXAMPLES", "SEE ALSO")
# Messages of libraries.
FOREIGN = {"No such file or directory", "Address already in use", "File exists",
           "unknown file format"}
TOOLS = {"mandoc": ("-T", "lint", "-W", "warning"), "lexgrog": ()}
WAIT_S = 60


class Page:
    """The facts of a page in mdoc."""

    def __init__(self, text):
        parts = re.split(r"^\.Sh (.*)\n", text, flags=re.M)
        self.sections = dict(zip(parts[1::2], parts[2::2]))
        items = re.findall(r"^\.It (.*)$", text, re.M)
        self.options = {option for line in items for option in flags(line)}
        self.synopsis = {option for line in self.sections.get("SYNOPSIS", "").splitlines()
                         for option in flags(line)}
        self.commands = {line.split()[1] for line in items if line.startswith("Cm ")}
        self.statuses = set(re.findall(r"^\.It (\d+)$", self.sections.get("EXIT STATUS", ""), re.M))
        self.messages = [line.replace('""', "\\0").strip('"').replace("\\0", '"') for line in
                         re.findall(r"^\.It (.*)$", self.sections.get("DIAGNOSTICS", ""), re.M)]
        self.references = re.findall(r"^\.Xr (weir\S*) (\d)", text, re.M)
        blocks = re.findall(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$|^\.Dl (.*)$", text, re.M)
        self.examples = [line.replace("\\-", "-") for block, line_alone in blocks
                         for line in (block or line_alone).splitlines()]


def flags(line):
    """Yields the options of a line of macros: `Fl h , Fl -help` has -h and --help."""
    within = False
    for word in line.split():
        if re.fullmatch(r"\.?[A-Z][a-z]", word):
            within = word.endswith("Fl")
        elif within and re.fullmatch(r"-?[a-z][\w-]*", word):
            yield "-" + word


class Said:
    """The options, commands and exit statuses of the help texts of a program."""

    def __init__(self, program):
        main = ask([program])
        more = any("COMMAND --help" in text for text in main.words)
        texts = [ask([program], item.names[0]) for item in main.commands if more]
        items = [*options_of(main), *(item for text in texts for item in all_options(main, text))]
        names = [name for item in items + main.commands for name in item.names]
        self.options = {re.match(r"-[\w-]+", name)[0] for name in names if name.startswith("-")}
        self.commands = {item.names[0] for item in main.commands} - self.options
        self.statuses = {number for text in (main, *texts)
                         for number in re.findall(r"\b\d+\b", text.status)}


def check_difference(kind, page, said):
    """Yields the members of one set that the other lacks."""
    yield from (f"{kind} {name}: --help does not list it" for name in sorted(page - said))
    yield from (f"{kind} {name}: only --help lists it" for name in sorted(said - page))


@functools.cache
def messages_of_code(root):
    """Returns the code of all programs, with each literal in one piece."""
    paths = [path for folder in ("app", "lib", "drivers") for path in (root / folder).rglob("*")
             if path.suffix in (".c", ".h", ".py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return re.sub(r'"\s*f?"', "", text.replace('\\"', "\0")).replace("\0", '"')


def check_message(root, message):
    """Yields a complaint if the code lacks the longest part of a message without a value."""
    parts = set(re.split(r": |\b[A-Z]{2,}\b|\b[NM]\b|\d+%?|\"|/\S+", message)) - FOREIGN
    part = max((part.strip(" ?") for part in parts), key=len)
    if part not in messages_of_code(root):
        yield f"DIAGNOSTICS: {message!r}: the code does not have {part!r}"


def check_tools(path):
    """Yields the complaints of mandoc and lexgrog."""
    for tool, options in TOOLS.items():
        if not shutil.which(tool):
            continue
        done = subprocess.run([tool, *options, str(path)], capture_output=True, text=True,
                              check=False, timeout=WAIT_S)
        # mandoc also prints complaints about pages that are not installed yet.
        lines = [line for line in (done.stdout + done.stderr).splitlines()
                 if tool == "lexgrog" or f"{path.name}:" in line]
        if tool == "mandoc":
            yield from lines
        elif done.returncode or f'"{path.stem} - ' not in done.stdout:
            yield f"lexgrog does not read its name: {done.stdout}{done.stderr}"


def check_page(path, programs):
    """Yields the faults of one page."""
    page = Page(path.read_text(encoding="utf-8"))
    for section in SECTIONS if path.stem in PAGES else SECTIONS_OF_A_FILE:
        if section not in page.sections:
            yield f"no section {section}"
    for name, section in page.references:
        if not (path.parent / f"{name}.{section}").exists():
            yield f"no page {name}({section})"
    for line in page.examples:
        for words in commands_of(line):
            yield from (f"{line}: {fault}" for fault in check_command(programs, words))
    for message in page.messages:
        yield from check_message(programs.root, message)
    yield from check_tools(path)
    if path.stem not in PAGES:
        return
    said = Said(str(programs.build / PROGRAMS[path.stem]))
    if "--netflow" not in said.options:  # a build without flow records
        page.synopsis, page.options = ({name for name in names if "--netflow" not in name}
                                       for names in (page.synopsis, page.options))
    yield from check_difference("option", page.options, said.options)
    yield from check_difference("command", page.commands, said.commands)
    yield from check_difference("exit status", page.statuses, said.statuses)
    yield from (f"SYNOPSIS: no option {name}" for name in sorted(page.synopsis - said.options))


def main():
    """Prints a line a complaint; exits with 1 if there are any."""
    root, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    programs = Programs(root, build)
    paths = sorted((root / "doc/man").iterdir())
    complaints = [f"{path.name}: {words}" for path in paths
                  for words in check_page(path, programs)]
    complaints += [f"no page {name}.{section}" for name, section in PAGES.items()
                   if root / f"doc/man/{name}.{section}" not in paths]
    for tool in TOOLS:
        if shutil.which(tool):
            continue
        if os.environ.get("CI") or os.environ.get("WEIR_TOOLS") == "all":
            complaints.append(f"{tool} is not installed: run tools/setup test")
        else:
            print(f"skipped: {tool} is not installed")
    print("\n".join(complaints) or f"{len(paths)} pages, nothing to complain about")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
