/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Control side: builds the lookup tables. Matches of policies become sorted entries, these become
 * chains of rules, and these lookup tables.
 *
 * A single sort groups the policies of one prefix, in order of precedence, and puts every prefix
 * after the one that encloses it. In a policy without addresses, a VLAN is sorted as a prefix of 16
 * bits, and no VLAN as one of 0 bits. So VLANs need no code of their own.
 */
#include "classify/order.h"
#include "policy/matches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#define NOT_NAMED  255 /* sorts after every prefix length */
#define ENTRY_NONE UINT32_MAX
#define ANY_PORT   UINT16_MAX /* sorts after every range, which is narrower */

struct build_entry {
	struct order order;
	uint32_t policy;
	const struct match *match;
	uint32_t first;  /* first entry of this prefix */
	uint32_t parent; /* first entry of the closest enclosing prefix, or ENTRY_NONE */
};

struct build {
	const struct policy *policies;
	const uint32_t *answers; /* indexed as policies; NULL: the answer is the index */
	struct build_entry *entries;
	uint32_t n;
	enum direction direction[STAGES]; /* common to all policies of a stage, or DIRECTION_ANY */
	int socket;
	struct classifier *classifier;
};

static const struct match *match_of(const struct build *build, uint32_t i)
{
	return build->entries[i].match;
}

static bool prefix_is_set(const struct prefix *prefix)
{
	return prefix->family != 0;
}

static void order_prefix(struct order *order, enum stage stage, const struct prefix *prefix)
{
	order->stage = stage;
	order->family = prefix->family;
	order->length = prefix->length;
	memcpy(order->addr, prefix->addr, prefix->family == PACKET_IPV4 ? 4 : 16);
}

static void order_vlan(struct order *order, int vlan)
{
	order->stage = STAGE_ANY;
	if (vlan == CONFIG_ANY)
		return;
	order->length = 16;
	order->addr[0] = vlan >> 8;
	order->addr[1] = vlan & 0xff;
}

static void order_ports(uint8_t order[2], const struct port_range *range)
{
	const unsigned width = range->first == 0 ? ANY_PORT : range->last - range->first;

	order[0] = (uint8_t)(width >> 8);
	order[1] = (uint8_t)width;
}

struct order match_order(const struct match *match)
{
	struct order order = {0};

	if (prefix_is_set(&match->dst))
		order_prefix(&order, STAGE_DST, &match->dst);
	else if (prefix_is_set(&match->src))
		order_prefix(&order, STAGE_SRC, &match->src);
	else
		order_vlan(&order, match->vlan);
	order.source = prefix_is_set(&match->src) ? 128 - match->src.length : NOT_NAMED;
	order.no_field = (match->vlan == CONFIG_ANY) << 2 | (match->dscp == CONFIG_ANY) << 1 |
			 (match->proto == 0);
	order_ports(order.dst_ports, &match->dst_port);
	order_ports(order.src_ports, &match->src_port);
	order.no_place = match->last << 2 | (match->wire == CONFIG_ANY) << 1 |
			 (match->direction == DIRECTION_ANY);
	return order;
}

bool match_is_possible(const struct match *match)
{
	return !prefix_is_set(&match->dst) || !prefix_is_set(&match->src) ||
	       match->dst.family == match->src.family;
}

static int compare_entries(const void *left, const void *right)
{
	const struct build_entry *a = left, *b = right;
	const int diff = memcmp(&a->order, &b->order, sizeof(a->order));

	if (diff != 0)
		return diff;
	if (a->policy != b->policy)
		return a->policy < b->policy ? -1 : 1;
	return a->match < b->match ? -1 : a->match > b->match;
}

static unsigned common_bits(const uint8_t *a, const uint8_t *b)
{
	for (unsigned i = 0; i < 16; i++)
		if (a[i] != b[i])
			return i * 8 + (unsigned)__builtin_clz(a[i] ^ b[i]) - 24;
	return 128;
}

static bool order_encloses(const struct order *a, const struct order *b)
{
	return a->stage == b->stage && a->family == b->family && a->length <= b->length &&
	       common_bits(a->addr, b->addr) >= a->length;
}

/*
 * Finds the first entry and the parent of each prefix. Entries are sorted, so the prefix that
 * encloses an entry is the one before it, or encloses that one. An entry that "encloses" the next
 * one at the same length has the same prefix, so its run continues.
 */
static void link_entries(struct build_entry *entries, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i > 0 ? entries[i - 1].first : ENTRY_NONE;

		while (at != ENTRY_NONE && !order_encloses(&entries[at].order, &entries[i].order))
			at = entries[at].parent;
		entries[i].first = i;
		entries[i].parent = at;
		if (at != ENTRY_NONE && entries[at].order.length == entries[i].order.length) {
			entries[i].first = at;
			entries[i].parent = entries[at].parent;
		}
	}
}

/* Adds an entry for each match of a policy. All lead to the same answer. */
static void add_entries(struct build *build, uint32_t policy)
{
	for (unsigned i = 0; i < policy_n_matches(&build->policies[policy]); i++) {
		const struct match *match = policy_match(&build->policies[policy], i);

		if (match_is_possible(match))
			build->entries[build->n++] = (struct build_entry){
				.order = match_order(match), .policy = policy, .match = match};
	}
}

static int make_entries(struct build *build, unsigned n_policies, uint64_t n_matches)
{
	build->entries = calloc((size_t)n_matches + 1, sizeof(*build->entries));
	if (build->entries == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_policies; i++)
		add_entries(build, i);
	qsort(build->entries, build->n, sizeof(*build->entries), compare_entries);
	link_entries(build->entries, build->n);
	return 0;
}

/*
 * Finds the direction that all policies of a stage have in common. It is not a condition of their
 * rules, because the other direction skips the stage.
 */
static void find_directions(struct build *build)
{
	bool seen[STAGES] = {false};

	for (uint32_t i = 0; i < build->n; i++) {
		const enum stage stage = build->entries[i].order.stage;
		const enum direction direction = match_of(build, i)->direction;

		if (stage != STAGE_ANY && (!seen[stage] || build->direction[stage] == direction))
			build->direction[stage] = direction;
		else
			build->direction[stage] = DIRECTION_ANY;
		seen[stage] = true;
	}
}

static void add_condition(struct rule *rule, uint64_t mask, unsigned shift, uint64_t value)
{
	rule->mask |= mask;
	rule->key |= value << shift;
}

/* Adds the conditions that the tables have not checked. The last stage's have checked the VLAN. */
static void rule_conditions(
	const struct build *build, enum stage stage, const struct match *match, struct rule *rule)
{
	if (match->vlan != CONFIG_ANY && stage != STAGE_ANY)
		add_condition(rule, KEY_VLAN_MASK, 0, match->vlan);
	if (match->dscp != CONFIG_ANY)
		add_condition(rule, KEY_DSCP_MASK, KEY_DSCP_SHIFT, match->dscp);
	if (match->proto != 0)
		add_condition(rule, KEY_PROTO_MASK, KEY_PROTO_SHIFT, match->proto);
	if (match->direction != build->direction[stage])
		add_condition(rule, KEY_DIRECTION_MASK, KEY_DIRECTION_SHIFT, match->direction);
	if (match->wire != CONFIG_ANY)
		add_condition(rule, KEY_WIRE_MASK, KEY_WIRE_SHIFT, match->wire);
}

static struct port_range port_condition(struct port_range range)
{
	return range.first != 0 ? range : (struct port_range){0, UINT16_MAX};
}

struct rule match_rule(const struct match *match)
{
	const struct build any = {.direction = {DIRECTION_ANY, DIRECTION_ANY, DIRECTION_ANY}};
	struct rule rule = {
		.src_port = port_condition(match->src_port),
		.dst_port = port_condition(match->dst_port),
	};

	rule_conditions(&any, STAGE_SRC, match, &rule);
	return rule;
}

static void source_condition(struct rule *rule, const struct prefix *prefix)
{
	uint8_t mask[16] = {0};

	for (unsigned bit = 0; bit < prefix->length; bit++)
		mask[bit / 8] |= 0x80 >> bit % 8;
	memcpy(rule->src, prefix->addr, sizeof(rule->src));
	memcpy(rule->src_mask, mask, sizeof(rule->src_mask));
}

/* Makes the rule of an entry, without `next`. */
static struct rule make_rule(const struct build *build, uint32_t i)
{
	const enum stage stage = build->entries[i].order.stage;
	const struct match *match = match_of(build, i);
	struct rule rule = {
		.policy = build->answers != NULL ? build->answers[build->entries[i].policy]
						 : build->entries[i].policy,
		.src_port = port_condition(match->src_port),
		.dst_port = port_condition(match->dst_port),
	};

	rule_conditions(build, stage, match, &rule);
	if (stage == STAGE_DST)
		source_condition(&rule, &match->src);
	return rule;
}

static bool any_port(const struct rule *rule)
{
	return rule->src_port.first == 0 && rule->dst_port.first == 0;
}

/* The start of an entry: its policy, or the chain that begins with its rule. */
static uint32_t start_of(const struct build *build, uint32_t i)
{
	const struct rule *rule = &build->classifier->rules[i];

	return rule_asks_nothing(rule) ? rule->policy : START_CHAIN | i;
}

/* The start of packets that no rule of this stage matches. */
static uint32_t stage_default(const struct build *build, enum stage stage)
{
	if (stage == STAGE_ANY)
		return START_NONE;
	return stage == STAGE_DST ? build->classifier->dst.otherwise
				  : build->classifier->src.otherwise;
}

static uint32_t next_start(const struct build *build, uint32_t i)
{
	const struct build_entry *entry = &build->entries[i];

	if (i + 1 < build->n && build->entries[i + 1].first == entry->first)
		return start_of(build, i + 1);
	if (entry->parent != ENTRY_NONE)
		return start_of(build, entry->parent);
	return stage_default(build, entry->order.stage);
}

/* Allocates one element more than needed, because rte_malloc fails for 0 bytes. */
static void *alloc_array(const struct build *build, size_t n, size_t size)
{
	return rte_zmalloc_socket("weir_classify", (n + 1) * size, 64, build->socket);
}

static int make_rules(struct build *build)
{
	struct classifier *classifier = build->classifier;

	classifier->rules = alloc_array(build, build->n, sizeof(*classifier->rules));
	if (classifier->rules == NULL)
		return -ENOMEM;
	classifier->n_rules = build->n;
	for (uint32_t i = 0; i < build->n; i++)
		classifier->rules[i] = make_rule(build, i);
	return 0;
}

static int make_by_vlan(struct build *build)
{
	struct classifier *classifier = build->classifier;

	classifier->by_vlan = alloc_array(build, VLANS, sizeof(*classifier->by_vlan));
	if (classifier->by_vlan == NULL)
		return -ENOMEM;
	for (unsigned vlan = 0; vlan < VLANS; vlan++)
		classifier->by_vlan[vlan] = classifier->any;
	return 0;
}

/*
 * Fills in the starts of policies without addresses. The entry without a VLAN sorts first, so
 * make_by_vlan() can fill the table with it.
 */
static int make_any(struct build *build)
{
	struct classifier *classifier = build->classifier;
	int rc;

	for (uint32_t i = 0; i < build->n; i++) {
		const struct order *order = &build->entries[i].order;

		if (order->stage != STAGE_ANY || build->entries[i].first != i)
			continue;
		if (order->length == 0) {
			classifier->any = start_of(build, i);
			continue;
		}
		if (classifier->by_vlan == NULL) {
			rc = make_by_vlan(build);
			if (rc < 0)
				return rc;
		}
		classifier->by_vlan[order->addr[0] << 8 | order->addr[1]] = start_of(build, i);
	}
	return 0;
}

static bool is_any_alike(const struct build *build)
{
	const struct classifier *classifier = build->classifier;

	for (uint32_t i = 0; i < build->n; i++) {
		const struct rule *rule = &classifier->rules[i];

		if (build->entries[i].order.stage == STAGE_ANY &&
			(rule->mask & KEY_PACKET_MASK || !any_port(rule)))
			return false;
	}
	return classifier->by_vlan == NULL;
}

static bool tables_overlap(const struct table *a, const struct table *b)
{
	return a->used && b->used &&
	       (a->direction == DIRECTION_ANY || b->direction == DIRECTION_ANY ||
		       a->direction == b->direction);
}

/*
 * Sets the start for packets without an entry in a table. The last table leads directly to `any` if
 * no policy without addresses names a VLAN.
 */
static void find_otherwise(struct build *build)
{
	struct classifier *classifier = build->classifier;
	struct table *dst = &classifier->dst, *src = &classifier->src;

	for (uint32_t i = 0; i < build->n; i++) {
		dst->used |= build->entries[i].order.stage == STAGE_DST;
		src->used |= build->entries[i].order.stage == STAGE_SRC;
	}
	dst->direction = build->direction[STAGE_DST];
	src->direction = build->direction[STAGE_SRC];
	src->last = classifier->by_vlan == NULL;
	dst->last = src->last && !tables_overlap(dst, src);
	src->otherwise = src->last ? classifier->any : START_NONE;
	dst->otherwise = dst->last ? classifier->any : START_NONE;
}

/*
 * Lists the prefixes of one table, except one of no bits: that is its root. Returns their number.
 */
static uint32_t list_prefixes(const struct build *build, enum stage stage, uint8_t family,
	struct lpm_prefix *prefixes, uint32_t *root)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < build->n; i++) {
		const struct build_entry *entry = &build->entries[i];

		if (entry->order.stage != stage || entry->order.family != family ||
			entry->first != i)
			continue;
		if (entry->order.length == 0) {
			*root = start_of(build, i);
			continue;
		}
		prefixes[n].length = entry->order.length;
		prefixes[n].answer = start_of(build, i);
		memcpy(prefixes[n].addr, entry->order.addr, sizeof(prefixes[n].addr));
		n++;
	}
	return n;
}

static int make_table(struct build *build, enum stage stage, struct table *table)
{
	struct lpm_prefix *prefixes = calloc((size_t)build->n + 1, sizeof(*prefixes));
	uint32_t n;
	int rc = 0;

	if (prefixes == NULL)
		return -ENOMEM;
	table->root4 = table->otherwise;
	table->root6 = table->otherwise;
	n = list_prefixes(build, stage, PACKET_IPV4, prefixes, &table->root4);
	if (n > 0)
		rc = fib4_create(prefixes, n, table->root4, build->socket, &table->v4);
	n = list_prefixes(build, stage, PACKET_IPV6, prefixes, &table->root6);
	if (rc == 0 && n > 0)
		rc = lpm6_create(prefixes, n, table->root6, build->socket, &table->v6);
	free(prefixes);
	return rc;
}

static bool wants_l2_len(const struct policy *policies, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (policies[i].count == COUNT_BYTES && policies[i].accounting == ACCOUNTING_L3)
			return true;
	return false;
}

static int build_tables(struct build *build, unsigned n_policies, uint64_t n_matches)
{
	struct classifier *classifier = build->classifier;
	int rc;

	classifier->any = START_NONE;
	classifier->wants_l2_len = wants_l2_len(build->policies, n_policies);
	rc = make_entries(build, n_policies, n_matches);
	if (rc < 0)
		return rc;
	find_directions(build);
	rc = make_rules(build);
	if (rc == 0)
		rc = make_any(build);
	if (rc < 0)
		return rc;
	classifier->any_alike = is_any_alike(build);
	find_otherwise(build);
	for (uint32_t i = 0; i < build->n; i++)
		build->classifier->rules[i].next = next_start(build, i);
	rc = make_table(build, STAGE_DST, &classifier->dst);
	if (rc == 0)
		rc = make_table(build, STAGE_SRC, &classifier->src);
	return rc;
}

int classifier_create_as(const struct policy *policies, const uint32_t *answers,
	unsigned n_policies, int socket, struct classifier **out)
{
	struct build build = {.policies = policies, .answers = answers, .socket = socket};
	uint64_t n_matches;
	int rc;

	if (n_policies > RULES_MAX)
		return -E2BIG;
	n_matches = policies_count_matches(policies, n_policies);
	if (n_matches > RULES_MAX)
		return -E2BIG;
	build.classifier = alloc_array(&build, 0, sizeof(*build.classifier));
	if (build.classifier == NULL)
		return -ENOMEM;
	rc = build_tables(&build, n_policies, n_matches);
	if (rc == 0)
		rc = strictness_make(policies, answers, n_policies, socket, build.classifier);
	free(build.entries);
	if (rc < 0) {
		classifier_destroy(build.classifier);
		return rc;
	}
	*out = build.classifier;
	return 0;
}

int classifier_create(
	const struct policy *policies, unsigned n_policies, int socket, struct classifier **out)
{
	return classifier_create_as(policies, NULL, n_policies, socket, out);
}

void classifier_set_unparsed(struct classifier *classifier, enum unparsed_action action)
{
	classifier->unparsed = action;
	if (action == UNPARSED_DROP) /* this action needs a check of each packet */
		classifier->any_alike = false;
}

void classifier_set_drops(struct classifier *classifier, uint32_t wires)
{
	classifier->drops = wires;
	if (wires) /* to find out whether a packet belongs to the link */
		classifier->any_alike = false;
}

uint32_t classifier_drops(const struct classifier *classifier)
{
	return classifier->drops;
}

static void table_free(struct table *table)
{
	fib4_destroy(table->v4);
	lpm6_destroy(table->v6);
}

void classifier_destroy(struct classifier *classifier)
{
	if (classifier == NULL)
		return;
	table_free(&classifier->dst);
	table_free(&classifier->src);
	rte_free(classifier->by_vlan);
	rte_free(classifier->rules);
	rte_free(classifier->strictness);
	rte_free(classifier);
}
