/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Workers' side: the longest destination prefix, then the longest source prefix, then policies
 * without addresses. Each stage handles the packets that are still without a policy. Usually the
 * first stage gives all packets policies, without rules.
 */
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "classify/burst.h"
#include "classify/starts.h"
#include "classify/wide.h"
#include "packet/parse.h"

static bool port_in(uint16_t port, struct port_range range)
{
	return port >= range.first && port <= range.last;
}

/*
 * Returns whether a rule matches. A packet without ports has port 0, which no policy's range has.
 */
static bool rule_matches(const struct rule *rule, const struct facts *facts)
{
	return (facts->key & rule->mask) == rule->key && port_in(facts->src_port, rule->src_port) &&
	       port_in(facts->dst_port, rule->dst_port) && rule_names_source(rule, facts);
}

/* Follows a start to a policy or to START_NONE. */
static uint32_t walk_rule_chain(
	const struct classifier *classifier, uint32_t start, const struct facts *facts)
{
	while (start_is_chain(start)) {
		const struct rule *rule = &classifier->rules[start & ~START_CHAIN];

		start = rule_matches(rule, facts) ? rule->policy : rule->next;
	}
	return start;
}

/*
 * Looks up the starts of a burst, which is fast if all packets are of one family. Returns the
 * bitwise OR of the starts.
 */
static uint32_t lookup_starts(struct burst *burst, const struct table *table)
{
	if (burst->in_order && burst->n4 == burst->n)
		return lookup_starts4(burst, table, burst->policies);
	if (burst->in_order && burst->n6 == burst->n)
		return lookup_starts6(burst, table, burst->policies);
	start_mixed(burst, table);
	return START_NONE;
}

/*
 * Returns whether any packet still needs work: it has a chain to follow, or it has no policy and
 * more stages follow.
 */
static bool any_waiting(const struct burst *burst, bool none_is_final)
{
	uint32_t chains = 0, others = 0;

	for (unsigned i = 0; i < burst->n; i++) {
		chains |= start_is_chain(burst->policies[i]);
		others |= burst->policies[i] >> 31;
	}
	return chains != 0 || (others != 0 && !none_is_final);
}

static unsigned list_waiting(const struct burst *burst, uint8_t *waiting)
{
	unsigned n = 0;

	for (unsigned i = 0; i < burst->n; i++) {
		waiting[n] = (uint8_t)i;
		n += burst->policies[i] >> 31;
	}
	return n;
}

/* Follows the chains of waiting packets. Returns the number of packets that still wait. */
static unsigned walk_waiting(struct burst *burst, uint8_t *waiting, unsigned n)
{
	const struct classifier *classifier = burst->classifier;
	unsigned left = 0;

	for (unsigned w = 0; w < n; w++)
		if (start_is_chain(burst->policies[waiting[w]]))
			rte_prefetch0(
				&classifier->rules[burst->policies[waiting[w]] & ~START_CHAIN]);
	for (unsigned w = 0; w < n; w++) {
		const uint8_t i = waiting[w];

		if (start_is_chain(burst->policies[i])) {
			const struct facts facts = facts_of(burst, i);

			burst->policies[i] = walk_rule_chain(
				classifier, burst->policies[i], &facts);
		}
		waiting[left] = i;
		left += burst->policies[i] == START_NONE;
	}
	return left;
}

/* Finds the policies of packets that no policy with addresses matches. */
static void match_any(struct burst *burst, const uint8_t *waiting, unsigned n)
{
	const struct classifier *classifier = burst->classifier;

	for (unsigned w = 0; w < n; w++) {
		const uint8_t i = waiting[w];
		const struct facts facts = facts_of(burst, i);

		burst->policies[i] = walk_rule_chain(
			classifier, start_of_any(classifier, &facts), &facts);
	}
}

/* The first table that has policies for this direction, or NULL. */
static const struct table *first_table(const struct burst *burst)
{
	const struct classifier *classifier = burst->classifier;

	if (table_applies(&classifier->dst, burst->direction))
		return &classifier->dst;
	return table_applies(&classifier->src, burst->direction) ? &classifier->src : NULL;
}

static enum side side_of(const struct burst *burst, const struct table *table)
{
	return table == &burst->classifier->src ? SIDE_SRC : SIDE_DST;
}

/* Runs all stages. The burst's columns are those of the first table. */
static void classify_stages(struct burst *burst, const struct table *table)
{
	const struct classifier *classifier = burst->classifier;
	const struct table *second = &classifier->src;
	uint8_t waiting[BURST_MAX];
	uint32_t all = START_NONE;
	unsigned n;

	if (table != NULL)
		all = lookup_starts(burst, table);
	else
		fill_starts(burst->policies, burst->n, START_NONE);
	if (likely(all >> 31 == 0) || !any_waiting(burst, table != NULL && table->last))
		return;
	n = walk_waiting(burst, waiting, list_waiting(burst, waiting));
	if (n > 0 && table == &classifier->dst && table_applies(second, burst->direction)) {
		columns_of(burst, waiting, n, SIDE_SRC);
		start_mixed(burst, second);
		n = walk_waiting(burst, waiting, n);
	}
	match_any(burst, waiting, n);
}

/* Classifies a burst whose packets all get the same policy. */
static void classify_alike(
	const struct classifier *classifier, uint64_t key, unsigned n, uint32_t *policies)
{
	const struct facts facts = {.key = key};

	fill_starts(policies, n, walk_rule_chain(classifier, classifier->any, &facts));
}

/* Sets all fields except the columns, which are written before they are read. */
static void begin_burst(struct burst *burst, const struct classifier *classifier, unsigned wire,
	enum direction direction, unsigned n, uint32_t *policies)
{
	burst->classifier = classifier;
	burst->direction = direction;
	burst->key = (uint64_t)wire << KEY_WIRE_SHIFT | (uint64_t)direction << KEY_DIRECTION_SHIFT;
	burst->n = n;
	burst->policies = policies;
	burst->lines = NULL;
	burst->wide = false;
	burst->refused = 0;
}

static bool drops_unmatched(const struct classifier *classifier, unsigned wire)
{
	return classifier->drops >> wire & 1;
}

static void refuse_unmatched(
	struct burst *burst, unsigned i, const struct packet *packet, const uint8_t *data)
{
	if (burst->policies[i] == CLASSIFY_NONE && !packet_is_of_link(packet, data))
		burst->refused |= UINT64_C(1) << i;
}

/*
 * Drops packets without a policy, on a wire with that default. Usually all packets of a burst have
 * a policy.
 */
static __attribute__((noinline)) void refuse_frames(struct burst *burst, struct frames *frames)
{
	for (unsigned i = 0; i < burst->n; i++)
		if (burst->policies[i] == CLASSIFY_NONE)
			refuse_unmatched(burst, i, frames_packet(frames, i), frames->data[i]);
	frames->refused = burst->refused;
}

uint64_t classify_burst(const struct classifier *classifier, unsigned wire,
	enum direction direction, const struct packet *packets, const uint8_t *const *data,
	unsigned n, uint32_t *policies)
{
	const struct table *table;
	uint8_t all[BURST_MAX];
	uint64_t unparsed = 0;
	struct burst burst;

	if (n == 0)
		return 0;
	begin_burst(&burst, classifier, wire, direction, n, policies);
	table = first_table(&burst);
	if (table == NULL && classifier->any_alike) {
		classify_alike(classifier, burst.key, n, policies);
		return 0;
	}
	burst.parsed = UINT64_MAX;
	burst.packets = packets;
	burst.data = data;
	for (unsigned i = 0; i < n; i++) {
		all[i] = (uint8_t)i;
		unparsed |= (uint64_t)(packets[i].unparsed != UNPARSED_NONE) << i;
	}
	columns_of(&burst, all, n, side_of(&burst, table));
	classify_stages(&burst, table);
	if (unlikely(unparsed != 0))
		classify_unparsed(&burst, unparsed);
	if (unlikely(drops_unmatched(classifier, wire)))
		for (unsigned i = 0; i < n; i++)
			refuse_unmatched(&burst, i, &packets[i], data[i]);
	return burst.refused;
}

void classify_frames(const struct classifier *classifier, unsigned wire, enum direction direction,
	struct frames *frames, unsigned n)
{
	const struct table *table;
	struct burst burst;

	begin_burst(&burst, classifier, wire, direction, n, frames->policy);
	frames->plain = 0;
	frames->parsed = 0;
	frames->unparsed = 0;
	frames->refused = 0;
	table = first_table(&burst);
	if (table == NULL && classifier->any_alike) {
		classify_alike(classifier, burst.key, n, frames->policy);
		if (!classifier->wants_l2_len) {
			memset(frames->l2_len, 0, sizeof(frames->l2_len));
			memset(frames->uncharged, 0, sizeof(frames->uncharged));
			return;
		}
		find_uncharged(frames, n, l2_lengths(frames, n));
		return;
	}
	burst.lines = frames->lines;
	burst.wide = frames->wide && n % WIDE_STEP == 0;
	columns_of_frames(&burst, frames, side_of(&burst, table));
	classify_stages(&burst, table);
	find_uncharged(frames, n, burst.tall);
	if (unlikely(frames->unparsed != 0)) {
		classify_unparsed(&burst, frames->unparsed);
		frames->refused = burst.refused;
	}
	if (unlikely(drops_unmatched(classifier, wire)))
		refuse_frames(&burst, frames);
}
