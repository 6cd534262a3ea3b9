/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Settling, of all policies at once, as in lib/conserve.
 */
#include <errno.h>

#include "budget/private.h"

bool budget_unsettled(const struct budget *b)
{
	for (unsigned i = 0; i < b->n; i++)
		if (quota_unsettled(b->pots[i]->quota))
			return true;
	return false;
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
	if (b->begun)
		return -EBUSY;
	for (unsigned i = 0; i < b->n; i++) {
		int ret;

		if (!quota_unsettled(b->pots[i]->quota))
			continue;
		b->begun = true;
		ret = save(b, b->pots[i], write, context);
		if (ret < 0) {
			budget_save_failed(b);
			return ret;
		}
	}
	return b->begun ? 0 : -EAGAIN;
}

/* What waited for it may be said, and traffic may pass. */
static void end(struct budget *b, void (*how)(struct quota_node *q))
{
	b->begun = false;
	for (unsigned i = 0; i < b->n; i++) {
		struct pot *pot = b->pots[i];

		if (!pot->saving)
			continue;
		pot->saving = false;
		how(pot->quota);
		pot_speaks(b, pot);
	}
}

void budget_settled(struct budget *b)
{
	end(b, quota_settled);
}

void budget_save_failed(struct budget *b)
{
	end(b, quota_save_failed);
}
