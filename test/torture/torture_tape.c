/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An attacker on the path has recorded the messages of an ended ledger instance: the same policies,
 * limiters and key, and another ledger. It replays them forever.
 */
#include <errno.h>
#include <stdlib.h>

#include "torture_world.h"

#define PREVIOUS 40 /* steps of the recorded instance */

/* Epochs of the recorded instance exceed all of this one: without an identity all would be news. */
#define PREVIOUS_EPOCH (UINT64_C(1) << 40)

static int begin_previous_life(
	const struct world *w, uint64_t now, struct conserve *group[TORTURE_LIMITERS])
{
	struct conserve_policy policies[BOTH] = {
		{.id = RATE + 1, .limit = w->limit}, {.id = BURST + 1, .limit = w->burst}};
	struct conserve_params params = w->params;
	int ret = 0;

	params.identity.low++;
	params.policies = policies;
	params.n_policies = w->accounts;
	for (unsigned i = 0; ret == 0 && i < w->n; i++) {
		params.self = i;
		params.epoch = PREVIOUS_EPOCH + i;
		ret = conserve_create(&params, now, &group[i]);
	}
	return ret;
}

static void record_messages(struct world *w, uint64_t now, struct conserve **group, unsigned from)
{
	struct message message = {.from = from};

	while ((message.len = conserve_send(group[from], now, message.bytes, ROOM, &message.to)) >
		0) {
		(void)conserve_receive(group[message.to], from, now, message.bytes, message.len);
		w->previous[prng_below(&w->taper, LATE)] = message;
	}
}

/* Capacity moves from limiter to limiter, so that the granted sums exceed any limiter's share. */
static void record_step(struct world *w, unsigned step, uint64_t now, struct conserve **group)
{
	for (unsigned i = 0; i < w->n; i++) {
		for (unsigned a = 0; a < w->accounts; a++)
			conserve_target(
				group[i], a, step / 5 % w->n == i ? (double)world_total(w, a) : 0);
		conserve_tick(group[i], now);
		if (book_save(conserve_book(group[i]), NULL, NULL) == 0)
			book_committed(conserve_book(group[i]));
	}
	for (unsigned i = 0; i < w->n; i++)
		record_messages(w, now, group, i);
}

void tape_record(struct world *w)
{
	struct conserve *group[TORTURE_LIMITERS] = {0};
	uint64_t now = 1000 * SECOND;
	int ret = begin_previous_life(w, now, group);

	prng_seed(&w->taper, w->c->seed);
	if (ret)
		torture_failed(w->result, "conserve_create", ret);
	for (unsigned step = 0; ret == 0 && step < PREVIOUS; step++)
		record_step(w, step, now += SECOND, group);
	for (unsigned i = 0; i < w->n; i++)
		conserve_destroy(group[i]);
}

void tape_play(struct world *w)
{
	const struct message *message = &w->previous[prng_below(&w->taper, LATE)];
	struct rates_node *box = &w->boxes[message->to];

	/* For a limiter without memory, gossip must detect recordings, and not this layer. */
	if (!box->up || !book_identity_known(conserve_book(box->c)->identity) ||
		box->control_wakes || message->len == 0 || !prng_percent(&w->taper, 20))
		return;
	if (conserve_receive(box->c, message->from, world_clock(w, box), message->bytes,
		    message->len) != -ESTALE)
		torture_complain(w->result, "a message of a previous incarnation is accepted");
}
