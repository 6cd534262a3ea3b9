# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Counts the habits that the style guide (doc/contributing/english.md) warns of.

No file may have one.
"""

import collections
import re

from prose.passages import WORD

# Words in front of a "who" that has no noun: such a clause stands for a person or a machine.
NO_NOUN = (r"(?:of|by|to|for|from|with|and|or|than|but|is|tells?|told|says?|knows?|asks?|shows?|"
           r"sees?)")
# Subjects of a clause. After ", as" they give a reason; after "as" alone they compare.
SUBJECT = (r"(?:it|its|they|their|there|this|that|these|those|the|no|each|every|all|some|most|we|"
           r"you|one|he|his|who|what|only|nothing|both|many|several|neither|either|such a)")
HABITS = {
    "relative": rf"\b(?:what|whatever|whichever)\b|(?:^|[(:;] ?)who(?:ever)?\b|\b{NO_NOUN} who\b|"
                r"\b(?:of|by|to|for|from|with|and|than) those (?:that|who|which|of)\b|"
                r"(?:^|[(:;] ?)those\b",
    "fronted": r"(?:^|[.:;] )(?-i:Of|Nor) |"
               r"(?:^|[.:;] )(?-i:That) (?:it|a|an|the|they|this|no|one|its) ",
    "speech": r"\b(?:tells?|told|telling|says?|said|saying|hears?|heard|hearing|knows?|knew|known|"
              r"knowing|asks?|asked|asking|believes?|believed|speaks?|spoke|spoken)\b",
    "nobody": r"\b(?:nobody|somebody|anybody|everybody|whoever|whomever)(?:'s)?\b",
    "archaism": r"\b(?:anew|likewise|amidst|hence|thereby|therein|thereof|whereof|wherein|ere|nor|"
                r"lest|shall|aside|forthwith|of late|in vain|by lot|at once|besides?|"
                r"mend(?:s|ed|ing)?|none but|but for)\b|"
                r"(?<!any)(?<!some)(?<!no)(?<!every)(?<!thing )(?<!one )(?<!where )(?<!body )"
                r"\belse\b",
    "as": rf", as {SUBJECT}\b",
}
HABITS = {kind: re.compile(pattern, re.I | re.M) for kind, pattern in HABITS.items()}
OPENING = re.compile(r"\s*[\"'(]?(What|Whether|Of|Those|Who|Whoever|As|That|It|And|Likewise|Nor)\b",
                     re.I)
SENTENCE = re.compile(r"""(?<=[.!?])["'”)\]*]*\s+(?=["'“(\[*`]*[A-Z0-9`])|\n\s*\n""")
WORDS_OF_A_SENTENCE = 30
KINDS = (*HABITS, "long", "opening")
# Words of a file format, which later versions must read.
FORMATS = ("digest of what follows",)


class Count:
    """The habits of one file: places of each kind, words and sentences."""

    def __init__(self, passages):
        self.places = collections.defaultdict(list)  # kind → (line, words)
        self.words = self.sentences = 0
        for line, kind, text in passages:
            self.add(line, kind, text)

    def add(self, line, kind, text):
        """Counts one passage."""
        for words in FORMATS:
            text = text.replace(words, "")
        self.words += len(WORD.findall(text))
        if kind == "comment" and (found := OPENING.match(text)):
            self.places["opening"].append((line, found[1]))
        for sentence in SENTENCE.split(text):
            if not WORD.search(sentence):
                continue
            self.sentences += 1
            at = line + text[:max(0, text.find(sentence))].count("\n")
            sentence = " ".join(sentence.split())
            words = len([word for word in sentence.split() if WORD.search(word)])
            if words > WORDS_OF_A_SENTENCE:
                self.places["long"].append((at, f"{words} words: {sentence[:40]}..."))
            # A question may begin with that word.
            question = sentence.rstrip("\"')*").endswith("?")
            for habit, pattern in HABITS.items():
                if habit == "relative" and question:
                    continue
                for found in pattern.finditer(sentence):
                    start = max(0, found.start() - 20)
                    self.places[habit].append((at, sentence[start:found.end() + 20]))

    def of(self, kind):
        """The number of one kind."""
        return len(self.places[kind])
