/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tables are as large as the worker's, so that the same offsets are valid. Only pages that are
 * written take memory.
 */
#include "dry_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_mbuf.h>

#include "decide.h"
#include "police/coloured.h"
#include "police/excerpt.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "shape/shape.h"
#include "shape_steps.h"
#include "rx.h"
#include "shape_mbuf.h"
#include "worker_data.h"

/* Zeroed memory that takes none until it is touched. */
struct region {
	void *at;
	size_t bytes;
};

/* A worker made of copies, and the burst of one packet that it decides. */
struct stage {
	struct worker worker;
	struct path path;
	struct rx_burst burst;
	struct region policies, memory, shared_buckets, samples, ending, shaper;
	struct flow_sample sample;
	struct shape_packet last;
	struct rte_mbuf *mbuf; /* followed by its bytes */
};

static int region_map(struct region *region, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return -ENOMEM;
	*region = (struct region){at, bytes};
	return 0;
}

static void region_unmap(const struct region *region)
{
	if (region->at)
		munmap(region->at, region->bytes);
}

/* Copies the pieces that were within the region's size from `from` to the same offsets. */
static void region_fill(const struct region *region, const void *from, const struct specimen *s)
{
	const uint8_t *bytes = s->bytes;

	for (unsigned i = 0; i < s->extents.n; i++) {
		uintptr_t at = (uintptr_t)s->extents.of[i].at - (uintptr_t)from;
		uint32_t n = s->extents.of[i].bytes;

		if (at < region->bytes && n <= region->bytes - at)
			memcpy((uint8_t *)region->at + at, bytes, n);
		bytes += n;
	}
}

static void stage_free(struct stage *stage)
{
	region_unmap(&stage->policies);
	region_unmap(&stage->memory);
	region_unmap(&stage->shared_buckets);
	region_unmap(&stage->samples);
	region_unmap(&stage->ending);
	region_unmap(&stage->shaper);
	free(stage->mbuf);
	free(stage);
}

/* Puts the frame into a buffer that belongs to no pool. */
static int stage_packet(struct stage *stage, const struct specimen *s)
{
	const size_t head = RTE_ALIGN(sizeof(struct rte_mbuf), RTE_CACHE_LINE_SIZE);
	struct rte_mbuf *m = aligned_alloc(
		RTE_CACHE_LINE_SIZE, head + RTE_ALIGN(s->len + 1, RTE_CACHE_LINE_SIZE));

	if (!m)
		return -ENOMEM;
	memset(m, 0, sizeof(*m));
	m->buf_addr = (uint8_t *)m + head;
	m->buf_len = UINT16_MAX;
	m->nb_segs = 1;
	m->data_len = (uint16_t)s->len;
	m->pkt_len = s->len;
	rte_mbuf_refcnt_set(m, 1);
	memcpy(m->buf_addr, s->frame, s->len);
	stage->mbuf = m;
	stage->burst.mbufs = &stage->mbuf;
	return 0;
}

/* Sets up the parts of the worker that do not depend on the packet's policy. */
static void stage_worker(struct stage *stage, struct specimen *s, const struct worker *w)
{
	struct worker *copy = &stage->worker;

	*copy = (struct worker){
		.index = w->index,
		.lcore = w->lcore,
		.n_workers = w->n_workers,
		.ticks_per_us = w->ticks_per_us,
		.tunnels = w->tunnels,
		.paths = &stage->path,
		.n_paths = 1,
		.delay_unit = w->delay_unit,
		.fragments = specimen_fragments(s),
	};
	copy->own = s->own;
	stage->path = w->paths[s->path];
	stage->path.rings = NULL;
	stage->path.clock = NULL;
	stage->path.rx_hash = false;
}

/* Sets up the levels above the policy. */
static void stage_levels(struct worker *copy, struct specimen *s)
{
	for (unsigned k = 0; k < s->n_above; k++) {
		struct specimen_level *level = &s->above[k];
		struct policy_state *state = &copy->policies[level->slot];

		*state = level->state;
		if (!police_is_simple(state))
			state->other = &level->other;
		if (police_credit(state))
			state->other->profile.credit.credit = &level->credit;
		copy->ending[level->slot] = level->ending;
		if (copy->shared_buckets)
			copy->shared_buckets[level->slot] = level->shared;
	}
}

/* Sets up the arrays that are indexed by slot. */
static int stage_slot(struct stage *stage, struct specimen *s, const struct worker *w)
{
	struct worker *copy = &stage->worker;
	uint32_t most = s->slot;
	size_t n;
	int ret;

	for (unsigned k = 0; k < s->n_above; k++)
		most = RTE_MAX(most, s->above[k].slot);
	n = (size_t)most + 1;
	ret = region_map(&stage->policies, n * sizeof(*copy->policies));
	if (ret == 0)
		ret = region_map(&stage->samples, n * sizeof(*copy->samples));
	if (ret == 0)
		ret = region_map(&stage->ending, n * sizeof(*copy->ending));
	if (ret == 0 && w->shared_buckets)
		ret = region_map(&stage->shared_buckets, n * sizeof(*copy->shared_buckets));
	if (ret)
		return ret;
	copy->policies = stage->policies.at;
	copy->samples = stage->samples.at;
	copy->ending = stage->ending.at;
	copy->shared_buckets = stage->shared_buckets.at;
	copy->policies[s->slot] = s->state;
	police_set_trial(&copy->policies[s->slot], 0); /* a trial does not change the verdict */
	copy->samples[s->slot] = s->sampled ? &stage->sample : NULL;
	copy->ending[s->slot] = s->ending;
	if (copy->shared_buckets)
		copy->shared_buckets[s->slot] = s->shared;
	stage_levels(copy, s);
	return 0;
}

/* Sets up the policy's memory outside its line. */
static int stage_memory(struct stage *stage, struct specimen *s, const struct policy *policy)
{
	const void *from = policy_state_memory(&s->state);
	struct police_secondary secondary = {
		.from = from,
		.credit = &s->credit,
		.last = &stage->last,
	};
	int ret;

	if (!from)
		return 0;
	ret = region_map(&stage->memory, policy_extended_bytes(policy));
	if (ret)
		return ret;
	region_fill(&stage->memory, from, s);
	secondary.to = stage->memory.at;
	if (stage->shared_buckets.at)
		secondary.shared = &stage->worker.shared_buckets[s->slot];
	police_excerpt_settle(&stage->worker.policies[s->slot], &secondary);
	return 0;
}

static int stage_shaper(struct stage *stage, const struct specimen *s, const struct worker *w)
{
	int ret;

	if (!police_is_shaped(&s->state))
		return 0;
	ret = region_map(&stage->shaper, shaper_bytes(shaper_most(w->shaper)));
	if (ret)
		return ret;
	region_fill(&stage->shaper, w->shaper, s);
	stage->worker.shaper = stage->shaper.at;
	shaper_excerpt_settle(stage->worker.shaper);
	shape_above_begin(&stage->worker);
	return 0;
}

static int stage_set(struct stage *stage, struct specimen *s, const struct worker *w,
	const struct policy *policy)
{
	int ret = stage_packet(stage, s);

	stage_worker(stage, s, w);
	if (ret || s->slot == CLASSIFY_NONE)
		return ret;
	ret = stage_slot(stage, s, w);
	if (ret == 0)
		ret = stage_memory(stage, s, policy);
	if (ret == 0)
		ret = stage_shaper(stage, s, w);
	return ret;
}

/* Finds the outcome at the policy and the levels above, from the counters that have changed. */
static void find_outcome(const struct stage *stage, const struct specimen *s,
	const struct counted *before, struct dry_run_result *out)
{
	const struct policy_state *after = &stage->worker.policies[s->slot];
	enum verdict verdict = counted_verdict(before, &stage->worker);

	out->cost = (uint32_t)(after->bytes - s->state.bytes);
	if (verdict != VERDICT_PASS)
		out->verdict = verdict == VERDICT_MARK ? DRY_RUN_MARK : DRY_RUN_COUNT;
	for (unsigned k = 0; k < before->n; k++)
		out->fallback |= counted_fallback(before, &stage->worker, k);
	if (!police_is_coloured(after))
		return;
	out->colour = coloured_last(after->other);
	if (out->verdict == DRY_RUN_PASS && after->other->action == ACTION_MARK)
		out->verdict = DRY_RUN_MARK; /* a green packet's mark is not counted as exceeding */
}

/* Finds the tokens that were there for the packet, if the policy has one bucket. */
static void find_levels(const struct specimen *s, struct dry_run_result *out)
{
	struct policy_state state = s->state;

	if (!police_is_extended(&state)) {
		token_bucket_refill(&state.bucket, &state.limit, s->now);
		out->level_known = true;
		out->level = state.bucket.tokens >> TOKEN_BYTE;
	}
	if (s->shares) {
		out->shared_known = true;
		out->level_shared = shared_bucket_level(&s->shared, s->now);
	}
}

/* Returns the level that refused the packet: the highest one that counts a drop. */
static unsigned find_refuser(const struct stage *stage, const struct specimen *s)
{
	unsigned refuser = 0;

	for (unsigned k = 0; k < s->n_above; k++) {
		const struct specimen_level *level = &s->above[k];
		const struct policy_state *after = &stage->worker.policies[level->slot];

		if (after->dropped_packets != level->state.dropped_packets)
			refuser = k + 1;
	}
	return refuser;
}

/* Returns true if a level is one that causes the verdict on a passing packet. */
static bool level_does(const struct counted *before, const struct worker *w, unsigned k,
	enum dry_run_verdict verdict)
{
	if (verdict == DRY_RUN_PASS)
		return counted_fallback(before, w, k);
	return counted_over(before, w, k) &&
	       (verdict != DRY_RUN_MARK ||
		       w->policies[before->slots[k]].other->action == ACTION_MARK);
}

static void find_doer(struct stage *stage, const struct specimen *s, const struct counted *before,
	struct dry_run_result *out)
{
	struct worker *w = &stage->worker;
	unsigned doer = 0;

	if (out->verdict == DRY_RUN_DROP) {
		doer = find_refuser(stage, s);
	} else if (out->verdict == DRY_RUN_WAIT) {
		doer = shape_above_refuser(w, police_shape(w->policies[s->slot].other),
			shape_mbuf_packet(stage->mbuf), s->now);
	} else { /* the lowest level that causes the verdict: it has marked the packet */
		while (doer < before->n && !level_does(before, w, doer, out->verdict))
			doer++;
		if (doer == before->n)
			doer = 0; /* the packet's own policy */
	}
	out->doer = before->slots[doer];
	for (unsigned k = 1; k < before->n; k++)
		if (k != doer && (counted_over(before, w, k) || counted_fallback(before, w, k)))
			out->also[out->n_also++] = before->slots[k];
}

enum drop_reason dry_run_decide(
	struct worker *w, const struct path *path, struct rx_burst *burst, uint64_t now, bool *pass)
{
	struct rte_mbuf *dropped[BURST];
	enum drop_reason why;

	burst->frames.tunnels = w->tunnels;
	rx_gather(burst, 1);
	why = altered_frame(path, burst, 0);
	*pass = why == DROP_REASONS && burst_decide(w, path, burst, 1, now, dropped) == 1;
	return why;
}

static void decide_specimen(struct stage *stage, struct specimen *s, struct dry_run_result *out)
{
	struct counted before = counted_before(&stage->worker, s->slot);
	unsigned reason = 0;
	bool pass;

	out->reason = dry_run_decide(&stage->worker, &stage->path, &stage->burst, s->now, &pass);
	out->altered = out->reason != DROP_REASONS;
	out->packet = *frames_packet(&stage->burst.frames, 0);
	if (out->altered) {
		out->verdict = DRY_RUN_DROP;
		out->slot = CLASSIFY_NONE;
		return;
	}
	out->slot = stage->burst.frames.policy[0];
	out->verdict = pass ? DRY_RUN_PASS : stage->burst.n_held ? DRY_RUN_WAIT : DRY_RUN_DROP;
	while (out->verdict == DRY_RUN_DROP && reason < DROP_REASONS &&
		stage->worker.counters.dropped[reason] == 0)
		reason++;
	if (out->verdict == DRY_RUN_DROP)
		out->reason = (enum drop_reason)reason; /* the only one that was counted */
	if (s->slot == CLASSIFY_NONE)
		return;
	find_levels(s, out);
	find_outcome(stage, s, &before, out);
	find_doer(stage, s, &before, out);
}

int dry_run(struct specimen *s, const struct worker *w, const struct policy *policy,
	struct dry_run_result *out)
{
	struct stage *stage;
	int ret;

	if (!s->complete)
		return -E2BIG;
	stage = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN(sizeof(*stage), RTE_CACHE_LINE_SIZE));
	if (!stage)
		return -ENOMEM;
	memset(stage, 0, sizeof(*stage));
	*out = (struct dry_run_result){
		.slot = s->slot,
		.before = s->state,
		.doer = s->slot,
		.reason = DROP_REASONS,
		.colour = COLOURS,
	};
	ret = stage_set(stage, s, w, policy);
	if (ret == 0)
		decide_specimen(stage, s, out);
	stage_free(stage);
	return ret;
}

const char *dry_run_verdict_name(enum dry_run_verdict verdict)
{
	static const char *const names[] = {
		[DRY_RUN_PASS] = "pass",
		[DRY_RUN_DROP] = "drop",
		[DRY_RUN_MARK] = "mark",
		[DRY_RUN_COUNT] = "count",
		[DRY_RUN_WAIT] = "wait",
	};

	return names[verdict];
}
