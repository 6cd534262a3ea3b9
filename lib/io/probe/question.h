/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that are described in part, such as all packets to or from an address or a prefix. Pure;
 * any thread.
 */
#ifndef WEIR_PROBE_QUESTION_H
#define WEIR_PROBE_QUESTION_H

#include "policy/policy.h"
#include "probe/probe.h"

struct probe_question {
	struct prefix where;
	struct match match;         /* other fields; its addresses and its wire are not set */
	char wire[CONFIG_NAME_MAX]; /* "": any */
};

/*
 * Parses "ADDRESS|PREFIX", which can be followed by proto=, sport=, dport=, vlan=, dscp=, wire= and
 * direction=: n words. Returns 0, or -EINVAL and the reason.
 */
int probe_question(
	struct probe_question *question, const char *const *words, unsigned n, char why[PROBE_WHY]);

#endif
