/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The slot of each policy: the index of its state on the workers. A policy keeps its slot while it
 * exists, also when its place in the file changes. After a policy has left, workers that have not
 * seen the change can still use its slot. So the slot gets another policy only after
 * slot_map_release(). Pure; control.
 */
#ifndef WEIR_APP_SLOT_MAP_H
#define WEIR_APP_SLOT_MAP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define SLOT_UNASSIGNED UINT_MAX   /* for slot_map_plan(): a policy that has no slot yet */
#define SLOT_NONE       UINT32_MAX /* no slot */

/* Values in place of a policy's index. */
#define SLOT_FREE UINT32_MAX
#define SLOT_LEFT (UINT32_MAX - 1)

struct slot_map {
	unsigned capacity;
	unsigned n;       /* policies */
	uint32_t *of;     /* n: the slot of each */
	uint32_t *policy; /* capacity: the policy's index, SLOT_FREE or SLOT_LEFT */
};

/*
 * Puts n policies into the first n slots (n at most capacity). Returns 0 or -ENOMEM; call
 * slot_map_free() in both cases.
 */
int slot_map_init(struct slot_map *slots, unsigned n, unsigned capacity);
void slot_map_free(struct slot_map *slots);

/*
 * Sets of[] to the slots of n policies. A policy keeps the slot of the present policy keeps[i],
 * each at most once, or gets a free one for SLOT_UNASSIGNED. Returns 0 or -ENOSPC. Changes nothing.
 * Any thread, while none changes the slots.
 */
int slot_map_plan(const struct slot_map *slots, const unsigned *keeps, unsigned n, uint32_t *of);

/*
 * Applies a plan and takes over of[] (from malloc()). Slots that no policy keeps become SLOT_LEFT.
 */
void slot_map_commit(struct slot_map *slots, uint32_t *of, unsigned n);

/* Frees a slot that was left and that no worker uses any more. */
void slot_map_release(struct slot_map *slots, uint32_t slot);

/* --- changed slots ---------------------------------------------------------------------------- */

/*
 * Set of slots whose policy has unpublished changes: another limit, or other parts. Code that makes
 * such a change marks the slot; publish.c drains the set. Control.
 */
struct dirty {
	uint64_t *slots; /* one bit each */
	unsigned capacity;
	unsigned n;    /* marked slots */
	uint32_t next; /* slot at which dirty_next() begins */
};

/*
 * Makes an empty set for so many slots. Returns 0 or -ENOMEM; dirty_free() is due in either case.
 */
int dirty_init(struct dirty *dirty, unsigned capacity);
void dirty_free(struct dirty *dirty);

void dirty_mark(struct dirty *dirty, uint32_t slot);

/* Removes a slot that has nothing to publish. */
void dirty_clear(struct dirty *dirty, uint32_t slot);

/*
 * Returns a marked slot after the last published one, so that each has its turn. The set must not
 * be empty.
 */
uint32_t dirty_next(const struct dirty *dirty);

/* Removes the slot that dirty_next() returned, after it was published. */
void dirty_published(struct dirty *dirty, uint32_t slot);

static inline bool dirty_is_empty(const struct dirty *dirty)
{
	return dirty->n == 0;
}

#endif
