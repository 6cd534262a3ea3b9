/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a limiter answers, in one document: "process", "config", "health", "drops", "unparsed",
 * "gossip", "ledger" and "workers" as the commands of these names say; "ports" with their "stats"
 * and whether they are "up"; "peers", without ourselves, with whether they are "alive"; how many
 * policies and peers were "left_out"; "at_ms" of the first page of policies; and "shares", by name, of the policies that are looked at.
 */
#ifndef WEIR_EXPORTER_GATHER_H
#define WEIR_EXPORTER_GATHER_H

#include "ask/source.h"
#include "policy_pages.h"

/* At most so many of a kind: each is a label. */
struct gather_most {
	unsigned policies, peers;
};

/* Names of policies of which somebody wants to know more. */
#define LOOKED_AT_MOST 16
#define POLICY_NAME    64
struct looked_at {
	char names[LOOKED_AT_MOST][POLICY_NAME];
	unsigned n;
};

/*
 * 0, the document and the policies, which begin as all zero; or what a source says, and neither.
 * What an older limiter does not know is not there.
 */
int gather(struct source *source, const struct gather_most *most, const struct looked_at *looked_at,
	json_t **document, struct policy_pages *policies);

#endif
