/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Where each policy has its state on the workers: in a slot, which it keeps while it lives,
 * whatever its place in the file. One that a policy has left may still be in use, by workers who
 * have yet to hear of it, and is given to another only after slot_map_release(). Pure; control.
 */
#ifndef WEIR_APP_SLOT_MAP_H
#define WEIR_APP_SLOT_MAP_H

#include <limits.h>
#include <stdint.h>

#define SLOT_ANEW UINT_MAX   /* to slot_map_plan(): not the slot of any policy so far */
#define SLOT_NONE UINT32_MAX /* no slot */

/* Policies that are no policy. */
#define SLOT_FREE UINT32_MAX
#define SLOT_LEFT (UINT32_MAX - 1)

struct slot_map {
	unsigned capacity;
	unsigned n;       /* policies */
	uint32_t *of;     /* n: the slot of each */
	uint32_t *policy; /* capacity: the policy's index, SLOT_FREE or SLOT_LEFT */
};

/*
 * n policies in the first n slots (n at most capacity). 0 or -ENOMEM; slot_map_free() in either
 * case.
 */
int slot_map_init(struct slot_map *slots, unsigned n, unsigned capacity);
void slot_map_free(struct slot_map *slots);

/*
 * Slots for n policies, in of[]: that of the policy whose index so far is keeps[i], each at most
 * once, or with SLOT_ANEW a free one. Returns 0 or -ENOSPC; nothing has changed in either case. Any
 * thread, while nobody changes the slots.
 */
int slot_map_plan(const struct slot_map *slots, const unsigned *keeps, unsigned n, uint32_t *of);

/* Makes a plan come true, and of[] its own (of malloc()). What nobody keeps is left. */
void slot_map_commit(struct slot_map *slots, uint32_t *of, unsigned n);

/* A slot that was left, and that nobody looks at any more, is free. */
void slot_map_release(struct slot_map *slots, uint32_t slot);

#endif
