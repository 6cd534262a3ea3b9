/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Prints each limiter's final state, to find out why an amount is missing.
 */
#include <stdio.h>

#include "torture_world.h"

static void print_edge(const struct rates_node *box, unsigned account, unsigned e, uint64_t now)
{
	struct conserve_edge_view edge = conserve_edge(box->c, account, e, now);
	const struct ledger_view *l = &edge.ledger;

	fprintf(stderr,
		"    edge to %u:%s%s granted %llu (%llu under way), locked %llu, received %llu (%llu inherited), heard %.1f s ago\n",
		edge.peer, edge.alive ? "" : " silent,", edge.differs ? " differs," : "",
		(unsigned long long)l->granted, (unsigned long long)l->in_flight,
		(unsigned long long)l->locked, (unsigned long long)l->received,
		(unsigned long long)l->inherited, (double)(now - l->received_ns) / (double)SECOND);
}

static void print_box(const struct world *w, unsigned account, unsigned i)
{
	const struct rates_node *box = &w->boxes[i];
	uint64_t now = world_clock(w, box);
	struct conserve_view view = conserve_view(box->c, account, now);

	fprintf(stderr,
		"  %u:%s%s%s%s goes by %llu; share %llu, balance %lld, usable %llu, free %llu, enforced %llu, wants %.0f\n",
		i, box->up ? "" : " down,", view.recovering ? " recovering," : "",
		box->saving ? " saving," : "", box->control_wakes ? " stands still," : "",
		(unsigned long long)view.limit, (unsigned long long)view.share,
		(long long)view.balance, (unsigned long long)view.usable,
		(unsigned long long)view.free, (unsigned long long)world_enforced(box, account),
		view.target);
	for (unsigned e = 0; e < conserve_edges(box->c); e++)
		print_edge(box, account, e, now);
}

void world_print_beliefs(const struct world *w)
{
	for (unsigned a = 0; a < w->accounts; a++) {
		fprintf(stderr, "seed %llu at %.1f s, %s of %llu:\n",
			(unsigned long long)w->c->seed, (double)w->events.now_ns / (double)SECOND,
			a == RATE ? "rate" : "burst", (unsigned long long)world_total(w, a));
		for (unsigned i = 0; i < w->n; i++)
			if (w->boxes[i].c)
				print_box(w, a, i);
	}
}
