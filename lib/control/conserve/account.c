/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The ledger of one policy, and what becomes of it when policies come and go.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conserve/private.h"

#define MILLION 1000000

void account_destroy(struct account *a)
{
	if (a)
		ledger_destroy(a->ledger);
	free(a);
}

/* The fingerprint of the edges comes before the ledger's record. */
static int open_ledger(const struct conserve *c, const struct ledger_params *params,
	const struct conserve_record *record, uint64_t now_ns, struct ledger **out)
{
	uint64_t found;

	if (!record)
		return ledger_create(params, now_ns, out);
	if (record->len < sizeof(found))
		return -EINVAL;
	memcpy(&found, record->at, sizeof(found));
	if (be64toh(found) != c->fingerprint)
		return -EINVAL;
	return ledger_restore(params, (const uint8_t *)record->at + sizeof(found),
		record->len - sizeof(found), now_ns, out);
}

static void set_terms(const struct conserve *c, struct account *a, const struct conserve_policy *p)
{
	uint64_t part = p->limit / c->params.overlay.n;

	a->policy = *p;
	a->floor = part / FLOOR_PART;
	a->grain = part / GRAIN_PART + 1;
}

int account_set(const struct conserve *c, struct account *a, const struct conserve_policy *policy)
{
	int ret = ledger_set_share(
		a->ledger, conserve_share(&c->params.overlay, c->params.self, policy->limit));

	if (ret)
		return ret;
	/* What they said was of another indicator. */
	for (unsigned e = 0; a->policy.indicator != policy->indicator && e < c->n_edges; e++)
		a->edges[e].neighbour.fresh = false;
	set_terms(c, a, policy);
	a->gone = false;
	return 0;
}

int account_create(struct conserve *c, const struct conserve_policy *policy,
	const struct conserve_record *record, bool blank, uint64_t now_ns, struct account **out)
{
	struct ledger_params params = {
		.share = conserve_share(&c->params.overlay, c->params.self, policy->limit),
		.n_edges = c->n_edges,
		.friend = c->n_edges && c->params.promise ? OVERLAY_FRIEND : LEDGER_NOBODY,
		.lease_ns = c->params.lease_ns,
		.drift_ppm = c->params.drift_ppm,
		.epoch = c->next_epoch++,
		.blank = blank && !record,
	};
	struct account *a = calloc(1, sizeof(*a) + c->n_edges * sizeof(a->edges[0]));
	uint8_t *room;
	int ret;

	if (!a)
		return -ENOMEM;
	ret = open_ledger(c, &params, record, now_ns, &a->ledger);
	if (ret == 0) {
		room = realloc(c->record, ledger_record_size(a->ledger) + sizeof(uint64_t));
		c->record = room ? room : c->record;
		ret = room ? 0 : -ENOMEM;
	}
	/* A record holds the share of its time. */
	if (ret == 0 && (policy->limit > 0 || !record))
		ret = account_set(c, a, policy);
	else
		a->policy = *policy;
	if (ret) {
		account_destroy(a);
		return ret;
	}
	a->measure = (struct gdrl_measure){.demand = (double)params.share, .packet = 1};
	*out = a;
	return 0;
}

bool account_untouched(const struct conserve *c, const struct account *a)
{
	if (ledger_blank(a->ledger) || a->saving)
		return false;
	for (unsigned e = 0; e < c->n_edges; e++) {
		struct ledger_view view = ledger_view(a->ledger, e);

		if (view.granted || view.received || view.locked)
			return false;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = (*(struct account *const *)a)->policy.id;
	uint32_t y = (*(struct account *const *)b)->policy.id;

	return (x > y) - (x < y);
}

void accounts_sort(struct account **by_id, unsigned n)
{
	qsort(by_id, n, sizeof(struct account *), compare);
}

static int compare_id(const void *id, const void *at)
{
	uint32_t x = *(const uint32_t *)id, y = (*(struct account *const *)at)->policy.id;

	return (x > y) - (x < y);
}

struct account *accounts_find(struct account *const *by_id, unsigned n, uint32_t id)
{
	struct account *const *found = bsearch(&id, by_id, n, sizeof(*found), compare_id);

	return found ? *found : NULL;
}

void accounts_begin(struct conserve *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct account *a = c->accounts[i];

		a->index = i;
		account_changed(c, a);
		for (unsigned e = 0; e < c->n_edges; e++)
			if (a->edges[e].sent_ns == 0)
				account_due(c, a, e);
	}
}

struct account *account_find(const struct conserve *c, uint32_t id)
{
	return accounts_find(c->by_id, c->n, id);
}
