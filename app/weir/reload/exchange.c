/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "exchange.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_memory.h>

#include "box.h"
#include "classify/classify.h"
#include "config/load.h"
#include "draw.h"
#include "grace.h"
#include "log.h"
#include "parts.h"
#include "police/other.h"
#include "police/shaped.h"
#include "policy/diff.h"
#include "policy/kind.h"
#include "policy/overlap.h"
#include "publish.h"
#include "settle.h"
#include "ledger_store.h"
#include "tenant.h"
#include "totals.h"

/* Removed policies whose last counts get a line of the log each. */
#define SAID_MAX 64

/* So many of them at a time: a millisecond or so. */
#define ENDED_MAX 4096

enum step { PREPARED, WAITING, ENDING, SETTLED };

/* Before the commit the new ones of all these, and after it the former ones. */
struct exchange {
	struct box *box;
	struct config *config; /* NULL: the one that the box was started with, which is not ours */
	const struct policy *policies;
	unsigned n;
	struct classifier *classifier;
	unsigned *sourced, n_sourced;
	uint32_t *slots;  /* n: of each policy */
	uint32_t *former; /* before the commit: of the former ones */

	struct config_diff *diff;
	unsigned *keeps; /* by new index: the old one whose slot stays its own, or SLOT_ANEW */
	unsigned *known; /* likewise, whom the limiter knows it as, or LIMITER_ADDED */
	struct limiter_policy *limits;
	struct drawings drawings;
	struct ledger_store opened; /* of a box that had none; before the commit */
	bool reseats;               /* other packets are those of placed policies */
	unsigned prepared;          /* policies whose slots are */

	enum step step;
	struct grace grace; /* of the commit */
	uint32_t *leaving;  /* slots that are left and whose packets may wait */
	unsigned n_leaving;
	unsigned ended, said; /* former policies looked at, and removed ones named */
};

static bool begins_anew(const struct exchange *x, unsigned i)
{
	return x->diff->changes[i] & (POLICY_ADDED | POLICY_ANEW);
}

/* What goes on as what. */
static void map_policies(struct exchange *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		unsigned old = x->diff->from[i];
		bool anew = begins_anew(x, i);

		x->known[i] = anew ? LIMITER_ADDED : old;
		x->keeps[i] = old;
		if (anew || !policy_state_lasts(&x->box->policies[old], &x->policies[i]))
			x->keeps[i] = SLOT_ANEW;
	}
}

static int alloc_exchange(struct exchange *x)
{
	const struct slots *slots = &x->box->slots;
	size_t n = (size_t)x->n + 1;

	x->keeps = calloc(n, sizeof(*x->keeps));
	x->known = calloc(n, sizeof(*x->known));
	x->slots = calloc(n, sizeof(*x->slots));
	x->former = malloc(((size_t)slots->n + 1) * sizeof(*x->former));
	x->leaving = malloc(((size_t)slots->n + 1) * sizeof(*x->leaving));
	x->limits = engine_limiter_policies(x->policies, x->n, (int64_t)time(NULL));
	if (!x->keeps || !x->known || !x->slots || !x->former || !x->leaving || !x->limits)
		return -ENOMEM;
	memcpy(x->former, slots->of, slots->n * sizeof(*x->former));
	return 0;
}

/* Only what changes whose packets are placed holds up those that are. */
static int plan_parts(struct exchange *x)
{
	const struct box *box = x->box;
	bool *keeps = calloc((size_t)x->n + 1, sizeof(*keeps));

	if (!keeps)
		return -ENOMEM;
	for (unsigned i = 0; i < x->n; i++)
		keeps[i] = x->keeps[i] != SLOT_ANEW;
	x->reseats = policies_reseat(
		x->diff, box->policies, box->n_policies, x->policies, keeps, OVERLAP_PAIRS);
	parts_plan(x->box, x->slots, keeps, x->n);
	free(keeps);
	return 0;
}

static int plan_exchange_slots(struct exchange *x, const char *file, FILE *err)
{
	const struct slots *slots = &x->box->slots;
	int ret;

	map_policies(x);
	ret = slots_plan(slots, x->keeps, x->n, x->slots);
	if (ret)
		fprintf(err,
			"%s: policies: there is room for %u, those that this replaces included: "
			"restart the limiter\n",
			file, slots->capacity);
	return ret;
}

/* A policy that begins, or goes on, in a slot of its own. */
static int prepare_slot(struct exchange *x, unsigned i, uint64_t hz)
{
	struct box *box = x->box;
	int ret = tenant_prepare(box, &x->policies[i], x->slots[i], hz);

	if (ret == 0 && !begins_anew(x, i))
		ret = parts_prepare_move(box, box->slots.of[x->diff->from[i]], x->slots[i]);
	return ret;
}

/* The lines of the policies that begin, and of those that stay what they did not need before. */
static int prepare_tenants(struct exchange *x, uint64_t hz)
{
	struct box *box = x->box;
	int ret = 0;

	for (; ret == 0 && x->prepared < x->n; x->prepared++) {
		unsigned i = x->prepared;

		if (x->keeps[i] == SLOT_ANEW)
			ret = prepare_slot(x, i, hz);
		else
			ret = parts_prepare_change(box, &x->policies[i]);
	}
	return ret;
}

static int prepare_tables(struct exchange *x, const char *file, FILE *err)
{
	int ret = classifier_create_as(x->policies, x->slots, x->n, SOCKET_ID_ANY, &x->classifier);

	x->sourced = tenants_sourced(x->policies, x->slots, x->n, &x->n_sourced);
	if (ret == 0 && !x->sourced)
		ret = -ENOMEM;
	if (ret)
		fprintf(err, "%s: policies: the classifier: %s\n", file, strerror(-ret));
	return ret;
}

/*
 * The first policies that need a ledger. Without a store they are refused: to begin blank is for
 * who has to pass packets now.
 */
static int prepare_ledger(struct exchange *x, const char *file, FILE *err)
{
	const char *directory = x->box->config->ledger.store;
	int ret;

	if (x->box->settle || !policies_need_ledger(x->policies, x->n))
		return 0;
	ret = directory[0] ? ledger_store_open(directory, false, &x->opened) : -ENOENT;
	if (ret)
		fprintf(err, "%s: ledger.store: %s: %s\n", file, directory,
			ledger_store_reason(ret));
	return ret;
}

static int prepare_exchange(struct exchange *x, const char *file, uint64_t hz, FILE *err)
{
	int ret = alloc_exchange(x);

	if (ret)
		fprintf(err, "%s: %s\n", file, strerror(-ret));
	if (ret == 0)
		ret = plan_exchange_slots(x, file, err);
	if (ret || exchange_is_empty(x))
		return ret;
	ret = plan_parts(x);
	if (ret == 0)
		ret = prepare_ledger(x, file, err);
	if (ret)
		return ret;
	ret = drawings_prepare(x->policies, x->n, &x->drawings);
	if (ret)
		return ret;
	ret = prepare_tenants(x, hz);
	if (ret)
		fprintf(err, "%s: policies[%u]: %s\n", file, x->prepared - 1, strerror(-ret));
	return ret ? ret : prepare_tables(x, file, err);
}

/* What the box runs: as it was started, but with its policies of now. */
static struct config in_force(const struct box *box)
{
	struct config config = *box->config;

	config.policies = (struct policy *)(uintptr_t)box->policies; /* only to be compared */
	config.n_policies = box->n_policies;
	return config;
}

int exchange_prepare(
	struct box *box, const char *file, uint64_t hz, FILE *err, struct exchange **out)
{
	struct exchange *x = calloc(1, sizeof(*x));
	struct config now = in_force(box);
	int ret = x ? config_load_beside(file, box->config, err, &x->config) : -ENOMEM;

	*out = NULL;
	if (ret == 0)
		ret = config_diff(&now, x->config, file, err, &x->diff);
	if (ret == 0) {
		x->box = box;
		x->policies = x->config->policies;
		x->n = x->config->n_policies;
		ret = prepare_exchange(x, file, hz, err);
	}
	if (ret) {
		exchange_free(x);
		return ret;
	}
	*out = x;
	return 0;
}

const struct config_diff *exchange_diff(const struct exchange *x)
{
	return x->diff;
}

bool exchange_is_empty(const struct exchange *x)
{
	if (x->diff->added || x->diff->removed || x->diff->changed)
		return false;
	for (unsigned i = 0; i < x->n; i++)
		if (x->diff->from[i] != i) /* the first in the file wins between equals */
			return false;
	return true;
}

#define SWAP(a, b)                     \
	do {                           \
		typeof(a) swapped = a; \
		(a) = b;               \
		(b) = swapped;         \
	} while (0)

/* The new ones to the box, and the former ones here. */
static void swap_generations(struct exchange *x)
{
	struct box *box = x->box;

	SWAP(box->loaded, x->config);
	SWAP(box->policies, x->policies);
	SWAP(box->n_policies, x->n);
	SWAP(box->classifier, x->classifier);
	SWAP(box->sourced, x->sourced);
	SWAP(box->n_sourced, x->n_sourced);
	slots_commit(&box->slots, x->slots, box->n_policies);
	x->slots = x->former;
	x->former = NULL;
}

/* One that moves takes along what it has counted; where it was, workers still count. */
static void carry_totals(struct exchange *x, unsigned policy)
{
	struct box *box = x->box;
	uint32_t from = x->slots[x->diff->from[policy]], to = box->slots.of[policy];

	box->carried[to] = (struct carried){.before = box->carried[from].before, .also = from};
	parts_move(box, from, to);
}

static void begin_policies(struct exchange *x)
{
	struct box *box = x->box;

	for (unsigned i = 0; i < box->n_policies; i++) {
		const struct policy *policy = &box->policies[i];
		bool moves = !begins_anew(x, i);

		if (x->keeps[i] == SLOT_ANEW) {
			if (moves)
				carry_totals(x, i);
			box->engine.slots[box->slots.of[i]].held = policy_is_conserved(policy);
			publish_begin(box, i, moves);
		} else if (x->diff->changes[i]) {
			dirty_mark(&box->dirty, box->slots.of[i]);
			parts_change(box, i);
		}
	}
	for (unsigned i = 0; i < x->n; i++)
		if (box->slots.tenant[x->slots[i]] == SLOT_LEFT) {
			dirty_clear(&box->dirty, x->slots[i]);
			parts_leave(box, x->slots[i]);
		}
}

enum leaving { LEAVES_TIMED, LEAVES_LISTED, LEAVES_CONSERVED, LEAVINGS };

static enum leaving leaving_of(const struct policy *policy)
{
	if (policy_is_conserved(policy))
		return LEAVES_CONSERVED;
	return policy_is_timed(policy) ? LEAVES_TIMED : LEAVES_LISTED;
}

/* Lists, of the former policies, which are ours by now, those that workers may hold packets of. */
static void list_leaving_of(struct exchange *x, enum leaving which)
{
	for (unsigned i = 0; i < x->n; i++) {
		const struct policy *policy = &x->policies[i];

		if (!policy_is_shaped(policy) || leaving_of(policy) != which ||
			x->box->slots.tenant[x->slots[i]] != SLOT_LEFT)
			continue;
		x->leaving[x->n_leaving++] = x->slots[i];
	}
}

/*
 * The workers empty queues in this order: those that are timed all at once, as they look for their
 * packets among all that wait. What comes after that, while they are at others, is sent of a limit
 * that may be exceeded, and dropped of one that may not: so these are the last.
 */
static void list_leaving(struct exchange *x)
{
	for (enum leaving which = 0; which < LEAVINGS; which++)
		list_leaving_of(x, which);
}

/* Whether workers have come to the end of what was begun for them. */
static bool all_done(const struct exchange *x)
{
	for (unsigned i = 0; i < x->n; i++)
		if (x->box->slots.tenant[x->slots[i]] == SLOT_LEFT &&
			!parts_are_done(x->box, x->slots[i]))
			return false;
	return true;
}

/* With a ledger, if this brings the first policies that need one. */
static int update_limiter(struct exchange *x)
{
	struct box *box = x->box;
	bool adopts = x->opened.store;
	struct limiter_ledger ledger;
	int ret = adopts ? settle_adopt(box, &x->opened) : 0;

	if (ret)
		return ret;
	ledger = settle_ledger(box);
	if (adopts)
		limiter_give_ledger(box->limiter, &ledger);
	parts_before_update(box, x->known, x->n);
	ret = limiter_update(box->limiter, x->limits, x->n, x->known, control_now());
	if (adopts)
		settle_begun(box, ret);
	if (ret && adopts) {
		ledger = (struct limiter_ledger){0};
		limiter_give_ledger(box->limiter, &ledger);
		settle_stop(box);
	}
	return ret;
}

int exchange_commit(struct exchange *x)
{
	struct box *box = x->box;
	struct snapshot *snapshot = publisher_take(&box->publisher);
	int ret = -ENOMEM;

	if (snapshot)
		ret = update_limiter(x);
	if (ret) {
		free(snapshot);
		return ret;
	}
	swap_generations(x);
	draw_exchange(box, &x->drawings);
	begin_policies(x);
	list_leaving(x);
	publish_classifier(
		box, snapshot, &(struct publish_changes){x->leaving, x->n_leaving, x->reseats});
	grace_begin_snapshot(&x->grace, box);
	x->step = WAITING;
	return 0;
}

/*
 * A conserved policy begins when nobody earns anything by its former line any more: by both
 * together more would pass than the limit.
 */
static void let_go(struct box *box)
{
	for (unsigned i = 0; i < box->n_policies; i++) {
		uint32_t slot = box->slots.of[i];

		if (!box->engine.slots[slot].held)
			continue;
		box->engine.slots[slot].held = false;
		dirty_mark(&box->dirty, slot);
	}
}

/* What was counted before a policy moved is its own for good. */
static void end_moves(struct box *box)
{
	for (unsigned i = 0; i < box->n_policies; i++) {
		struct carried *carried = &box->carried[box->slots.of[i]];
		struct policy_totals totals;

		if (carried->also == SLOT_NONE)
			continue;
		totals = box_slot_totals(box, carried->also);
		policy_totals_add(&carried->before, &totals);
		parts_moved(box, carried->also, box->slots.of[i]);
		tenant_remove(box, carried->also);
		slots_release(&box->slots, carried->also);
		carried->also = SLOT_NONE;
	}
}

static bool has_counted(const struct policy_totals *totals)
{
	return totals->passed_packets || totals->dropped_packets;
}

static void say_last(const char *name, const struct policy_totals *totals)
{
	log_info("policy %s: removed; passed %" PRIu64 " packets (%" PRIu64 "), dropped %" PRIu64
		 " (%" PRIu64 ")",
		name, totals->passed_packets, totals->passed_bytes, totals->dropped_packets,
		totals->dropped_bytes);
}

static void end_policy(struct exchange *x, unsigned policy)
{
	struct box *box = x->box;
	uint32_t slot = x->slots[policy];
	struct policy_totals totals;

	if (box->slots.tenant[slot] != SLOT_LEFT)
		return;
	totals = box_policy_totals(box, slot);
	policy_totals_add(&box->gone, &totals);
	if (has_counted(&totals) && x->said++ < SAID_MAX)
		say_last(x->policies[policy].name, &totals);
	tenant_remove(box, slot);
	slots_release(&box->slots, slot);
}

/* Some of those that were removed; true when all are. */
static bool end_removed(struct exchange *x)
{
	for (unsigned i = 0; i < ENDED_MAX && x->ended < x->n; i++)
		end_policy(x, x->ended++);
	if (x->ended < x->n)
		return false;
	if (x->said > SAID_MAX)
		log_info("%u more policies that had packets were removed", x->said - SAID_MAX);
	return true;
}

bool exchange_settle(struct exchange *x)
{
	if (x->step == WAITING && grace_done(&x->grace, x->box) && all_done(x)) {
		let_go(x->box);
		end_moves(x->box);
		publisher_reclaim(&x->box->publisher);
		x->step = ENDING;
	}
	if (x->step == ENDING && end_removed(x))
		x->step = SETTLED;
	return x->step == SETTLED;
}

void exchange_free(struct exchange *x)
{
	if (!x)
		return;
	for (unsigned i = 0; x->step == PREPARED && i < x->prepared; i++)
		if (x->keeps[i] == SLOT_ANEW)
			tenant_remove(x->box, x->slots[i]);
	drawings_free(&x->drawings);
	ledger_store_close(&x->opened);
	classifier_destroy(x->classifier);
	config_diff_free(x->diff);
	config_free(x->config);
	free(x->sourced);
	free(x->slots);
	free(x->former);
	free(x->leaving);
	free(x->keeps);
	free(x->known);
	free(x->limits);
	free(x);
}
