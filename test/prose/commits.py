# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Judges the subjects of commits: `room: imperative verb + object`, at most 72 characters."""

import re

SUBJECT = re.compile(r"[a-z0-9][\w.,/@ -]*: (?P<verb>[A-Za-z-]+) \S")
COLUMNS = 72
# Imperatives that a subject begins with. A verb that is missing here is added in the same commit.
VERBS = set("""
    accept add adjust adopt align allow annotate answer apply ask assert assign attach
    authenticate avoid back-port backport balance batch begin bind bound bring build bump bypass
    cache calibrate call cancel cap carry change charge check choose clamp clarify classify
    clean clear close collect combine compare complete compute configure confirm connect consult
    convert copy correct count cover create cut declare decode decouple default defer define
    delay delete deprecate derive describe detach detect disable discard display distinguish
    divide document drain draw drop dump emit enable encode end enforce ensure escape estimate
    evaluate evict exclude exit expand expect expire explain export expose extend extract fail
    feed fetch fill find fix flush fold follow forbid force forget format forward free freeze
    gather generate give group guard halve handle harden hide hint hold honour ignore implement
    import improve include increase index infer inherit initialise inline insert install
    introduce invert join judge keep label leave lend let level limit link list load locate lock
    log look loosen lower make map mark match measure merge meter migrate mirror move name
    narrow negotiate normalise note notify number omit open optimise order organise pack parse
    pass pause pin place plan poll port prefer prefetch prepare preserve prevent print probe
    profile protect prove publish pull push put quote raise randomise read rebase rebuild
    recognise recommend recompute record recover redact reduce refactor refer refresh refuse
    regenerate register reject relax release reload rely remember remove rename render renew reopen
    reorder repair repeat replace reply report request require reserve reset resolve respect
    restart restore restrict retire retry return reuse revert review revise rewrite rotate round
    route run sample save scale scan schedule seal search seed select send separate serialise
    serve set settle shape share shorten show shrink sign simplify simulate skip sort specify
    split spread stack standardise start state stop store stress strip submit suggest support
    suppress surface switch sync synchronise tag take teach terminate test throttle tidy tie
    tighten time tolerate trace track translate treat trim truncate try tune turn type unify
    unlock unpack unpin update upgrade use validate vary vectorise verify version wait walk warn
    weigh widen wrap write zero
""".split())


def judge(subject):
    """A complaint about a subject, or None."""
    if subject.startswith(("Revert \"", "fixup! ", "squash! ")):
        return None
    if len(subject) > COLUMNS:
        return f"{len(subject)} characters, at most {COLUMNS}"
    found = SUBJECT.match(subject)
    if not found:
        return "expected 'room: imperative verb + object'"
    if found["verb"].lower() not in VERBS:
        return (f"{found['verb']!r} is no imperative that VERBS in test/prose/commits.py lists; "
                "begin with a verb, or add it there")
    return None
