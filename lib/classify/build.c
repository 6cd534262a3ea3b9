/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The control side: policies → sorted entries → chains of rules → lookup tables.
 *
 * One sort brings the policies of one prefix together, in order of precedence, and puts every
 * prefix behind the one that encloses it. A VLAN in a policy without addresses is sorted as a
 * prefix of 16 bits, and no VLAN as one of 0 bits, so that it needs no machinery of its own.
 */
#include "classify/tables.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#define TBL24_BITS 24         /* rte_lpm and rte_lpm6 resolve these in the first step */
#define TBL8_BITS  8          /* and these in each further one */
#define TBL8S_MAX  (1u << 21) /* rte_lpm6 numbers them in 21 bits */
#define NOT_NAMED  255        /* sorts behind every prefix length */
#define NAME_LEN   24         /* rte_lpm6 puts 7 characters before it, in names of 32 */

enum stage { STAGE_DST, STAGE_SRC, STAGE_ANY };

/* Compared as bytes, in this order. Up to length it names the prefix; the rest is precedence. */
struct order {
	uint8_t stage, family, addr[16], length;
	uint8_t source;  /* 128 - length of the source prefix, as the longest goes first */
	uint8_t unnamed; /* a bit for each of VLAN, DSCP, wire, direction; VLAN weighs most */
};

struct entry {
	struct order order;
	uint32_t policy;
	uint32_t first;  /* first entry of this prefix */
	uint32_t parent; /* first entry of the closest enclosing prefix, or RULE_NONE */
};

struct build {
	const struct policy *policies;
	struct entry *entries;
	uint32_t n;
	int socket;
	struct classifier *classifier;
};

static bool named(const struct prefix *prefix)
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

static struct order match_order(const struct match *match)
{
	struct order order = {0};

	if (named(&match->dst))
		order_prefix(&order, STAGE_DST, &match->dst);
	else if (named(&match->src))
		order_prefix(&order, STAGE_SRC, &match->src);
	else
		order_vlan(&order, match->vlan);
	order.source = named(&match->src) ? 128 - match->src.length : NOT_NAMED;
	order.unnamed = (match->vlan == CONFIG_ANY) << 3 | (match->dscp == CONFIG_ANY) << 2 |
			(match->wire == CONFIG_ANY) << 1 | (match->direction == DIRECTION_ANY);
	return order;
}

/* A packet has one family, so a policy that names both can match nothing. */
static bool can_match(const struct match *match)
{
	return !named(&match->dst) || !named(&match->src) || match->dst.family == match->src.family;
}

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	const int diff = memcmp(&a->order, &b->order, sizeof(a->order));

	if (diff != 0)
		return diff;
	return a->policy < b->policy ? -1 : 1;
}

static unsigned common_bits(const uint8_t *a, const uint8_t *b)
{
	for (unsigned i = 0; i < 16; i++)
		if (a[i] != b[i])
			return i * 8 + (unsigned)__builtin_clz(a[i] ^ b[i]) - 24;
	return 128;
}

static bool same_table(const struct order *a, const struct order *b)
{
	return a->stage == b->stage && a->family == b->family;
}

static bool encloses(const struct order *a, const struct order *b)
{
	return same_table(a, b) && a->length <= b->length &&
	       common_bits(a->addr, b->addr) >= a->length;
}

/*
 * Entries are sorted, so whatever encloses one is the prefix before it or encloses that one. An
 * entry that "encloses" its neighbour at the same length has the same prefix: its run goes on.
 */
static void link_entries(struct entry *entries, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i > 0 ? entries[i - 1].first : RULE_NONE;

		while (at != RULE_NONE && !encloses(&entries[at].order, &entries[i].order))
			at = entries[at].parent;
		entries[i].first = i;
		entries[i].parent = at;
		if (at != RULE_NONE && entries[at].order.length == entries[i].order.length) {
			entries[i].first = at;
			entries[i].parent = entries[at].parent;
		}
	}
}

static int make_entries(struct build *build, unsigned n_policies)
{
	build->entries = calloc((size_t)n_policies + 1, sizeof(*build->entries));
	if (build->entries == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_policies; i++) {
		const struct match *match = &build->policies[i].match;

		if (!can_match(match))
			continue;
		build->entries[build->n].order = match_order(match);
		build->entries[build->n++].policy = i;
	}
	qsort(build->entries, build->n, sizeof(*build->entries), compare);
	link_entries(build->entries, build->n);
	return 0;
}

static struct source source_condition(const struct prefix *prefix)
{
	struct source source;
	uint8_t mask[16] = {0};

	for (unsigned bit = 0; bit < prefix->length; bit++)
		mask[bit / 8] |= 0x80 >> bit % 8;
	load_address(prefix->addr, prefix->family, source.addr);
	load_address(mask, prefix->family, source.mask);
	return source;
}

static void add_condition(struct rule *rule, uint64_t mask, unsigned shift, uint64_t value)
{
	rule->mask |= mask;
	rule->key |= value << shift;
}

static void rule_conditions(struct rule *rule, const struct match *match)
{
	if (match->vlan != CONFIG_ANY)
		add_condition(rule, KEY_VLAN_MASK, 0, match->vlan);
	if (match->dscp != CONFIG_ANY)
		add_condition(rule, KEY_DSCP_MASK, KEY_DSCP_SHIFT, match->dscp);
	if (match->direction != DIRECTION_ANY)
		add_condition(rule, KEY_DIRECTION_MASK, KEY_DIRECTION_SHIFT, match->direction);
	if (match->wire != CONFIG_ANY)
		add_condition(rule, KEY_WIRE_MASK, KEY_WIRE_SHIFT, match->wire);
}

static struct rule make_rule(const struct build *build, uint32_t i, uint32_t *n_sources)
{
	const struct entry *entry = &build->entries[i];
	const struct match *match = &build->policies[entry->policy].match;
	const bool last = i + 1 == build->n || build->entries[i + 1].first != entry->first;
	struct rule rule = {
		.policy = entry->policy,
		.next = last ? entry->parent : i + 1,
		.source = RULE_NONE,
	};

	rule_conditions(&rule, match);
	if (entry->order.stage == STAGE_DST && named(&match->src)) {
		build->classifier->sources[*n_sources] = source_condition(&match->src);
		rule.source = (*n_sources)++;
	}
	return rule;
}

static uint32_t count_sources(const struct build *build)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < build->n; i++)
		n += build->entries[i].order.stage == STAGE_DST &&
		     build->entries[i].order.source != NOT_NAMED;
	return n;
}

/* One more than needed, since rte_malloc has nothing to give for 0 bytes. */
static void *array(const struct build *build, size_t n, size_t size)
{
	return rte_zmalloc_socket("weir_classify", (n + 1) * size, 64, build->socket);
}

static int make_rules(struct build *build)
{
	struct classifier *classifier = build->classifier;
	uint32_t n_sources = 0;

	classifier->rules = array(build, build->n, sizeof(*classifier->rules));
	classifier->sources = array(build, count_sources(build), sizeof(*classifier->sources));
	if (classifier->rules == NULL || classifier->sources == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < build->n; i++)
		classifier->rules[i] = make_rule(build, i, &n_sources);
	return 0;
}

static int make_by_vlan(struct build *build)
{
	struct classifier *classifier = build->classifier;

	classifier->by_vlan = array(build, VLANS, sizeof(*classifier->by_vlan));
	if (classifier->by_vlan == NULL)
		return -ENOMEM;
	for (unsigned vlan = 0; vlan < VLANS; vlan++)
		classifier->by_vlan[vlan] = classifier->any;
	return 0;
}

/* The entry without a VLAN sorts first, so that the table can be filled with it. */
static int make_any(struct build *build)
{
	struct classifier *classifier = build->classifier;
	int rc;

	for (uint32_t i = 0; i < build->n; i++) {
		const struct order *order = &build->entries[i].order;

		if (order->stage != STAGE_ANY || build->entries[i].first != i)
			continue;
		if (order->length == 0) {
			classifier->any = i;
			continue;
		}
		if (classifier->by_vlan == NULL) {
			rc = make_by_vlan(build);
			if (rc < 0)
				return rc;
		}
		classifier->by_vlan[order->addr[0] << 8 | order->addr[1]] = i;
	}
	return 0;
}

/* Calls visit for each prefix of one table that is longer than 0 bits. */
static int each_prefix(const struct build *build, enum stage stage, uint8_t family,
	int (*visit)(void *lpm, const struct order *order, uint32_t first), void *lpm)
{
	int rc = 0;

	for (uint32_t i = 0; i < build->n && rc == 0; i++) {
		const struct entry *entry = &build->entries[i];

		if (entry->order.stage == stage && entry->order.family == family &&
			entry->first == i && entry->order.length > 0)
			rc = visit(lpm, &entry->order, i);
	}
	return rc;
}

/* How many tables of 8 bits lie on the way to a prefix. */
static unsigned tbl8s_of(unsigned length)
{
	return length > TBL24_BITS ? (length - TBL24_BITS + TBL8_BITS - 1) / TBL8_BITS : 0;
}

struct size {
	uint32_t prefixes, tbl8s;
	const struct order *previous;
};

/*
 * Counts exactly what rte_lpm will use: a prefix shares the tables on its way with others that
 * begin alike, and as they are sorted, with none more than with the one before it.
 */
static int count_prefix(void *arg, const struct order *order, uint32_t first)
{
	struct size *size = arg;
	unsigned own = tbl8s_of(order->length), shared = 0, common;

	(void)first;
	if (size->previous != NULL) {
		common = common_bits(size->previous->addr, order->addr) + 1;
		shared = tbl8s_of(
			common < size->previous->length ? common : size->previous->length);
	}
	size->prefixes++;
	size->tbl8s += own > shared ? own - shared : 0;
	size->previous = order;
	return 0;
}

static int add4(void *lpm, const struct order *order, uint32_t first)
{
	uint32_t addr;

	memcpy(&addr, order->addr, sizeof(addr));
	return rte_lpm_add(lpm, be32toh(addr), order->length, first);
}

static int add6(void *lpm, const struct order *order, uint32_t first)
{
	return rte_lpm6_add(lpm, order->addr, order->length, first);
}

/* DPDK wants names; the address tells apart the classifiers that live at once during a reload. */
static void table_name(const struct build *build, enum stage stage, unsigned family, char *name)
{
	snprintf(name, NAME_LEN, "w%c%u-%" PRIxPTR, stage == STAGE_DST ? 'd' : 's', family,
		(uintptr_t)build->classifier);
}

static int make_table4(struct build *build, enum stage stage, struct rte_lpm **out)
{
	struct size size = {0};
	char name[NAME_LEN];

	each_prefix(build, stage, PACKET_IPV4, count_prefix, &size);
	if (size.prefixes == 0)
		return 0;
	table_name(build, stage, PACKET_IPV4, name);
	*out = rte_lpm_create(name, build->socket,
		&(struct rte_lpm_config){
			.max_rules = size.prefixes,
			.number_tbl8s = size.tbl8s + 1, /* 0 is refused */
		});
	if (*out == NULL)
		return -rte_errno;
	return each_prefix(build, stage, PACKET_IPV4, add4, *out);
}

static int make_table6(struct build *build, enum stage stage, struct rte_lpm6 **out)
{
	struct size size = {0};
	char name[NAME_LEN];

	each_prefix(build, stage, PACKET_IPV6, count_prefix, &size);
	if (size.prefixes == 0)
		return 0;
	if (size.tbl8s >= TBL8S_MAX)
		return -E2BIG;
	table_name(build, stage, PACKET_IPV6, name);
	*out = rte_lpm6_create(name, build->socket,
		&(struct rte_lpm6_config){
			.max_rules = size.prefixes,
			.number_tbl8s = size.tbl8s + 1,
		});
	if (*out == NULL)
		return -rte_errno;
	return each_prefix(build, stage, PACKET_IPV6, add6, *out);
}

/* The prefixes of no bits, which rte_lpm cannot hold. */
static void find_roots(const struct build *build, enum stage stage, struct table *table)
{
	table->root4 = RULE_NONE;
	table->root6 = RULE_NONE;
	for (uint32_t i = 0; i < build->n; i++) {
		const struct order *order = &build->entries[i].order;

		if (order->stage != stage)
			continue;
		table->used = true;
		if (order->length > 0 || build->entries[i].first != i)
			continue;
		*(order->family == PACKET_IPV4 ? &table->root4 : &table->root6) = i;
	}
}

static int make_table(struct build *build, enum stage stage, struct table *table)
{
	int rc;

	find_roots(build, stage, table);
	rc = make_table4(build, stage, &table->v4);
	if (rc < 0)
		return rc;
	return make_table6(build, stage, &table->v6);
}

/* No address table, no VLAN table, and no DSCP in what is left. */
static bool is_per_burst(const struct build *build)
{
	const struct classifier *classifier = build->classifier;

	if (classifier->dst.used || classifier->src.used || classifier->by_vlan != NULL)
		return false;
	for (uint32_t i = 0; i < build->n; i++)
		if (classifier->rules[i].mask & KEY_DSCP_MASK)
			return false;
	return true;
}

static int make(struct build *build, unsigned n_policies)
{
	struct classifier *classifier = build->classifier;
	int rc;

	classifier->any = RULE_NONE;
	rc = make_entries(build, n_policies);
	if (rc == 0)
		rc = make_rules(build);
	if (rc == 0)
		rc = make_any(build);
	if (rc == 0)
		rc = make_table(build, STAGE_DST, &classifier->dst);
	if (rc == 0)
		rc = make_table(build, STAGE_SRC, &classifier->src);
	if (rc == 0)
		classifier->per_burst = is_per_burst(build);
	return rc;
}

int classifier_create(
	const struct policy *policies, unsigned n_policies, int socket, struct classifier **out)
{
	struct build build = {.policies = policies, .socket = socket};
	int rc;

	if (n_policies > RULES_MAX)
		return -E2BIG;
	build.classifier = array(&build, 0, sizeof(*build.classifier));
	if (build.classifier == NULL)
		return -ENOMEM;
	rc = make(&build, n_policies);
	free(build.entries);
	if (rc < 0) {
		classifier_destroy(build.classifier);
		return rc;
	}
	*out = build.classifier;
	return 0;
}

static void table_free(struct table *table)
{
	rte_lpm_free(table->v4);
	rte_lpm6_free(table->v6);
}

void classifier_destroy(struct classifier *classifier)
{
	if (classifier == NULL)
		return;
	table_free(&classifier->dst);
	table_free(&classifier->src);
	rte_free(classifier->by_vlan);
	rte_free(classifier->rules);
	rte_free(classifier->sources);
	rte_free(classifier);
}
