/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Settling conserved policies and budgets, in one batch.
 */
#include <errno.h>

#include "limiter/aggregate.h"

bool limiter_unsettled(const struct limiter *l)
{
	return (l->conserve && conserve_unsettled(l->conserve)) ||
	       (l->budget && budget_unsettled(l->budget));
}

/* One kind's writer before that of all. */
struct writer {
	limiter_write write;
	void *context;
	enum limiter_record_kind kind;
};

static int write_record(void *context, uint32_t id, const void *record, size_t len)
{
	const struct writer *writer = context;

	return writer->write(writer->context, writer->kind, id, record, len);
}

int limiter_save(struct limiter *l, limiter_write write, void *context)
{
	struct writer rates = {write, context, LIMITER_RATES};
	struct writer units = {write, context, LIMITER_UNITS};
	int ret = -EAGAIN, also = -EAGAIN;

	if (l->conserve)
		ret = conserve_save(l->conserve, write ? write_record : NULL, &rates);
	if (ret != 0 && ret != -EAGAIN)
		return ret;
	if (l->budget)
		also = budget_save(l->budget, write ? write_record : NULL, &units);
	if (also == 0 || also == -EAGAIN)
		return ret == 0 ? 0 : also;
	/* Both or neither. */
	if (ret == 0)
		conserve_save_failed(l->conserve);
	return also;
}

void limiter_settled(struct limiter *l, uint64_t now_ns)
{
	l->now_ns = now_ns;
	if (l->conserve)
		conserve_settled(l->conserve);
	if (l->budget) {
		budget_settled(l->budget);
		counted_tick(l, now_ns);
	}
}

void limiter_save_failed(struct limiter *l)
{
	if (l->conserve)
		conserve_save_failed(l->conserve);
	if (l->budget)
		budget_save_failed(l->budget);
}
