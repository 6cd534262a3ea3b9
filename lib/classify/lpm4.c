/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "classify/lpm4.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#define FIRST_BITS  24
#define FIRST_SLOTS (1u << FIRST_BITS)
#define GROUP_SLOTS 256

/* The upper two bits of a slot that names a group; the others number groups from FIRST_SLOTS on. */
#define IS_GROUP    1u
#define GROUP_SHIFT 30

struct lpm4 {
	uint32_t n_groups;
	uint32_t slots[]; /* FIRST_SLOTS and GROUP_SLOTS a group */
};

/* Where the answer is, from the slot of the first 24 bits: in a group, or in that slot itself. */
static inline uint32_t last_slot(uint32_t slot, uint32_t addr)
{
	const uint32_t in_group = slot << 8 | (addr & 0xff);

	return slot >> GROUP_SHIFT == IS_GROUP ? in_group : addr >> 8;
}

uint32_t lpm4_lookup(const struct lpm4 *lpm, const uint32_t *addr, unsigned n, uint32_t *answers)
{
	uint32_t all = 0;

	for (unsigned i = 0; i < n; i++) {
		answers[i] = lpm->slots[last_slot(lpm->slots[addr[i] >> 8], addr[i])];
		all |= answers[i];
	}
	return all;
}

static uint32_t address(const struct lpm_prefix *prefix)
{
	uint32_t addr;

	memcpy(&addr, prefix->addr, sizeof(addr));
	return be32toh(addr);
}

/* Sorted, so that those of one group stand together. */
static uint32_t count_groups(const struct lpm_prefix *prefixes, uint32_t n)
{
	uint32_t groups = 0, last = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t first = address(&prefixes[i]) >> 8;

		if (prefixes[i].length <= FIRST_BITS || (groups > 0 && first == last))
			continue;
		last = first;
		groups++;
	}
	return groups;
}

static void fill(uint32_t *slots, uint32_t n, uint32_t answer)
{
	for (uint32_t i = 0; i < n; i++)
		slots[i] = answer;
}

/* The slots of the group that this address is in; a new one starts as what was there before. */
static uint32_t *group(struct lpm4 *lpm, uint32_t addr)
{
	uint32_t *first = &lpm->slots[addr >> 8], at;

	if (*first >> GROUP_SHIFT != IS_GROUP) {
		at = FIRST_SLOTS / GROUP_SLOTS + lpm->n_groups++;
		fill(&lpm->slots[at * GROUP_SLOTS], GROUP_SLOTS, *first);
		*first = IS_GROUP << GROUP_SHIFT | at;
	}
	return &lpm->slots[last_slot(*first, addr & ~0xffu)];
}

/* A shorter prefix comes before those inside it, which then overwrite their part. */
static void add(struct lpm4 *lpm, const struct lpm_prefix *prefix)
{
	const uint32_t addr = address(prefix);

	if (prefix->length <= FIRST_BITS)
		fill(&lpm->slots[addr >> 8], 1u << (FIRST_BITS - prefix->length), prefix->answer);
	else
		fill(group(lpm, addr) + (addr & 0xff), 1u << (32 - prefix->length), prefix->answer);
}

int lpm4_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct lpm4 **out)
{
	const size_t slots = FIRST_SLOTS + (size_t)count_groups(prefixes, n) * GROUP_SLOTS;
	struct lpm4 *lpm = rte_malloc_socket(
		"weir_lpm4", sizeof(*lpm) + slots * sizeof(lpm->slots[0]), 64, socket);

	if (lpm == NULL)
		return -ENOMEM;
	lpm->n_groups = 0;
	fill(lpm->slots, FIRST_SLOTS, otherwise);
	for (uint32_t i = 0; i < n; i++)
		add(lpm, &prefixes[i]);
	*out = lpm;
	return 0;
}

void lpm4_destroy(struct lpm4 *lpm)
{
	rte_free(lpm);
}
