/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The network between limiters of a gdrl_world: statements take some slots, overtake each other,
 * and get lost.
 */
#ifndef WEIR_SIM_GDRL_POST_H
#define WEIR_SIM_GDRL_POST_H

#include <stdint.h>

#include "allocate/gdrl.h"
#include "gdrl_world.h"
#include "ledger/ledger.h"

struct gdrl_message {
	unsigned to, edge; /* position; which of its edges leads back */
	struct ledger_statement ledger;
	struct gdrl_statement indicator;
};

struct gdrl_post;

/*
 * Creates a network. Messages take 1 to `delay` slots, or none if that is 0. Returns 0 or -ENOMEM.
 */
int gdrl_post_create(unsigned delay, double loss, uint64_t seed, struct gdrl_post **out);
void gdrl_post_destroy(struct gdrl_post *post);

/* Sends a message. Returns 0 or -ENOMEM; 0 also if the message is lost. */
int gdrl_post_send(struct gdrl_post *post, uint64_t slot, const struct gdrl_message *message);

/* Returns the next message of that slot, valid until another is sent or taken; NULL: no more. */
const struct gdrl_message *gdrl_post_take(struct gdrl_post *post, uint64_t slot);

struct gdrl_totals gdrl_post_totals(const struct gdrl_post *post);

#endif
