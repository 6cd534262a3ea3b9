/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Memory that a policy needs on each worker beyond its line of state: a meter for each source, and
 * the flows that are known. The caller owns it; nothing is allocated here.
 */
#ifndef WEIR_POLICE_EXTRA_H
#define WEIR_POLICE_EXTRA_H

#include <stddef.h>
#include <stdint.h>

#include "police/police.h"

/* Flows without a handshake that a policy of COUNT_FLOWS can tell from new ones, on one worker. */
#define POLICE_FLOWS 65536

/* Bytes for police_extra_init(), of one policy on one worker; 0 for most policies. Any thread. */
size_t police_extra_bytes(const struct policy *policy);

/*
 * Sets up a policy's extra on one worker in `memory`, of police_extra_bytes() and aligned to a
 * cache line; NULL if that is 0. `secret` keeps others from aiming at a place in the table of
 * sources; time is in ticks of hz a second. Before the first packet.
 */
void police_extra_init(struct policy_extra *extra, void *memory, const struct policy *policy,
	uint64_t secret, uint64_t hz);

/*
 * Looks after a policy's table of sources, if it has one, so many lines of it: to be called now and
 * then, see source_table_age(). The policy's worker.
 */
void police_age(struct policy_extra *extra, const struct limit_profile *profile, uint64_t now,
	unsigned lines);

#endif
