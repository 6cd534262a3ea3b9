#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Writes the completion for a shell from the help texts of a program.

Usage: manual.py bash|zsh|fish [EMULATOR] PROGRAM

test/unit/check_man.py compares the same help texts with the manual pages.
"""

import collections
import os
import re
import subprocess
import sys

Item = collections.namedtuple("Item", "names value text")  # a command or an option
# Values that are files of any name, and values that the shell can complete by itself.
FILES = re.compile(r"\b(CONFIG|FILE|SOCKET|CAPTURE|SCENARIO)\b")
LIMITERS = re.compile(r"\bLIMITER\b")
SOCKETS = "/run/weir/*.sock"
# Values that a running limiter provides, by `PROGRAM names KIND`.
NAMES = {"POLICY": "policies", "PEER": "peers"}
# Begin of the line in a command's help for the program's common options.
COMMON = "Options of all commands: "


class Help:
    """A program's help, split into its parts."""

    def __init__(self, text):
        self.usage, self.words, self.commands, self.options = [], [], [], []
        self.status = ""
        for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
            self.read(paragraph.splitlines())

    def read(self, lines):
        """Parses one paragraph: the usage, rows of a table, or prose."""
        if lines[0].startswith("Usage: "):
            self.usage.append(lines.pop(0).removeprefix("Usage: "))
            while lines and lines[0].startswith("  "):
                self.usage.append(lines.pop(0).strip())
        if not lines:
            return
        if lines[0].startswith("  "):
            for item in rows(lines):
                (self.options if item.names[0].startswith("-") else self.commands).append(item)
        elif lines[0].startswith("Exit status: "):
            self.status = " ".join(lines).removeprefix("Exit status: ")
        else:
            self.words.append(" ".join(lines))


def text_column(lines):
    """Returns the column at which most rows of a table have their text."""
    columns = collections.Counter(
        found.end() for line in lines for found in [re.match(r" {2,8}\S.*?\S {2,}(?=\S)", line)]
        if found)
    columns.update(len(line) - len(line.lstrip()) for line in lines if line.startswith(" " * 9))
    return columns.most_common(1)[0][0] if columns else 0


def rows(lines):
    """Returns the rows of a table: head and text, which can continue on later lines."""
    column, found = text_column(lines), []
    for line in lines:
        body = line.strip()
        if column and line[:column].strip() == "" and found:
            found[-1][1].append(body)
        elif column and len(line) > column and line[column - 1] == " " and line[column] != " ":
            found.append((line[:column].strip(), [line[column:]]))
        else:
            found.append((body, []))
    return [item_of(head, " ".join(text)) for head, text in found]


def item_of(head, text):
    """Parses `-c, --config CONFIG` or `policies [N]`."""
    names, rest = [], head
    while True:
        name, _, rest = rest.partition(" ")
        names.append(name.rstrip(","))
        if not name.endswith(","):
            return Item(names, rest.strip(), text)


def ask(program, *words):
    """Returns the help of a program, or of one of its commands."""
    done = subprocess.run([*program, *words, "--help"], capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL)
    return Help(done.stdout)


# --- completion ----------------------------------------------------------------------------------

def names_of(items):
    """Returns all names of the rows."""
    return [name for item in items for name in item.names]


def valued(options, kind):
    """Returns the names of the options whose value is of a kind."""
    return [name for item in options if kind.search(item.value) for name in item.names]


def first_words(main):
    """Returns the commands of a program, with their descriptions."""
    return [(item.names[0], item.text) for item in main.commands]


def options_of(main):
    """Returns the options of a program, and those after a command: `[--sort rate|drops]`."""
    return main.options + [
        Item([name], value, f"of {item.names[0]}") for item in main.commands
        for name, value in re.findall(r"\[(--[a-z-]+) ?([^\]]*)\]", item.value)]


def all_options(main, text):
    """Returns the options of a command, with the program's if it accepts them."""
    common = any(words.startswith(COMMON) for words in text.words)
    return text.options + (main.options if common else [])


def named(main):
    """Returns {kind of name: commands that are followed by such a name of a limiter}."""
    found = {}
    for item in main.commands:
        for word, kind in NAMES.items():
            if re.search(rf"\b{word}\b", item.value):
                found.setdefault(kind, []).append(item.names[0])
    return found


def flags(items):
    """Returns the names of options among rows."""
    return [name for name in names_of(items) if name.startswith("-")]


def bash(name, main, commands):
    """Yields a script for `complete -F`."""
    yield f"# Completion of {name} for bash, made from {name} --help."
    yield f"_{name}() {{"
    yield "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= i"
    if named(main):
        yield "\tlocal names= chosen=()"
    yield "\tlocal options=" + quoted(" ".join(flags(options_of(main) + main.commands)))
    yield "\tlocal commands=" + quoted(" ".join(name for name, _ in first_words(main)))
    yield "\tfor ((i = 1; i < COMP_CWORD; i++)); do"
    skipped = " && ${COMP_WORDS[i]} != @(watch|help)" if "watch" in names_of(main.commands) else ""
    yield "\t\t[[ -z $command && \" $commands \" == *\" ${COMP_WORDS[i]} \"*" + skipped + \
          " ]] && " \
          "command=${COMP_WORDS[i]}"
    if named(main):
        yield "\t\t[[ ${COMP_WORDS[i]} == -[sn] || ${COMP_WORDS[i]} == --@(socket|name) ]] && " \
              "chosen+=(\"${COMP_WORDS[i]}\" \"${COMP_WORDS[i + 1]}\")"
    yield "\tdone"
    yield "\tcase $command in"
    for command, text in commands.items():
        yield f"\t{command}) options=" + quoted(" ".join(flags(all_options(main, text)))) + " ;;"
    yield "\tesac"
    yield "\tcase $command in"
    for kind, those in named(main).items():
        yield f"\t{'|'.join(those)}) names=$({name} \"${{chosen[@]}}\" names {kind} 2>/dev/null) ;;"
    yield "\tesac"
    yield "\tcase $before in"
    for names, words in ((valued(main.options, FILES), "compgen -f -- \"$word\""),
                         (valued(main.options, LIMITERS),
                          f"compgen -W \"$(basename -as .sock {SOCKETS} 2>/dev/null)\" -- "
                          "\"$word\"")):
        if names:
            yield f"\t{'|'.join(names)})"
            yield f"\t\tmapfile -t COMPREPLY < <({words})"
            yield "\t\treturn ;;"
    yield "\tesac"
    yield "\tif [[ $word == -* ]]; then"
    yield "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")"
    yield "\telif [[ -z $command && -n $commands ]]; then"
    yield "\t\tmapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$word\")"
    if named(main):
        yield "\telif [[ -n $names ]]; then"
        yield "\t\tmapfile -t COMPREPLY < <(compgen -W \"$names\" -- \"$word\")"
    yield "\telse"
    yield "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
    yield "\tfi"
    yield "}"
    yield f"complete -o filenames -F _{name} {name}"


def quoted(text):
    """Quotes text for a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_option(item):
    """Returns an argument of _arguments."""
    value = f":{item.value or 'value'}:" + ("_files" if FILES.search(item.value) else "") \
        if item.value else ""
    text = re.sub(r"[\[\]:\\]", " ", item.text)
    return [quoted(f"{name}[{text}]{value}") for name in item.names]


def zsh(name, main, commands):
    """Yields a function of compsys."""
    yield f"#compdef {name}"
    yield f"# Completion of {name} for zsh, made from {name} --help."
    if named(main):
        yield f"_{name}_names() {{"
        yield "\tlocal -a chosen found; local -i i"
        yield "\tfor ((i = 2; i < CURRENT; i++)); do"
        yield "\t\t[[ $words[i] == -[sn] || $words[i] == --(socket|name) ]] && " \
              "chosen+=($words[i] $words[i+1])"
        yield "\tdone"
        yield f"\tfound=(${{(f)\"$({name} $chosen names $1 2>/dev/null)\"}})"
        yield "\tcompadd -a found"
        yield "}"
    yield "local -a commands options"
    yield "commands=(" + " ".join(quoted(f"{word}:{text}") for word, text in
                                  first_words(main)) + ")"
    yield "options=(" + " ".join(
        word for item in options_of(main) for word in zsh_option(item)) + ")"
    yield "case ${words[2]} in"
    for command, text in commands.items():
        kinds = [kind for kind, those in named(main).items() if command in those]
        words = f"'*:name:_{name}_names {kinds[0]}'" if kinds else "'*:file:_files'"
        yield f"{command}) _arguments " + " ".join(
            word for item in all_options(main, text) for word in zsh_option(item)) + f" {words} ;;"
    yield "*)"
    if main.commands:
        yield "\tif [[ $PREFIX != -* ]] && (( CURRENT == 2 || ${#words[(r)(" + "|".join(
            word for word, _ in first_words(main)) + ")]} == 0 )) && "  \
            "[[ ${words[CURRENT-1]} != -[sn] ]]; then"
        yield "\t\t_describe command commands && return"
        yield "\tfi"
    yield "\t_arguments $options '*:file:_files' ;;"
    yield "esac"


def fish(name, main, commands):
    """Yields lines of `complete`."""
    yield f"# Completion of {name} for fish, made from {name} --help."
    for word, text in first_words(main):
        yield f"complete -c {name} -f -n __fish_use_subcommand -a {word} -d {quoted(text)}"
    yield from fish_names(name, main)
    for item in options_of(main):
        yield fish_option(name, item, "")
    for command, text in commands.items():
        for item in text.options:
            yield fish_option(name, item, f" -n '__fish_seen_subcommand_from {command}'")


def fish_names(name, main):
    """Yields the functions that complete names from a limiter."""
    if not named(main):
        return
    yield f"function __{name}_names"
    yield "    set -l words (commandline -opc)"
    yield "    set -l chosen"
    yield "    for i in (seq 2 (count $words))"
    yield "        if contains -- $words[$i] -s -n --socket --name"
    yield "            set -a chosen $words[$i] $words[(math $i + 1)]"
    yield "        end"
    yield "    end"
    yield f"    {name} $chosen names $argv[1] 2>/dev/null"
    yield "end"
    for kind, those in named(main).items():
        yield (f"complete -c {name} -f -n '__fish_seen_subcommand_from {' '.join(those)}' "
               f"-a '(__{name}_names {kind})'")


def fish_option(name, item, when):
    """Returns one option."""
    words = [f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
             for word in item.names]
    return f"complete -c {name}{when} " + " ".join(words) + (" -r" if item.value else "") + (
        f" -d {quoted(item.text)}" if item.text else "")


def main_program():
    """Writes one document to standard output."""
    kind, *program = sys.argv[1:]
    name = os.path.basename(program[-1])
    main = ask(program)
    # Programs whose commands have their own help mention "COMMAND --help".
    more = any("COMMAND --help" in text for text in main.words)
    commands = {item.names[0]: ask(program, item.names[0]) for item in main.commands
                if more and not item.names[0].startswith("-")}
    lines = {"bash": bash, "zsh": zsh, "fish": fish}[kind](name, main, commands)
    print("\n".join(lines))


if __name__ == "__main__":
    main_program()
