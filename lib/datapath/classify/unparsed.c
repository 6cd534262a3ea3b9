/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Workers' side of packets that are not fully parsed: finds the strictest policy that could match,
 * instead of the first that matches. Handles one packet at a time, because there are few. The cost
 * is that of a packet that no rule matches.
 */
#include "classify/candidates.h"
#include "classify/starts.h"

/* State of a search. */
struct search {
	const struct classifier *classifier;
	struct knowledge what;
	bool opens;    /* the packet can begin a flow */
	uint32_t best; /* strictest policy so far, or CLASSIFY_NONE */
	uint32_t most; /* its strictness */
};

static uint32_t strictness_of(const struct search *search, uint32_t answer)
{
	const struct strictness *all = search->classifier->strictness;
	uint32_t first = 0, n = search->classifier->n_strictness;

	while (n > 1) {
		const uint32_t half = n / 2;

		if (all[first + half].answer <= answer)
			first += half;
		n -= half;
	}
	return search->opens ? all[first].opens : all[first].carries;
}

static void consider_policy(struct search *search, uint32_t answer)
{
	const uint32_t strict = strictness_of(search, answer);

	if (search->best != CLASSIFY_NONE && strict <= search->most)
		return;
	search->best = answer;
	search->most = strict;
}

static bool could_match(const struct search *search, const struct rule *rule)
{
	return rule_may_take(&search->what, rule) && rule_names_source(rule, &search->what.facts);
}

/* Follows a start. Returns whether it came to a policy after which no other can be reached. */
static bool follow_start(struct search *search, uint32_t start)
{
	while (start_is_chain(start)) {
		const struct rule *rule = &search->classifier->rules[start & ~START_CHAIN];

		start = rule->next;
		if (!could_match(search, rule))
			continue;
		consider_policy(search, rule->policy);
		if (rule_asks_known(&search->what, rule))
			return true;
	}
	if (start == START_NONE)
		return false;
	consider_policy(search, start);
	return true;
}

static bool follow_table(struct search *search, struct burst *burst, uint8_t i,
	const struct table *table, enum side side)
{
	if (!table_applies(table, burst->direction))
		return false;
	columns_of(burst, &i, 1, side);
	start_mixed(burst, table);
	return follow_start(search, burst->policies[i]);
}

static void find_strictest(struct burst *burst, uint8_t i)
{
	const struct classifier *classifier = burst->classifier;
	const struct packet *packet = &burst->packets[i];
	const bool address = !(packet->unknown & PACKET_UNKNOWN_ADDRESS);
	struct search search = {
		.classifier = classifier,
		.what = {.facts = facts_of(burst, i),
			.known = packet->unknown & PACKET_UNKNOWN_PROTO ? ~KEY_PROTO_MASK
									: UINT64_MAX,
			.src_port = !(packet->unknown & PACKET_UNKNOWN_PORTS),
			.dst_port = !(packet->unknown & PACKET_UNKNOWN_PORTS)},
		.opens = packet->fragment != PACKET_FRAGMENT_LATER ||
			 packet->unknown & PACKET_UNKNOWN_FLAGS,
		.best = CLASSIFY_NONE,
	};

	if (packet->family == PACKET_OTHER)
		search.what.known &= ~KEY_DSCP_MASK;
	if (!follow_table(&search, burst, i, &classifier->dst, SIDE_DST) &&
		!follow_table(&search, burst, i, &classifier->src, SIDE_SRC))
		follow_start(&search, start_of_any(classifier, &search.what.facts));
	burst->policies[i] = search.best;
	burst->refused |= (uint64_t)(search.best == CLASSIFY_NONE && !address) << i;
}

void classify_unparsed(struct burst *burst, uint64_t unparsed)
{
	if (burst->classifier->unparsed == UNPARSED_PASS)
		return;
	for (; unparsed; unparsed &= unparsed - 1) {
		const uint8_t i = (uint8_t)__builtin_ctzll(unparsed);

		if (burst->classifier->unparsed == UNPARSED_DROP ||
			burst->packets[i].unparsed == UNPARSED_FRAGMENT_CONFLICT) {
			burst->policies[i] = CLASSIFY_NONE;
			burst->refused |= UINT64_C(1) << i;
		} else {
			find_strictest(burst, i);
		}
	}
}
