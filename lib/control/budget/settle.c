/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Settling, of all policies at once, as in lib/conserve.
 */
#include <errno.h>

#include "budget/private.h"

void pot_changed(struct budget *b, struct pot *pot)
{
	if (pot->queued || !pot_unsettled(b, pot))
		return;
	pot->queued = true;
	queue_push(&b->unsettled, pot);
}

bool budget_unsettled(const struct budget *b)
{
	return b->unsettled.n > 0;
}

static int save(struct budget *b, struct pot *pot,
	int (*write)(void *context, uint32_t id, const void *record, size_t len), void *context)
{
	size_t len;
	int ret = pot_save(b, pot, &len);

	if (ret || !write)
		return ret;
	return write(context, pot->policy.id, b->record, len);
}

int budget_save(struct budget *b,
	int (*write)(void *context, uint32_t id, const void *record, size_t len), void *context)
{
	int ret = 0;

	if (b->n_saving > 0)
		return -EBUSY;
	while (ret == 0 && b->n_saving < b->unsettled.n)
		ret = save(b, queue_at(&b->unsettled, b->n_saving++), write, context);
	if (ret < 0) {
		budget_save_failed(b);
		return ret;
	}
	return b->n_saving > 0 ? 0 : -EAGAIN;
}

/*
 * What waited for it may be said, and traffic may pass. Those that have changed since wait again,
 * behind the others.
 */
static void end(struct budget *b, bool durable)
{
	for (; b->n_saving > 0; b->n_saving--) {
		struct pot *pot = queue_pop(&b->unsettled);

		pot->queued = false;
		pot_settled(pot, durable);
		pot_speaks(b, pot);
	}
}

void budget_settled(struct budget *b)
{
	end(b, true);
}

void budget_save_failed(struct budget *b)
{
	end(b, false);
}
