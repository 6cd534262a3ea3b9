/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides which packets of a classified burst pass. The worker's own thread.
 */
#ifndef WEIR_APP_DECIDE_H
#define WEIR_APP_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "classify/classify.h"
#include "police/charge.h"
#include "rx_burst.h"
#include "shape_mbuf.h"
#include "worker_data.h"

/*
 * Charges and counts the n packets of a burst, which arrived at tick `now`. Leaves the passing
 * packets at the front of burst->mbufs, in order, and returns their number. The others go to
 * `dropped`, except for burst->n_held packets that wait and belong to the shaper. Call
 * decide_samples() after the packets are transmitted.
 */
uint16_t decide(struct worker *worker, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped);

/* Adds the sampled packets of the burst to their policies' samples. */
static inline void decide_samples(const struct rx_burst *burst)
{
	for (unsigned i = 0; i < burst->n_sampled; i++) {
		const struct sampled *sampled = &burst->sampled[i];

		flow_sample_add(sampled->sample, sampled->hash, sampled->bytes);
	}
}

/*
 * The stages of a gathered burst: classify its packets, then decide them. The worker's own thread.
 */

/* Finds the policies of the n packets of a gathered burst. */
static __rte_always_inline void look_up_burst(struct worker *worker, const struct path *path,
	struct rx_burst *burst, uint16_t n, uint64_t now)
{
	burst->rx_hash = path->rx_hash &&
			 worker->tunnels == NULL; /* the hash is of the outer one */
	burst->frames.fragments = __atomic_load_n(&worker->fragments, __ATOMIC_ACQUIRE);
	burst->frames.whole = burst->len;
	burst->frames.now = now;
	burst->frames.lines = worker->policies;
	burst->frames.wide = worker->own.wide;
	burst->path = (uint16_t)(path - worker->paths);
	if (unlikely(path->clock && worker->own.view.kinds >> POLICE_SHAPED & 1) && !path->rings)
		shape_mbuf_stamp_all(burst->mbufs, n, path->clock, now, worker->ticks_per_us);
	classify_frames(
		worker->own.view.classifier, path->wire, path->direction, &burst->frames, n);
}

/* Classifies and decides the burst; the rest is as for decide(). */
static __rte_always_inline uint16_t burst_decide(struct worker *worker, const struct path *path,
	struct rx_burst *burst, uint16_t n, uint64_t now, struct rte_mbuf **dropped)
{
	look_up_burst(worker, path, burst, n, now);
	return decide(worker, burst, n, now, dropped);
}

/*
 * The stages of a gathered burst while a capture runs: they also put packets into the tap. The
 * worker's own thread.
 */

struct path;
struct rte_mbuf;
struct rx_burst;
struct tap;
struct worker;

/* Does the same as burst_decide(). The tap can want packets of this burst, or none. */
uint16_t burst_decide_tapped(struct worker *worker, struct tap *tap, const struct path *path,
	struct rx_burst *burst, uint16_t n, uint64_t now, struct rte_mbuf **dropped);

/* --- outcome of one packet -------------------------------------------------------------------- */

/*
 * The outcome of a passing packet at its policy and the levels above, from the counters that have
 * changed. For callers that decide packets one by one: the worker's own thread, or the owner of a
 * copy of a worker.
 */

/* Counters before the packet, from its policy upwards: packets that passed without conforming. */
struct counted {
	unsigned n;
	uint32_t slots[POLICY_LEVELS_MOST];
	uint64_t over[POLICY_LEVELS_MOST], fallback[POLICY_LEVELS_MOST];
};

static inline struct counted counted_before(const struct worker *worker, uint32_t slot)
{
	struct counted before = {.n = 0};

	if (slot != CLASSIFY_NONE)
		before.n = lineage_of(worker, slot, before.slots);
	for (unsigned k = 0; k < before.n; k++) {
		const struct policy_state *state = &worker->policies[before.slots[k]];

		before.over[k] = police_over_packets(state);
		before.fallback[k] = police_fallback_packets(state);
	}
	return before;
}

static inline bool counted_over(
	const struct counted *before, const struct worker *worker, unsigned k)
{
	return police_over_packets(&worker->policies[before->slots[k]]) != before->over[k];
}

/* Returns true if the packet passed by the level's fallback instead of its quota. */
static inline bool counted_fallback(
	const struct counted *before, const struct worker *worker, unsigned k)
{
	return police_fallback_packets(&worker->policies[before->slots[k]]) != before->fallback[k];
}

/* Returns VERDICT_MARK if any level has marked it, otherwise VERDICT_COUNT or VERDICT_PASS. */
static inline enum verdict counted_verdict(
	const struct counted *before, const struct worker *worker)
{
	enum verdict verdict = VERDICT_PASS;

	for (unsigned k = 0; k < before->n; k++) {
		if (!counted_over(before, worker, k))
			continue;
		if (worker->policies[before->slots[k]].other->action == ACTION_MARK)
			return VERDICT_MARK;
		verdict = VERDICT_COUNT;
	}
	return verdict;
}

#endif
