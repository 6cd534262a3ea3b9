/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Settling, of all policies at once: a disk is asked once a round, however many have moved.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "conserve/private.h"

void account_changed(struct conserve *c, struct account *a)
{
	if (a->queued || !ledger_unsettled(a->ledger))
		return;
	a->queued = true;
	queue_push(&c->unsettled, a);
}

bool conserve_unsettled(const struct conserve *c)
{
	return c->unsettled.n > 0;
}

static int save(struct conserve *c, struct account *a,
	int (*write)(void *context, uint32_t id, const void *record, size_t len), void *context)
{
	uint64_t fingerprint = htobe64(c->fingerprint);
	size_t len;
	int ret;

	ret = ledger_save(a->ledger, c->record + sizeof(fingerprint), &len);
	if (ret)
		return ret;
	a->saving = true;
	if (!write)
		return 0;
	memcpy(c->record, &fingerprint, sizeof(fingerprint));
	return write(context, a->policy.id, c->record, len + sizeof(fingerprint));
}

int conserve_save(struct conserve *c,
	int (*write)(void *context, uint32_t id, const void *record, size_t len), void *context)
{
	int ret = 0;

	if (c->n_saving > 0)
		return -EBUSY;
	while (ret == 0 && c->n_saving < c->unsettled.n)
		ret = save(c, queue_at(&c->unsettled, c->n_saving++), write, context);
	if (ret < 0) {
		conserve_save_failed(c);
		return ret;
	}
	return c->n_saving > 0 ? 0 : -EAGAIN;
}

/* Everybody hears at once of what is his now; what changes nothing for him can wait. */
static void announce(struct conserve *c, struct account *a)
{
	for (unsigned e = 0; e < c->n_edges; e++) {
		struct account_edge *edge = &a->edges[e];
		struct ledger_view view = ledger_view(a->ledger, e);

		if (view.granted != edge->told || view.promised != edge->promised || !view.known)
			account_due(c, a, e);
		edge->told = view.granted;
		edge->promised = view.promised;
	}
}

/* Those that have changed since wait again, behind the others. */
static void end(struct conserve *c, bool durable)
{
	for (; c->n_saving > 0; c->n_saving--) {
		struct account *a = queue_pop(&c->unsettled);

		a->saving = a->queued = false;
		if (durable) {
			ledger_settled(a->ledger);
			announce(c, a);
		} else {
			ledger_save_failed(a->ledger);
		}
		account_changed(c, a);
	}
}

void conserve_settled(struct conserve *c)
{
	end(c, true);
}

void conserve_save_failed(struct conserve *c)
{
	end(c, false);
}
