/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A read-only directory of ids: the limiters of a group, or the policies of a limiter. It is built
 * once and borrowed by pointer, so that thousands of limiters in one process share one. Any thread
 * may read it.
 */
#ifndef WEIR_GOSSIP_ROSTER_H
#define WEIR_GOSSIP_ROSTER_H

#include <stdint.h>

struct roster_name {
	uint32_t id;
	unsigned index;
};

struct roster {
	unsigned n;
	uint32_t *ids;              /* n: by index, as they were given */
	struct roster_name *sorted; /* n: by position, which is the order of the ids */
};

/* Copies n ids. Returns 0, -EINVAL when two are the same, or -ENOMEM. */
int roster_create(const uint32_t *ids, unsigned n, struct roster **out);
void roster_destroy(struct roster *roster);

/* Position of an id, or n. */
unsigned roster_position(const struct roster *roster, uint32_t id);

/* Index of an id, or n. */
unsigned roster_find(const struct roster *roster, uint32_t id);

#endif
