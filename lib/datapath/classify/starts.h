/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Looks up the starts of packets, and checks a rule's source prefix. Private to this folder.
 */
#ifndef WEIR_CLASSIFY_STARTS_H
#define WEIR_CLASSIFY_STARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "classify/burst.h"
#include "classify/fib4_private.h"
#include "classify/wide.h"

static inline bool rule_names_source(const struct rule *rule, const struct facts *facts)
{
	uint64_t addr[2] = {0};

	if ((rule->src_mask[0] | rule->src_mask[1]) == 0)
		return true;
	memcpy(addr, facts->src, facts->family == PACKET_IPV4 ? 4 : 16);
	return (addr[0] & rule->src_mask[0]) == rule->src[0] &&
	       (addr[1] & rule->src_mask[1]) == rule->src[1];
}

static inline void fill_starts(uint32_t *starts, unsigned n, uint32_t start)
{
	for (unsigned i = 0; i < n; i++)
		starts[i] = start;
}

static inline void scatter_starts(
	struct burst *burst, const uint8_t *who, const uint32_t *starts, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		burst->policies[who[k]] = starts[k];
}

static inline uint32_t lookup_starts4(
	const struct burst *burst, const struct table *table, uint32_t *starts)
{
	uint32_t all;

	if (table->v4 != NULL && burst->wide && burst->n4 % WIDE_STEP == 0 &&
		table->v4->n_few == 0 &&
		wide_lookup4(table->v4, burst->addr4, burst->n4, burst->lines, starts, &all))
		return all;
	if (table->v4 != NULL)
		return fib4_lookup(table->v4, burst->addr4, burst->n4, burst->lines, starts);
	fill_starts(starts, burst->n4, table->root4);
	return table->root4;
}

static inline uint32_t lookup_starts6(
	const struct burst *burst, const struct table *table, uint32_t *starts)
{
	if (table->v6 != NULL)
		return lpm6_lookup(table->v6, burst->addr6, burst->n6, starts);
	fill_starts(starts, burst->n6, table->root6);
	return table->root6;
}

/*
 * Sets the starts of all packets in the columns. A packet without an address gets the start that
 * follows all tables.
 */
static inline void start_mixed(struct burst *burst, const struct table *table)
{
	uint32_t starts[BURST_MAX];

	lookup_starts4(burst, table, starts);
	scatter_starts(burst, burst->who4, starts, burst->n4);
	lookup_starts6(burst, table, starts);
	scatter_starts(burst, burst->who6, starts, burst->n6);
	fill_starts(starts, burst->n_other, burst->classifier->src.otherwise);
	scatter_starts(burst, burst->other, starts, burst->n_other);
}

/* The start of packets that no policy with addresses matches. */
static inline uint32_t start_of_any(const struct classifier *classifier, const struct facts *facts)
{
	const unsigned vlan = facts->key & KEY_VLAN_MASK;

	return classifier->by_vlan != NULL && vlan < VLANS ? classifier->by_vlan[vlan]
							   : classifier->any;
}

#endif
