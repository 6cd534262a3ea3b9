#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks the installed completion and units. Completion must have every command and option.
systemd must accept the units and rate their exposure as low.

Usage: check_installed.py SOURCE_ROOT BUILD_ROOT
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# The files with each program's tables of commands and options.
PROGRAMS = {
    "weir": ("app/weir/main.c",),
    "weirctl": ("app/weirctl/ctl_options.c", "app/weirctl/commands.c"),
    "weirsim": ("app/weirsim/main.c",),
    "weir-exporter": ("app/exporter/main.c",),
    "weir-import": ("app/import/weir_import/options.py",),
    "weir-support": ("app/support/weir_support/options.py",),
}
EXPOSED = 2.5  # maximum exposure by systemd-analyze security


def tables(root, paths):
    """Returns the names of commands and long options in tables of C or Python."""
    commands, options = [], []
    for path in paths:
        text = (root / path).read_text(encoding="utf-8")
        for body in re.findall(r"const struct \w+ \w*\[?\]? ?=? ?\{.*?^\t*\};", text,
                               re.M | re.S):
            for name in re.findall(r'^\t+\{"([a-z][\w-]*)", (?:no|required|optional)_argument|'
                                   r'^\t(?:[A-Z_]+)\(\s*"([a-z][\w-]*)", ', body, re.M):
                options.append("--" + (name[0] or name[1]))
            commands += re.findall(r'^\t\{"([a-z][\w-]*)", "', body, re.M)
        for body in re.findall(r"^\} commands\[\] = \{.*?^\};", text, re.M | re.S):
            commands += re.findall(r'^\t\{"([a-z][\w-]*)", "', body, re.M)
        options += ["--" + name for name in re.findall(r'^    Row\("([a-z-]+)"', text, re.M)]
    return commands, options


def knows(text, name, kind):
    """Returns true if a document has a command or an option as a separate word."""
    if kind == "fish" and name.startswith("--"):
        name = "-l " + name[2:]
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def check_names(root, build):
    """Checks that all files of completion have all names."""
    for program, paths in PROGRAMS.items():
        commands, options = tables(root, paths)
        if program in ("weirctl", "weirsim") and len(commands) < 3 or (
                program != "weirsim" and len(options) < 5):
            yield f"{paths}: no table is found: {commands} {options}"
        for kind, name in (("bash", f"{program}.bash"), ("zsh", f"_{program}"),
                           ("fish", f"{program}.fish")):
            text = (build / "tools/manual" / name).read_text(encoding="utf-8")
            for word in commands + options:
                if not knows(text, word, kind):
                    yield f"{name} does not know {word}"


def check_words(build):
    """Checks that installed shells accept their completion files."""
    for program in PROGRAMS:
        for shell, name in (("bash", f"{program}.bash"), ("zsh", f"_{program}"),
                            ("fish", f"{program}.fish")):
            if not shutil.which(shell):
                continue
            done = subprocess.run([shell, "-n", str(build / "tools/manual" / name)],
                                  capture_output=True, text=True, check=False)
            if done.returncode or done.stderr:
                yield f"{name}: {done.stderr}"


def complete(build, *words):
    """Returns bash's completions of these words, of which the last can be incomplete. A fake
    weirctl prints its arguments in place of the names of policies."""
    script = f"""source {build}/tools/manual/{words[0]}.bash
        weirctl() {{ printf '%s\\n' "$*" | tr ' /' '+_'; }}
        COMP_WORDS=({' '.join(word or "''" for word in words)}); COMP_CWORD={len(words) - 1}
        _{words[0]}; echo ${{COMPREPLY[*]}}"""
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True,
                          cwd="/").stdout.split()


def check_completion(build):
    """Tests some completions."""
    for words, wanted in ((("weirctl", "po"), {"policies", "policy", "ports"}),
                          (("weirctl", "-s", "/x", "le"), {"ledger"}),
                          (("weirctl", "watch", "sta"), {"status"}),
                          (("weirctl", "--js"), {"--json"}),
                          (("weirctl", "watch", "po"), {"policies", "policy", "ports"}),
                          (("weirctl", "help", "che"), {"check"}),
                          (("weirctl", "top", "--int"), {"--interval"}),
                          (("weirctl", "-s", "/x", "policy", ""), {"-s+_x+names+policies"}),
                          (("weirctl", "peers", ""), {"names+peers"}),
                          (("weirctl", "watch", "quota", ""), {"names+policies"}),
                          (("weirctl", "drops", "--js"), {"--json"}),
                          (("weir-import", "--net"), {"--network"}),
                          (("weir-import", "fl"), {"flowspec"}),
                          (("weir-support", "--out"), {"--output"}),
                          (("weir", "--new-i"), {"--new-identity"}),
                          (("weir", "-c", "et"), {"etc"}),
                          (("weirsim", "ru"), {"run"}),
                          (("weirsim", "run", "--seeds"), {"--seeds"})):
        got = set(complete(build, *words))
        if not wanted <= got:
            yield f"{' '.join(words)}: expected {sorted(wanted)}, not {sorted(got)}"


def check_unit(build, name, programs):
    """Checks a unit with systemd's own tools."""
    if not shutil.which("systemd-analyze"):
        return
    text = (build / "config/systemd" / name).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="weir-unit-") as folder:
        for program in programs:
            os.symlink(build / "app" / program, os.path.join(folder, os.path.basename(program)))
        text = re.sub(r"^(Exec\w+=)\S*/", rf"\1{folder}/", text, flags=re.M)
        unit = pathlib.Path(folder, name.replace("@", "@edge"))
        unit.write_text(text, encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], check=False,
                              capture_output=True, text=True, cwd="/")
        for line in done.stderr.splitlines():
            if name.split(".", 1)[0] in line:
                yield f"systemd-analyze verify: {line}"
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", str(unit)],
                              check=False, capture_output=True, text=True, cwd="/")
        level = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
        if not level:
            print("systemd-analyze security cannot look at files here")
        elif float(level[1]) > EXPOSED:
            yield f"systemd-analyze security: {level[1]}, more than {EXPOSED}"
        else:
            print(f"{name}: systemd-analyze security: {level[1]}")


def main():
    """Prints the problems of installed files; exits with 1 if there are any."""
    root, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    complaints = [*check_names(root, build), *check_words(build), *check_completion(build),
                  *check_unit(build, "weir@.service", ("weir/weir", "weirctl/weirctl")),
                  *check_unit(build, "weir-exporter.service", ("exporter/weir-exporter",))]
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
