/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Where each policy has its state on the workers: in a slot, which it keeps while it lives,
 * whatever its place in the file. One that a policy has left may still be in use, by workers who
 * have yet to hear of it, and is given to another only after slots_release(). Pure; control.
 */
#ifndef WEIR_APP_SLOTS_H
#define WEIR_APP_SLOTS_H

#include <limits.h>
#include <stdint.h>

#define SLOT_ANEW UINT_MAX   /* to slots_plan(): not the slot of any policy so far */
#define SLOT_NONE UINT32_MAX /* no slot */

/* Tenants that are no policy. */
#define SLOT_FREE UINT32_MAX
#define SLOT_LEFT (UINT32_MAX - 1)

struct slots {
	unsigned capacity;
	unsigned n;       /* policies */
	uint32_t *of;     /* n: the slot of each */
	uint32_t *tenant; /* capacity: the policy's index, SLOT_FREE or SLOT_LEFT */
};

/*
 * n policies in the first n slots (n at most capacity). 0 or -ENOMEM; slots_free() in either case.
 */
int slots_init(struct slots *slots, unsigned n, unsigned capacity);
void slots_free(struct slots *slots);

/*
 * Slots for n policies, in of[]: that of the policy whose index so far is keeps[i], each at most
 * once, or with SLOT_ANEW a free one. Returns 0 or -ENOSPC; nothing has changed in either case. Any
 * thread, while nobody changes the slots.
 */
int slots_plan(const struct slots *slots, const unsigned *keeps, unsigned n, uint32_t *of);

/* Makes a plan come true, and of[] its own (of malloc()). What nobody keeps is left. */
void slots_commit(struct slots *slots, uint32_t *of, unsigned n);

/* A slot that was left, and that nobody looks at any more, is free. */
void slots_release(struct slots *slots, uint32_t slot);

#endif
