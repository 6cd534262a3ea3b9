/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The terms by which a neighbour spends: the total, its unit, and the number of limiters.
 */
#include "base/hash.h"
#include "base/math.h"
#include "budget/budget_private.h"

uint64_t unit_share_of(const struct budget *b, const struct budget_policy *policy, uint64_t total)
{
	unsigned n = b->params.n;

	if (policy->drawn)
		return 0;
	return total / n + (b->book.position < total % n);
}

uint64_t unit_share(const struct budget *b, const struct unit_account *a)
{
	return unit_share_of(b, &a->policy, a->total);
}

struct unit_terms unit_own_terms(const struct budget *b, const struct unit_account *a)
{
	if (a->book.gone)
		return (struct unit_terms){0};
	return (struct unit_terms){
		.terms = hash64_step(HASH64_BASIS, a->policy.terms) | 1,
		.unit = a->policy.unit,
		.total = a->policy.total,
		.n = b->params.n,
	};
}

static void compare_unit_terms(struct unit_edge *edge, const struct unit_terms *own)
{
	const struct unit_terms *said = &edge->said;
	bool both = said->terms && own->terms;

	edge->apart = both && (said->terms != own->terms || said->unit != own->unit);
	edge->differs = edge->apart || (both && said->total != own->total);
}

/* Ignores totals of another unit, which cannot be compared with ours. */
static void find_least_total(
	uint64_t *total, uint32_t *most, uint32_t unit, const struct unit_terms *said)
{
	if (!said->terms || said->unit != unit)
		return;
	*total = min_u64(*total, said->total);
	*most = said->n > *most ? said->n : *most;
}

bool unit_go_by_least(const struct budget *b, struct unit_account *a)
{
	struct unit_terms own = unit_own_terms(b, a);
	uint64_t total = a->policy.total, n = b->params.n;
	uint32_t most = b->params.n;
	bool changed;

	for (unsigned e = 0; e < b->book.n_edges; e++) {
		compare_unit_terms(&a->edges[e], &own);
		find_least_total(&total, &most, a->policy.unit, &a->edges[e].said);
	}
	if (most > n)
		total = (uint64_t)((unsigned __int128)total * n / most);
	changed = total != a->total;
	a->total = total;
	return changed;
}

void unit_assume_terms(const struct budget *b, struct unit_account *a)
{
	struct unit_terms own = unit_own_terms(b, a);

	for (unsigned e = 0; e < b->book.n_edges; e++)
		a->edges[e].said = own;
	a->total = a->policy.total;
}

bool unit_receive_terms(
	struct unit_edge *edge, const struct unit_terms *terms, const struct tree_header *header)
{
	bool newer = header->epoch != edge->said_epoch ? header->epoch > edge->said_epoch
						       : header->stamp > edge->said_stamp;

	if (!newer)
		return false;
	edge->said = *terms;
	edge->said_epoch = header->epoch;
	edge->said_stamp = header->stamp;
	edge->asked = false;
	return true;
}
