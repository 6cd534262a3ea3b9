#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Attempts without room become rare, and edits that have room do not wait."""

import unittest

from harness import Test

from weir_import.pace import Pace

# (time, removals, additions, sent, accepted, due then)
STEPS = (
    # Everything is sent until there is no room.
    (0, 2, 900, 902, True, False),
    (10, 0, 900, 900, False, False),
    # Then only removals.
    (11, 0, 900, 0, True, False),
    (1009, 0, 900, 0, True, False),
    # After a second one goes ahead; the next pauses are two, four ... seconds.
    (1010, 0, 900, 1, False, False),
    (3009, 0, 900, 0, True, False),
    (3010, 0, 900, 1, False, False),
    # Removals make room immediately.
    (3011, 3, 900, 3, True, True),
    (3012, 1, 900, 4, True, True),
    (3013, 0, 897, 1, True, False),
    (3014, 0, 896, 0, True, False),
    # After one that went ahead is accepted, all are sent, and can be refused.
    (7010, 0, 896, 1, True, True),
    (7011, 0, 895, 895, False, False),
    (15010, 0, 895, 0, True, False),
    (15011, 0, 895, 1, True, True),
    (15012, 0, 894, 894, True, False),
    # The pauses begin again.
    (15013, 0, 1, 1, False, False),
    (16012, 0, 1, 0, True, False),
    (16013, 0, 1, 1, False, False),
    # Nothing waits that has been withdrawn.
    (16014, 5, 0, 5, True, False),
    (16015, 0, 7, 7, True, False),
)


def edits(removals, additions):
    """Returns this many edits of each kind."""
    return [{"do": "add"}] * additions + [{"do": "remove"}] * removals


class Paces(Test):
    """The pace of one limiter."""

    def test_steps(self):
        """Each step sends its number of edits."""
        pace = Pace()
        for at_ms, removals, additions, count, accepted, due in STEPS:
            with self.subTest(at_ms=at_ms):
                now_s = at_ms / 1000
                sent, waiting = pace.hold(edits(removals, additions), now_s)
                if accepted:
                    pace.taken(sent, waiting, now_s)
                else:
                    pace.refused(now_s)
                self.assertEqual(len(sent), count)
                self.assertEqual(waiting, removals + additions - count)
                self.assertEqual(pace.is_due(now_s), due)

    def test_pauses(self):
        """Each pause is twice the one before, up to a minute."""
        pace, now_s = Pace(), 5
        for pause_s in (1, 2, 4, 8, 16, 32, 60, 60):
            pace.refused(now_s)
            self.assertEqual(pace.until_s, now_s + pause_s)
            self.assertFalse(pace.is_due(pace.until_s - 0.001))
            self.assertTrue(pace.is_due(pace.until_s))
            now_s = pace.until_s

    def test_order(self):
        """Removals are sent first, changes need no room, additions wait."""
        pace = Pace()
        pace.refused(0)
        sent, waiting = pace.hold([{"do": verb} for verb in ("add", "set", "remove")], 0.001)
        self.assertEqual(([edit["do"] for edit in sent], waiting), (["remove", "set"], 1))

    def test_room(self):
        """With a limiter of any size, every rule is in force within a minute of room."""
        for rng in self.rounds(0.1):
            pace, now_s, here, room = Pace(), 0.0, set(), rng.randrange(1, 40)
            wanted = set(rng.sample(range(60), rng.randrange(50)))
            for _ in range(400):
                if rng.random() < 0.02:
                    wanted = set(rng.sample(range(60), rng.randrange(50)))
                    room = rng.randrange(1, 40)
                listed = [{"do": "add", "name": n} for n in sorted(wanted - here)] + \
                    [{"do": "remove", "name": n} for n in sorted(here - wanted)]
                sent, waiting = pace.hold(listed, now_s)
                after = (here | {e["name"] for e in sent if e["do"] == "add"}) - \
                    {e["name"] for e in sent if e["do"] == "remove"}
                if len(after) <= max(room, len(here)):
                    here = after
                    pace.taken(sent, waiting, now_s)
                else:
                    pace.refused(now_s)
                now_s += 1
            wanted, room = set(sorted(wanted)[:room]), 99
            for _ in range(130):
                listed = [{"do": "add", "name": n} for n in sorted(wanted - here)] + \
                    [{"do": "remove", "name": n} for n in sorted(here - wanted)]
                sent, waiting = pace.hold(listed, now_s)
                here = (here | {e["name"] for e in sent if e["do"] == "add"}) - \
                    {e["name"] for e in sent if e["do"] == "remove"}
                pace.taken(sent, waiting, now_s)
                now_s += 1
            self.assertEqual(here, wanted)


if __name__ == "__main__":
    unittest.main()
