/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of policies below others, while every level above has tokens for the whole burst.
 */

#include "policer.h"
#include "police/lineage.h"
#include "worker_data.h"

/* Levels above a policy's own. */
#define ABOVE (POLICY_LEVELS_MOST - 1)

/* States of the levels above each packet's own policy, lowest first; NULL: none. */
struct above {
	struct policy_state *states[ABOVE][BURST];
	unsigned n; /* the most levels of any packet */
};

/* Fills in `above`, and begins to fetch the lines of the policies and of the levels above. */
static void find_above(
	struct above *above, struct worker *w, const struct rx_burst *burst, uint64_t packets)
{
	const uint32_t *parents = w->own.view.parents;

	above->n = 0;
	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets), k = 0;
		uint32_t slot = burst->frames.policy[i];

		if (likely(slot != CLASSIFY_NONE)) {
			rte_prefetch0(&w->policies[slot]);
			slot = parents[slot];
		}
		for (; slot != SLOT_NONE; slot = parents[slot], k++) {
			above->states[k][i] = &w->policies[slot];
			rte_prefetch0(above->states[k][i]);
		}
		above->n = RTE_MAX(above->n, k);
		for (; k < ABOVE; k++)
			above->states[k][i] = NULL;
	}
}

static_assert(CLASSIFY_NONE == SLOT_NONE, "nothing is above none");

/* Returns tokens that suffice for all packets of the burst, by any accounting. */
static uint64_t whole_burst(const struct rx_burst *burst)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < burst->n; i++)
		bytes += burst->len[i] + POLICE_WIRE;
	return bytes << TOKEN_BYTE;
}

/* Returns true if a level is plain and has these tokens. `plain`: all policies are. */
static inline bool is_free(struct policy_state *state, uint64_t tokens, uint64_t now, bool plain)
{
	if (!plain && !police_is_simple(state))
		return false;
	token_bucket_refill(&state->bucket, &state->limit, now);
	return state->bucket.tokens >= tokens;
}

/* Returns the packets that one level above, if they have it, does not refuse. */
static uint64_t find_free_at(struct policy_state *const *states, uint64_t packets, uint64_t tokens,
	uint64_t now, bool plain)
{
	struct policy_state *last = NULL;
	uint64_t refused = 0;
	bool is = true;

	for (uint64_t left = packets; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		if (states[i] != last) {
			last = states[i];
			is = last == NULL || is_free(last, tokens, now, plain);
		}
		if (unlikely(!is))
			refused |= UINT64_C(1) << i;
	}
	return packets & ~refused;
}

/* Returns the packets whose own policies are plain, and those without a policy. */
static uint64_t find_plain(struct worker *w, const struct rx_burst *burst, uint64_t packets)
{
	uint64_t found = packets;

	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);

		if (burst->frames.policy[i] != CLASSIFY_NONE &&
			!police_is_simple(burst_policy(w, burst, i)))
			found &= ~(UINT64_C(1) << i);
	}
	return found;
}

/* Returns the packets of find_plain() that no level above refuses. */
static uint64_t find_free(struct worker *w, const struct rx_burst *burst, const struct above *above,
	uint64_t packets, uint64_t now)
{
	bool plain = w->own.view.kinds == 1U << POLICE_SIMPLE;
	uint64_t tokens = whole_burst(burst);

	if (!plain)
		packets = find_plain(w, burst, packets);
	for (unsigned k = 0; k < above->n; k++)
		packets = find_free_at(above->states[k], packets, tokens, now, plain);
	return packets;
}

/* Returns a bit of 64 for a line. Different lines mostly have different bits. */
static inline uint64_t line_bit(const struct worker *w, const struct policy_state *state)
{
	return UINT64_C(1) << (state - w->policies) % 64;
}

/*
 * Returns the packets whose own policy might be a level above `asked` packets, which are not free.
 * Both kinds take tokens from that policy, so they must be charged in their order. Excludes
 * policies without a parent: their packets are charged first, as in a divided burst.
 */
static uint64_t find_before(const struct worker *w, const struct rx_burst *burst,
	const struct above *above, uint64_t packets, uint64_t asked)
{
	uint64_t lines = 0, found = 0;

	for (unsigned k = 0; k < above->n; k++)
		for (uint64_t left = asked; left; left &= left - 1) {
			unsigned i = (unsigned)__builtin_ctzll(left);

			if (above->states[k][i])
				lines |= line_bit(w, above->states[k][i]);
		}
	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);
		uint32_t policy = burst->frames.policy[i];

		if (above->n && above->states[0][i] && lines >> policy % 64 & 1)
			found |= UINT64_C(1) << i;
	}
	return found;
}

/* Consecutive packets that a level is charged in one step. `which`: bit mask, if it can sample. */
struct run {
	struct policy_state *state;
	uint64_t bytes, which;
	uint32_t packets;
};

/* Samples packets of a run as if they came one by one. */
static void sample_run(
	struct worker *w, struct rx_burst *burst, const struct run *run, const uint32_t *costs)
{
	uint64_t samples = police_samples_burst(run->state, run->packets);

	for (uint64_t left = run->which; samples; left &= left - 1, samples >>= 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		if (samples & 1)
			policer_sample_of(
				w, burst, i, (uint32_t)(run->state - w->policies), costs[i]);
	}
}

static __rte_always_inline void end_run(struct worker *w, struct rx_burst *burst,
	const struct run *run, const uint32_t *costs, bool sampled)
{
	if (run->state == NULL)
		return;
	if (sampled && police_shift(run->state) != POLICE_UNSAMPLED)
		sample_run(w, burst, run, costs);
	lineage_pass_plain(run->state, run->packets, run->bytes);
}

/*
 * Charges a level for the packets that passed the level below, one run at a time. `sampled`: the
 * level can sample them.
 */
static __rte_always_inline void charge_above(struct worker *w, struct rx_burst *burst,
	struct policy_state *const *states, const uint32_t *costs, uint64_t passed, bool sampled)
{
	struct run run = {.state = NULL};

	for (; passed; passed &= passed - 1) {
		unsigned i = (unsigned)__builtin_ctzll(passed);

		if (states[i] != run.state) {
			end_run(w, burst, &run, costs, sampled);
			run = (struct run){.state = states[i]};
		}
		if (sampled)
			run.which |= UINT64_C(1) << i;
		run.packets++;
		run.bytes += costs[i];
	}
	end_run(w, burst, &run, costs, sampled);
}

/* Charges packets that only their own policy decides. Returns those that do not pass. */
static uint64_t charge_free(struct worker *w, struct rx_burst *burst, const struct above *above,
	uint64_t packets, uint64_t now)
{
	uint64_t drops, matched = burst_matched(burst, packets);
	struct policer_lines lines;
	uint32_t costs[BURST];

	if (unlikely(matched != packets))
		counter_add(&w->counters.unmatched_packets,
			(unsigned)__builtin_popcountll(packets & ~matched) - burst->n_refused);
	policer_lines_find(&lines, w, burst, matched, now);
	if (!policer_lines_charge_eights(w, burst, matched, now, &drops))
		drops = policer_lines_charge(&lines, w, burst, now) & packets;
	for (unsigned i = 0; i < burst->n; i++)
		costs[i] = lines.costs[police_accounting(lines.states[i])][i];
	for (unsigned k = 0; k < above->n; k++)
		charge_above(w, burst, above->states[k], costs, packets & ~drops, false);
	return drops;
}

uint64_t policer_free(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now, uint64_t *drops)
{
	struct above above;
	uint64_t mine;

	find_above(&above, w, burst, packets);
	mine = find_free(w, burst, &above, packets, now);
	if (mine != packets)
		mine &= ~find_before(w, burst, &above, mine, packets & ~mine);
	if (mine)
		*drops |= charge_free(w, burst, &above, mine, now);
	return mine;
}

/* Returns the packets whose policies drop or pass them, and have no trial. */
static uint64_t find_plain_sources(struct worker *w, const struct rx_burst *burst, uint64_t packets)
{
	uint64_t found = packets;

	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);
		const struct policy_state *own = burst_policy(w, burst, i);

		if (own->other->action != ACTION_DROP || police_trial(own))
			found &= ~(UINT64_C(1) << i);
	}
	return found;
}

/* Samples and counts metered packets, and fills in costs[]. Returns those that do not pass. */
static uint64_t count_sources(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint32_t *costs)
{
	uint64_t drops = 0;

	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);

		costs[i] = sourced_cost(&burst->sourced, i);
		if (unlikely(police_samples(burst_policy(w, burst, i))))
			policer_sample(w, burst, i, costs[i]);
		drops |= sourced_count(&burst->sourced, i) << i;
	}
	return drops;
}

uint64_t policer_free_sources(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now, uint64_t *drops)
{
	uint64_t tokens = whole_burst(burst), refused;
	uint32_t costs[BURST];
	struct above above;

	find_above(&above, w, burst, packets);
	packets = find_plain_sources(w, burst, packets);
	for (unsigned k = 0; k < above.n; k++)
		packets = find_free_at(above.states[k], packets, tokens, now, false);
	if (packets == 0)
		return 0;
	sourced_take(&burst->sourced, packets);
	sourced_meter(&burst->sourced, now);
	refused = count_sources(w, burst, packets, costs);
	for (unsigned k = 0; k < above.n; k++)
		charge_above(w, burst, above.states[k], costs, packets & ~refused, true);
	*drops |= refused;
	return packets;
}

/* Charges n packets of a plain policy, and fills in costs[]. Returns those that do not pass. */
static uint64_t charge_plain_alike(
	struct worker *w, struct rx_burst *burst, uint32_t *costs, uint16_t n, uint64_t now)
{
	policer_costs_alike(costs, burst, police_accounting(burst_policy(w, burst, 0)), n);
	return policer_simple.charge_alike(w, burst, n, now);
}

/*
 * Charges n packets that policer_add_sources() has added, each with a source's meter. Returns those
 * that do not pass.
 */
static uint64_t charge_sources_alike(
	struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now)
{
	sourced_take(&burst->sourced, burst_mask(n));
	sourced_meter_alike(&burst->sourced, now);
	policer_sample_alike(w, burst_policy(w, burst, 0), burst, burst->sourced.count, n);
	return sourced_count_alike(&burst->sourced, n);
}

/* Charges the levels above for the packets that passed, in a burst of one policy. */
static void charge_above_alike(struct worker *w, struct rx_burst *burst, const uint32_t *slots,
	unsigned levels, const uint32_t *costs, uint64_t passed, bool sampled)
{
	struct run run = {.which = passed, .packets = (uint32_t)__builtin_popcountll(passed)};

	for (uint64_t left = passed; left; left &= left - 1)
		run.bytes += costs[__builtin_ctzll(left)];
	for (unsigned k = 1; k < levels && passed; k++) {
		run.state = &w->policies[slots[k]];
		end_run(w, burst, &run, costs, sampled);
	}
}

bool policer_free_alike(
	struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now, uint64_t *drops)
{
	struct policy_state *own = burst_policy(w, burst, 0);
	uint32_t slots[POLICY_LEVELS_MOST], costs[BURST];
	unsigned levels = lineage_of(w, burst->frames.policy[0], slots);
	uint64_t tokens = whole_burst(burst);

	for (unsigned k = 1; k < levels; k++)
		if (!is_free(&w->policies[slots[k]], tokens, now, false))
			return false;
	if (police_is_simple(own)) {
		*drops = charge_plain_alike(w, burst, costs, n, now);
		charge_above_alike(w, burst, slots, levels, costs, ~*drops & burst_mask(n), false);
		return true;
	}
	if (police_kind(own) != POLICE_SOURCED || own->other->action != ACTION_DROP)
		return false;
	policer_add_sources(burst, own, n);
	if (burst->sourced.below != burst_mask(n))
		return false;
	*drops = charge_sources_alike(w, burst, n, now);
	charge_above_alike(
		w, burst, slots, levels, burst->sourced.count, ~*drops & burst_mask(n), true);
	return true;
}
