/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Settling, of all policies at once: a disk is asked once a round, however many have moved.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "conserve/private.h"

bool conserve_unsettled(const struct conserve *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (ledger_unsettled(c->accounts[i]->ledger))
			return true;
	return false;
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
	unsigned n = 0;

	if (c->begun)
		return -EBUSY;
	for (unsigned i = 0; i < c->n; i++) {
		struct account *a = c->accounts[i];
		int ret;

		if (!ledger_unsettled(a->ledger) || ledger_blank(a->ledger))
			continue;
		c->begun = true;
		ret = save(c, a, write, context);
		if (ret < 0) {
			conserve_save_failed(c);
			return ret;
		}
		n++;
	}
	return n > 0 ? 0 : -EAGAIN;
}

/* Everybody hears at once of what is his now; what changes nothing for him can wait. */
static void announce(const struct conserve *c, struct account *a)
{
	for (unsigned e = 0; e < c->n_edges; e++) {
		struct account_edge *edge = &a->edges[e];
		struct ledger_view view = ledger_view(a->ledger, e);

		if (view.granted != edge->told || view.promised != edge->promised || !view.known)
			edge->due = true;
		edge->told = view.granted;
		edge->promised = view.promised;
	}
}

void conserve_settled(struct conserve *c)
{
	c->begun = false;
	for (unsigned i = 0; i < c->n; i++) {
		struct account *a = c->accounts[i];

		if (!a->saving)
			continue;
		a->saving = false;
		ledger_settled(a->ledger);
		announce(c, a);
	}
}

void conserve_save_failed(struct conserve *c)
{
	c->begun = false;
	for (unsigned i = 0; i < c->n; i++) {
		struct account *a = c->accounts[i];

		if (!a->saving)
			continue;
		a->saving = false;
		ledger_save_failed(a->ledger);
	}
}
