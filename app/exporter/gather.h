/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Collects a limiter's answers in one document:
 * - "process", "config", "health", "drops", "unparsed", "gossip", "ledger" and "workers" from the
 *   commands of these names;
 * - "ports" with their "stats" and whether they are "up";
 * - "peers", except this limiter, with whether they are "alive";
 * - "left_out": the numbers of policies and peers that were left out;
 * - "at_ms" of the first page of policies;
 * - "shares", by name, of the policies that are viewed.
 */
#ifndef WEIR_EXPORTER_GATHER_H
#define WEIR_EXPORTER_GATHER_H

#include "ask/source.h"
#include "policy_pages.h"

/* The most of each kind, because each adds a label. */
struct gather_most {
	unsigned policies, peers;
};

/* Names of policies that viewers look at. */
#define LOOKED_AT_MOST 16
#define POLICY_NAME    64
struct looked_at {
	char names[LOOKED_AT_MOST][POLICY_NAME];
	unsigned n;
};

/*
 * Returns 0, the document and the policies, which begin as all zero. Or returns an error of the
 * source, and neither. Parts that an older limiter does not have are missing.
 */
int gather(struct source *source, const struct gather_most *most, const struct looked_at *looked_at,
	json_t **document, struct policy_pages *policies);

#endif
