#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks commands, paths, links and configurations of the manual, so that readers can copy them.

Usage: check_documents.py [SOURCE_ROOT [BUILD_ROOT]]

The pages are README.md, CHANGELOG.md, CONTRIBUTING.md and doc/. Each command names a program that
exists and has these options. Each path and link leads to a file. weir accepts each configuration.
The tables list all keys and commands.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PROGRAMS = {"weir": "app/weir/weir", "weirctl": "app/weirctl/weirctl",
            "weirsim": "app/weirsim/weirsim", "weir-emu": "tools/emu/weir-emu",
            "weir-study": "tools/study/weir-study",
            "weir-exporter": "app/exporter/weir-exporter",
            "weir-import": "app/import/weir-import",
            "weir-support": "app/support/weir-support", "torture": "test/torture/torture"}
# Programs with a command as the first word; `PROGRAM COMMAND --help` describes it.
WITH_COMMANDS = {"weirctl": True, "weirsim": True, "weir-study": True}
# Words that can name a path of the tree.
TREE = re.compile(r"(?:\./)?(?:app|build|config|doc|drivers|lib|test|tools)/[\w./*-]+")
HELP_S = int(os.environ.get("WEIR_ANSWERS_S", "600"))  # seconds; longer means that it hangs
KEY_FILE = "/etc/weir/gossip.key"
IDENTITY_FILE = "/etc/weir/identity"
SECRET = "5a" * 32  # the manual shows its public key


class Page:
    """A document without blocks of other languages."""

    def __init__(self, root, path):
        self.name = str(path.relative_to(root))
        self.folder = path.parent
        text = path.read_text(encoding="utf-8")
        fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
        self.json = [body for language, body in fences if language == "json"]
        self.prose = re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.M | re.S)
        self.lines = [line for language, body in fences if not language
                      for line in body.replace("\\\n", " ").splitlines()]
        self.blocks = [re.sub(r"^ {4}", "", block, flags=re.M) for block in
                       re.findall(r"(?:^ {4}.*\n(?:\n(?= {4}))*)+", self.prose, re.M)]
        self.lines += [line for block in self.blocks for line in block.splitlines()]
        self.words = [" ".join(words.split()) for words in
                      re.findall(r"(?<!`)`([^`]+)`(?!`)", self.prose)]
        self.links = re.findall(r"\]\(([^)\s]+)\)", self.prose)

    def anchors(self):
        """Yields the anchors of the headings in GitHub's form."""
        for heading in re.findall(r"^#+ (.*)$", self.prose, re.M):
            yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def commands_of(line):
    """Yields each command of a line as a list of words."""
    line = line.removeprefix("$ ").split("  # ", 1)[0]
    for part in re.split(r"[;|]|&&", line.split(" # ", 1)[0]):
        try:
            words = shlex.split(part)
        except ValueError:  # prose with an apostrophe
            continue
        while words and (words[0] == "sudo" or re.fullmatch(r"[A-Z_]+=\S*", words[0])):
            words = words[1:]
        if words:
            yield [word.strip("[]") for word in words]


class Programs:
    """The built programs and their help texts."""

    def __init__(self, root, build):
        self.root, self.build = root, build

    def find(self, word):
        """Returns the path of a command's program, or None for a foreign one."""
        if word in PROGRAMS:
            return self.build / PROGRAMS[word]
        if not TREE.fullmatch(word):
            return None
        word = word.removeprefix("./")
        within = word.removeprefix("build/")
        return self.build / within if within != word else self.root / word

    @functools.cache
    def help(self, path, command=None):
        """Returns the help text; for a program without one, the bytes of its file."""
        if path.name not in PROGRAMS and path.is_relative_to(self.build):
            return path.read_bytes().decode("latin-1")
        words = [str(path), *([command] if command else []), "--help"]
        if path.suffix == ".py":
            words = ["/usr/bin/python3", "-B", *words]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HELP_S,
                              stdin=subprocess.DEVNULL)
        return done.stdout if done.returncode == 0 else ""

    def knows(self, path, option, command):
        """Returns true if the program takes the option."""
        text = self.help(path, command)
        if path.name == "weir-exporter" and option.startswith("--netflow") and \
                "--netflow" not in text:  # a build without flow records
            return True
        if "\0" in text:  # getopt's tables in a binary
            return f"\0{option.lstrip('-')}\0" in text
        return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def command_word(words):
    """Returns the command of a command line, or None for a placeholder."""
    rest = iter(words[1:])
    for word in rest:
        if word in ("-s", "-n", "-g"):
            next(rest, None)
        elif not word.startswith("-") and word != "watch":
            return word if re.fullmatch(r"[a-z]+", word) else None
    return None


def check_command(programs, words):
    """Yields the mistakes of a command."""
    path = programs.find(words[0])
    if path is None or "*" in words[0]:
        return
    if not path.exists():
        yield "no such program"
        return
    name, command = path.name, None
    if name in WITH_COMMANDS:
        command = command_word(words)
        if command and not re.search(rf"^  {command}\b", programs.help(path), re.M):
            yield f"{name} has no command {command}"
            return
    options = [word.split("=", 1)[0] for word in words[1:] if re.match(r"--?[a-z]", word)]
    if name == "weir-emu" and "--" in words:  # EAL's options come before it
        options = [word.split("=", 1)[0] for word in words[words.index("--") + 1:]
                   if word.startswith("--")]
    for option in options:
        if not programs.knows(path, option, command if WITH_COMMANDS.get(name) else None):
            yield f"{name} knows no {option}"
    for word in words[1:]:
        if re.match(r"(config|test)/.*\.\w+$", word) and not (programs.root / word).exists():
            yield f"there is no {word}"


def check_commands(page, programs):
    """Checks commands in blocks and in spans of code."""
    for line in page.lines + page.words:
        for words in commands_of(line):
            for complaint in check_command(programs, words):
                yield f"{line.strip()}: {complaint}"


def check_paths(page, programs):
    """Checks the files and folders that the text names."""
    for words in page.words:
        if not TREE.fullmatch(words):
            continue
        top, pattern = programs.root, words.removeprefix("./")
        if pattern.startswith("build/"):
            top, pattern = programs.build, pattern.removeprefix("build/")
        if not any(top.glob(pattern.rstrip("/"))):
            yield f"`{words}`: there is no such file"


def check_tunnels(page):
    """ssh forwards streams, and sockets of limiters take packets."""
    for line in page.prose.splitlines():
        if re.search(r"ssh\b.* -L\b.*\.sock\b", line):
            yield f"`{line.strip()}`: ssh cannot forward the socket of a limiter"


def check_links(page, pages):
    """Checks links within the tree and their headings."""
    for link in page.links:
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.folder / path).resolve() if path else page.folder / pathlib.Path(
            page.name).name
        if not target.exists():
            yield f"({link}): there is no such file"
        elif anchor and target in pages and anchor not in pages[target].anchors():
            yield f"({link}): there is no such heading"


# --- configurations ------------------------------------------------------------------------------

def fragments(page):
    """Yields parts of a configuration as members of the whole."""
    for block in page.blocks:
        block = block.strip()
        if re.match(r'\{"?\s*"name"', block):
            decoder, at = json.JSONDecoder(), 0
            while at < len(block):
                policy, end = decoder.raw_decode(block, at)
                yield {"policies": [policy]}
                at = end + len(block[end:]) - len(block[end:].lstrip())
        elif re.match(r'"\w+": \{', block):
            yield json.loads("{" + block + "}")


def check_configuration(programs, config):
    """Yields the messages of `weir --check` if it rejects the configuration."""
    with tempfile.TemporaryDirectory(prefix="weir-documents-") as folder:
        key, path = os.path.join(folder, "key"), os.path.join(folder, "weir.json")
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as out:
            out.write(SECRET + "\n")
        text = json.dumps(config).replace(KEY_FILE, key).replace(IDENTITY_FILE, key)
        pathlib.Path(path).write_text(text, encoding="utf-8")
        done = subprocess.run([str(programs.find("weir")), "--check", path], capture_output=True,
                              text=True, check=False, timeout=HELP_S, stdin=subprocess.DEVNULL)
        if done.returncode:
            yield from done.stderr.replace(folder + "/", "").splitlines()


def check_configurations(readme, page, programs):
    """Checks the configuration of README.md alone and with each part of the page."""
    whole = json.loads(readme.json[0])
    for part in [{}, *fragments(page)]:
        for complaint in check_configuration(programs, whole | part):
            yield f"{json.dumps(part)[:60]}: {complaint}"


def check_text(programs, text, *options):
    """Returns the exit status and the output of `weir --check`."""
    done = subprocess.run([str(programs.find("weir")), "--check", *options, "-"], input=text,
                          capture_output=True, text=True, check=False, timeout=HELP_S)
    return done.returncode, done.stdout + done.stderr


def warnings(said):
    """Returns the warnings, except those of CPUs that this machine lacks."""
    return [line for line in said.splitlines() if ": warning: " in line and not re.search(
        r" (workers(\[\d+\])?|control\.cpu): .*: not on this machine", line)]


def check_shipped(programs, text):
    """Checks that an example is valid as shipped; the missing key file gives a warning."""
    status, said = check_text(programs, text)
    if status or ": good: " not in said or any(f'"{KEY_FILE}": not on this' not in line
                                               for line in warnings(said)):
        yield said


def check_examples(programs, readme):
    """Checks the examples of config/ and README.md, as shipped and with a key file."""
    examples = {path.name: path.read_text(encoding="utf-8")
                for path in sorted((programs.root / "config").glob("*.json"))
                if not path.name.endswith(".schema.json")}
    examples |= {f"README.md {i}": text for i, text in enumerate(readme.json)}
    with tempfile.TemporaryDirectory(prefix="weir-documents-") as folder:
        key = os.path.join(folder, "key")
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as out:
            out.write(SECRET + "\n")
        for name, text in examples.items():
            for words in check_shipped(programs, text):
                yield f"{name} as shipped: {words}"
            status, said = check_text(programs, text.replace(KEY_FILE, key))
            if status or ": good: " not in said or warnings(said):
                yield f"{name}: {said}"


def keys_of(schema):
    """Yields the names of the members of a schema, at every depth."""
    if isinstance(schema, dict):
        for name, member in schema.items():
            if name == "properties":
                yield from member
            yield from keys_of(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from keys_of(member)


# --- completeness --------------------------------------------------------------------------------

def check_complete(pages, programs):
    """Checks that the pages name all keys and commands."""
    def page(name):
        return pages[programs.root / name]

    schema = json.loads((programs.root / "config/weir.schema.json").read_text(encoding="utf-8"))
    known = {part for words in page("doc/operate/configuration.md").words
             for part in re.findall(r"[$\w-]+", words)}
    for key in sorted(set(keys_of(schema)) - known):
        yield f"doc/operate/configuration.md does not name the key {key}"
    shown = programs.help(programs.find("weirctl"))
    for command in re.findall(r"^  ([a-z]+) ", shown, re.M):
        if not re.search(rf"^#+ .*\b{command}\b|`{command} ",
                         page("doc/operate/weirctl.md").prose, re.M):
            yield f"doc/operate/weirctl.md does not name the command {command}"
    said = " ".join(page("doc/operate/telemetry.md").words)
    for source in sorted((programs.root / "app/weir").glob("**/*.c")):
        for command in re.findall(r'\{"(/weir/\w+)"', source.read_text(encoding="utf-8")):
            if not re.search(rf"{command}\b", said):
                yield f"doc/operate/telemetry.md does not name {command}"
    everything = "".join(one.prose for one in pages.values())
    for program in ("weirsim", "weir-study"):
        for command in re.findall(r"^  ([a-z]+) ", programs.help(programs.find(program)), re.M):
            if f"{program} {command}" not in " ".join(everything.split()):
                yield f"no page names {program} {command}"


def check_index(pages, root):
    """Checks that doc/README.md links every page of doc/, and every manual page."""
    index = root / "doc/README.md"
    linked = {(index.parent / link.split("#", 1)[0]).resolve() for link in pages[index].links}
    for path in [*pages, *sorted((root / "doc/man").iterdir())]:
        if path.is_relative_to(root / "doc") and path not in linked and path != index:
            yield f"doc/README.md does not link {path.relative_to(root)}"


def check_ratios(readme, performance):
    """Checks that each ratio in the README equals the current one on the page of figures."""
    commit = re.search(r"[Mm]easured at commit `(\w+)`", performance)
    for key in re.findall(r"tools/bench --only (\w+)`", readme):
        row = re.search(rf"^\| `{key}` \| ([\d.]+) \(([\d.–]+)\)", performance, re.M)
        if not row or not commit:
            yield f"README.md: doc/study/performance.md has no row {key}, or no commit"
            continue
        for part in (row[1], row[2], commit[1]):
            if part not in readme:
                yield f"README.md: {key}: doc/study/performance.md has {part}"


def self_test(programs):
    """Checks that each check finds a planted mistake."""
    for line, want in (("weirctl nonsense", "no command"),
                       ("weirctl --nonsense status", "knows no"),
                       ("tools/nonsense --x", "no such program"),
                       ("$ sudo A=b ./build/app/weirsim/weirsim run --nonsense", "knows no"),
                       ("weir --check config/nonsense.json", "there is no")):
        found = [words for one in commands_of(line) for words in check_command(programs, one)]
        if not any(want in words for words in found):
            yield f"check_documents.py does not find {want!r} in {line!r} any more: {found}"
    row = "| `a_vs_b` | 0.88 (0.86–0.91) | measured at commit `1d721f2fa7`"
    for readme, good in (("0.88 (0.86–0.91; `1d721f2fa7`, `./tools/bench --only a_vs_b`)", True),
                         ("0.79 (0.86–0.91; `1d721f2fa7`, `./tools/bench --only a_vs_b`)", False),
                         ("0.88 (0.86–0.91; `1d721f2fa7`, `./tools/bench --only b_vs_c`)", False)):
        if (not list(check_ratios(readme, row))) != good:
            yield f"check_documents.py judges the ratio in {readme!r} wrongly"
    if not any("expected" in line for line in check_configuration(programs, {"limiter": 1})):
        yield "check_documents.py accepts any configuration"


def main():
    """Prints a line for each mistake; exits with 1 if there are any."""
    here = pathlib.Path(__file__).resolve()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else here.parents[2]).resolve()
    build = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else root / "build").resolve()
    programs = Programs(root, build)
    paths = [root / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    paths += sorted((root / "doc").glob("**/*.md"))
    pages = {path: Page(root, path) for path in paths}
    complaints = list(self_test(programs))
    for page in pages.values():
        found = [*check_commands(page, programs), *check_paths(page, programs),
                 *check_links(page, pages), *check_tunnels(page)]
        complaints += [f"{page.name}: {words}" for words in found]
    complaints += check_configurations(pages[root / "README.md"],
                                       pages[root / "doc/operate/configuration.md"], programs)
    complaints += check_examples(programs, pages[root / "README.md"])
    complaints += check_complete(pages, programs)
    complaints += check_index(pages, root)
    complaints += check_ratios(pages[root / "README.md"].prose,
                               pages[root / "doc/study/performance.md"].prose)
    print("\n".join(complaints) if complaints else f"{len(pages)} pages, nothing to complain about")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
