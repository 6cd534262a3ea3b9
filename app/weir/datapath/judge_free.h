/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of policies that are below others, while all above have tokens for the whole burst: these
 * refuse nobody, whatever is charged first. So a packet's own policy decides, as any plain one
 * does, and those above are charged what it has let pass. Private to this room; the worker's own
 * thread.
 */
#ifndef WEIR_APP_JUDGE_FREE_H
#define WEIR_APP_JUDGE_FREE_H

#include <stdbool.h>
#include <stdint.h>

struct rx_burst;
struct worker;

/*
 * Charges, samples, tries and counts those of packets, a bit each, of which that is so, and those
 * without a policy; limits have not ended. Says which it has charged, and adds to *drops those of
 * them that do not pass.
 */
uint64_t judge_free(struct worker *worker, struct rx_burst *burst, uint64_t packets, uint64_t now,
	uint64_t *drops);

/*
 * And packets whose own policies have a meter for each source, which have been added to
 * burst->sourced. After judge_free().
 */
uint64_t judge_free_sources(struct worker *worker, struct rx_burst *burst, uint64_t packets,
	uint64_t now, uint64_t *drops);

/*
 * As judge_free(), of all n packets of a burst that is of one policy, below others, without a
 * trial. Returns whether it has charged them; else nothing has been done.
 */
bool judge_free_alike(
	struct worker *worker, struct rx_burst *burst, uint16_t n, uint64_t now, uint64_t *drops);

#endif
