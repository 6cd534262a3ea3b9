/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of policies below others, while every level above has tokens for the whole burst. Such a
 * level refuses no packet, so the order of charging does not matter. A packet's own policy decides,
 * like any plain policy, and the levels above are charged for the packets that it passed. Private
 * to this room; the worker's own thread.
 */
#ifndef WEIR_APP_POLICER_FREE_H
#define WEIR_APP_POLICER_FREE_H

#include <stdbool.h>
#include <stdint.h>

struct rx_burst;
struct worker;

/*
 * Charges, samples, tries and counts such packets, and packets without a policy. Limits must not
 * have ended. `packets` is a bit mask of candidates. Returns those that it has charged, and adds to
 * *drops those of them that do not pass.
 */
uint64_t policer_free(struct worker *worker, struct rx_burst *burst, uint64_t packets, uint64_t now,
	uint64_t *drops);

/*
 * Does the same for packets whose own policies have a meter for each source, and that were added to
 * burst->sourced. Call it after policer_free().
 */
uint64_t policer_free_sources(struct worker *worker, struct rx_burst *burst, uint64_t packets,
	uint64_t now, uint64_t *drops);

/*
 * policer_free() of all n packets of a burst of one policy, which is below others and has no trial.
 * Returns false, and has charged nothing, if it cannot decide them.
 */
bool policer_free_alike(
	struct worker *worker, struct rx_burst *burst, uint16_t n, uint64_t now, uint64_t *drops);

#endif
