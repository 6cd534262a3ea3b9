/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replaces the policies while packets flow, in three steps.
 */
#include "policy_txn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_memory.h>

#include "instance.h"
#include "classify/classify.h"
#include "config/load.h"
#include "etcd_share.h"
#include "publish.h"
#include "event.h"
#include "parts.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "config/compare.h"
#include "policy/kind.h"
#include "policy/names.h"
#include "policy/matches.h"
#include "policy/trial.h"
#include "commit.h"
#include "ledger_store.h"
#include "attach.h"
#include "timed.h"
#include "totals.h"
#include "trials.h"

/* Removed policies whose last counts are logged, a line each. */
#define LOGGED_MAX 64

/* Policies that end in one call: takes about a millisecond. */
#define ENDED_MAX 4096

enum step { PREPARED, WAITING, ENDING, SETTLED };

/* The policies of a configuration, with everything that is made from them. */
struct generation {
	struct config *config; /* NULL: that of the start, which is not owned */
	const struct policy *policies;
	unsigned n;
	struct policy_names *names;
	struct classifier *classifier;
	unsigned *sourced, n_sourced, n_hard;
	uint32_t *parents;
	uint32_t *slots;          /* n: slots of the policies */
	struct timed_list *timed; /* limits in force by the schedules */
	struct budget_shares budget_shares;
};

struct policy_txn {
	struct instance *inst;
	struct generation next;     /* empty after the commit: the instance has it */
	struct generation previous; /* only slots before the commit: the instance has the rest */

	struct config_diff *diff;
	unsigned *keeps; /* by new index: old index whose slot it keeps, or SLOT_UNASSIGNED */
	unsigned *known; /* by new index: limiter's index of the old policy, or LIMITER_ADDED */
	struct limiter_policy *limits;
	struct ledger_store opened; /* first ledger of this limiter; before the commit */
	bool retargets;             /* placed policies get other packets */
	unsigned prepared;          /* policies with prepared slots */

	enum step step;
	struct grace grace; /* since the commit */
	uint32_t *leaving;  /* left slots whose packets might wait */
	unsigned n_leaving;
	struct trial_change *trials; /* changed trials of policies that stay */
	unsigned ended,
		n_logged; /* previous policies that have ended, removed ones that are logged */
};

static bool is_restarted(const struct policy_txn *x, unsigned i)
{
	return x->diff->changes[i] & (POLICY_ADDED | POLICY_RESTARTS);
}

/* Returns true if the policy's parent is the same policy in the same slot. */
static bool parent_lasts(const struct policy_txn *x, unsigned i)
{
	const struct policy *old = &x->inst->policies[x->diff->from[i]],
			    *policy = &x->next.policies[i];

	if (!policy_has_parent(policy) || !policy_has_parent(old))
		return policy_has_parent(policy) == policy_has_parent(old);
	return x->keeps[policy->parent] == (unsigned)old->parent;
}

/*
 * Moves all policies below one that moves, from above: a worker's line of a policy has the slots of
 * those above it.
 */
static void map_lineages(struct policy_txn *x)
{
	for (unsigned above = 0; above < POLICY_LEVELS_MOST; above++)
		for (unsigned i = 0; i < x->next.n; i++)
			if (x->next.policies[i].above == above && x->keeps[i] != SLOT_UNASSIGNED &&
				!parent_lasts(x, i))
				x->keeps[i] = SLOT_UNASSIGNED;
}

static int alloc_policy_txn(struct policy_txn *x)
{
	const struct slot_map *slots = &x->inst->slots;
	size_t n = (size_t)x->next.n + 1;

	x->keeps = calloc(n, sizeof(*x->keeps));
	x->known = calloc(n, sizeof(*x->known));
	x->next.slots = calloc(n, sizeof(*x->next.slots));
	x->previous.slots = malloc(((size_t)slots->n + 1) * sizeof(*x->previous.slots));
	x->leaving = malloc(((size_t)slots->n + 1) * sizeof(*x->leaving));
	x->trials = calloc(n, sizeof(*x->trials));
	x->limits = engine_limiter_policies(x->next.policies, x->next.n,
		x->inst->config->gossip.loans, limiter_wall_s(x->inst->limiter, control_now()));
	if (!x->keeps || !x->known || !x->next.slots || !x->previous.slots || !x->leaving ||
		!x->limits || !x->trials)
		return -ENOMEM;
	memcpy(x->previous.slots, slots->of, slots->n * sizeof(*x->previous.slots));
	return 0;
}

/* Only a change of the packets of placed policies makes these wait. */
static int plan_parts(struct policy_txn *x)
{
	const struct instance *inst = x->inst;
	bool *keeps = calloc((size_t)x->next.n + 1, sizeof(*keeps));

	if (!keeps)
		return -ENOMEM;
	for (unsigned i = 0; i < x->next.n; i++)
		keeps[i] = x->keeps[i] != SLOT_UNASSIGNED;
	x->retargets = policies_retarget(
		x->diff, inst->policies, inst->n_policies, x->next.policies, keeps, OVERLAP_PAIRS);
	parts_plan(x->inst, x->next.slots, keeps, x->next.n);
	free(keeps);
	return 0;
}

/* Maps new policies to old ones and to slots. */
static int plan_policy_txn_slots(struct policy_txn *x, const char *file, FILE *err)
{
	const struct slot_map *slots = &x->inst->slots;
	int ret;

	for (unsigned i = 0; i < x->next.n; i++) {
		unsigned old = x->diff->from[i];
		bool restarts = is_restarted(x, i);

		/* Some keep their state in the limiter, some of these also their slot. */
		x->known[i] = restarts ? LIMITER_ADDED : old;
		x->keeps[i] = old;
		if (restarts || !policy_state_lasts(&x->inst->policies[old], &x->next.policies[i]))
			x->keeps[i] = SLOT_UNASSIGNED;
	}
	map_lineages(x);
	ret = slot_map_plan(slots, x->keeps, x->next.n, x->next.slots);
	if (ret)
		fprintf(err,
			"%s: policies: there is room for %u, those that this replaces included: "
			"restart the limiter\n",
			file, slots->capacity);
	return ret;
}

/* Prepares the lines of new policies, and the new parts of policies that stay. */
static int attach_policies(struct policy_txn *x, uint64_t hz)
{
	struct instance *inst = x->inst;
	int ret = 0;

	for (; ret == 0 && x->prepared < x->next.n; x->prepared++) {
		unsigned i = x->prepared;

		if (x->keeps[i] != SLOT_UNASSIGNED) {
			ret = parts_prepare_change(
				inst, &x->next.policies[i], x->next.slots[i], hz);
			continue;
		}
		ret = policy_attach(inst, &x->next.policies[i], x->next.slots[i], hz);
		if (ret == 0 && !is_restarted(x, i))
			ret = parts_prepare_move(
				inst, inst->slots.of[x->diff->from[i]], x->next.slots[i]);
	}
	return ret;
}

static int prepare_tables(struct policy_txn *x, const char *file, FILE *err)
{
	int ret = classifier_create_as(
		x->next.policies, x->next.slots, x->next.n, SOCKET_ID_ANY, &x->next.classifier);

	if (ret == 0)
		classifier_set_unparsed(x->next.classifier, config_unparsed(x->next.config));
	if (ret == 0)
		classifier_set_drops(x->next.classifier, config_drops(x->next.config));
	x->next.sourced = slots_per_source(
		x->next.policies, x->next.slots, x->next.n, &x->next.n_sourced, &x->next.n_hard);
	if (ret == 0 && !x->next.sourced)
		ret = -ENOMEM;
	if (ret == 0)
		ret = slots_of_parents(x->next.policies, x->next.slots, x->next.n,
			x->inst->slots.capacity, &x->next.parents);
	if (ret == 0)
		ret = policy_names_create(x->next.policies, x->next.n, &x->next.names);
	if (ret)
		fprintf(err, "%s: policies: the classifier: %s\n", file, strerror(-ret));
	return ret;
}

/*
 * Opens the ledger for the first policies that need one. Without a store they are refused:
 * recovering is only for a start, because packets must pass then.
 */
static int prepare_ledger(struct policy_txn *x, const char *file, FILE *err)
{
	const char *directory = x->inst->config->ledger.store;
	int ret;

	if (x->inst->commit || !policies_need_ledger(x->next.policies, x->next.n))
		return 0;
	ret = directory[0] ? ledger_store_open(directory, false, &x->opened) : -ENOENT;
	if (ret)
		fprintf(err, "%s: ledger.store: %s: %s\n", file, directory,
			ledger_store_reason(ret));
	return ret;
}

static int prepare_policy_txn(struct policy_txn *x, const char *file, uint64_t hz, FILE *err)
{
	int ret = alloc_policy_txn(x);

	if (ret)
		fprintf(err, "%s: %s\n", file, strerror(-ret));
	if (ret == 0)
		ret = plan_policy_txn_slots(x, file, err);
	if (ret || policy_txn_is_empty(x))
		return ret;
	ret = plan_parts(x);
	if (ret == 0)
		ret = prepare_ledger(x, file, err);
	if (ret)
		return ret;
	ret = budget_shares_prepare(x->next.policies, x->next.n, &x->next.budget_shares);
	if (ret)
		return ret;
	ret = attach_policies(x, hz);
	if (ret)
		fprintf(err, "%s: policies[%u]: %s\n", file, x->prepared - 1, strerror(-ret));
	return ret ? ret : prepare_tables(x, file, err);
}

bool policy_txn_pass_gate(struct instance *inst)
{
	return __atomic_exchange_n(&inst->reload_gate, RELOAD_PAST_READING, __ATOMIC_ACQ_REL) !=
	       RELOAD_GIVEN_UP;
}

int policy_txn_prepare(
	struct instance *inst, const char *file, uint64_t hz, FILE *err, struct policy_txn **out)
{
	struct config *config;
	int ret = config_load_for_running(file, inst->config, err, &config);

	*out = NULL;
	if (ret)
		return ret;
	if (policy_txn_pass_gate(inst))
		return policy_txn_prepare_config(inst, config, file, hz, err, out);
	config_free(config);
	return -ECANCELED;
}

int policy_txn_prepare_config(struct instance *inst, struct config *config, const char *file,
	uint64_t hz, FILE *err, struct policy_txn **out)
{
	struct policy_txn *x = calloc(1, sizeof(*x));
	struct config now = *inst->config; /* the start's, with the present policies */
	int ret;

	*out = NULL;
	if (!x) {
		config_free(config);
		return -ENOMEM;
	}
	x->next.config = config;
	now.policies = (struct policy *)(uintptr_t)inst->policies; /* only to be compared */
	now.n_policies = inst->n_policies;
	ret = config_diff(&now, config, file, err, &x->diff);
	if (ret == 0) {
		x->inst = inst;
		x->next.policies = x->next.config->policies;
		x->next.n = x->next.config->n_policies;
		ret = prepare_policy_txn(x, file, hz, err);
	}
	if (ret) {
		policy_txn_free(x);
		return ret;
	}
	*out = x;
	return 0;
}

const struct config *policy_txn_config(const struct policy_txn *x)
{
	return x->next.config;
}

const struct config_diff *policy_txn_diff(const struct policy_txn *x)
{
	return x->diff;
}

bool policy_txn_is_empty(const struct policy_txn *x)
{
	if (x->diff->added || x->diff->removed || x->diff->changed)
		return false;
	if (x->next.config->shadow !=
		instance_in_shadow(x->inst)) /* also changes which packets are dropped */
		return false;
	if (config_drops(x->next.config) != classifier_drops(x->inst->classifier))
		return false;
	for (unsigned i = 0; i < x->next.n; i++)
		if (x->diff->from[i] != i) /* the first of equal matches wins */
			return false;
	return true;
}

/* Takes the generation of the instance, and gives it the next one. */
static void swap_generations(struct policy_txn *x)
{
	struct instance *inst = x->inst;
	struct generation *previous = &x->previous, *next = &x->next;

	*previous = (struct generation){
		.config = inst->loaded,
		.policies = inst->policies,
		.n = inst->n_policies,
		.names = inst->names,
		.classifier = inst->classifier,
		.sourced = inst->sourced,
		.n_sourced = inst->n_sourced,
		.n_hard = inst->n_hard,
		.parents = inst->parents,
		.slots = previous->slots,
		.timed = next->timed,
		.budget_shares = next->budget_shares,
	};
	inst->loaded = next->config;
	inst->policies = next->policies;
	inst->n_policies = next->n;
	inst->names = next->names;
	inst->classifier = next->classifier;
	inst->sourced = next->sourced;
	inst->n_sourced = next->n_sourced;
	inst->n_hard = next->n_hard;
	inst->parents = next->parents;
	timed_exchange(inst, &previous->timed);
	slot_map_commit(&inst->slots, next->slots, next->n);
	etcd_share_exchange(inst, &previous->budget_shares);
	*next = (struct generation){0};
}

static void begin_policies(struct policy_txn *x)
{
	struct instance *inst = x->inst;

	for (unsigned i = 0; i < inst->n_policies; i++) {
		uint32_t slot = inst->slots.of[i], from;
		bool moves = !is_restarted(x, i);

		if (x->keeps[i] != SLOT_UNASSIGNED) {
			if (x->diff->changes[i]) {
				dirty_mark(&inst->dirty, slot);
				parts_change(inst, i);
			}
			continue;
		}
		if (moves) { /* takes its counts along; workers still count in its old slot */
			from = x->previous.slots[x->diff->from[i]];
			inst->carried_over[slot] = (struct carried_over){
				.before = inst->carried_over[from].before, .also = from};
			parts_move(inst, from, slot);
		}
		inst->engine.slots[slot].held = policy_is_hard(&inst->policies[i]);
		publish_begin(inst, i, moves);
	}
	for (unsigned i = 0; i < x->previous.n; i++) {
		uint32_t slot = x->previous.slots[i];

		if (inst->slots.policy[slot] != SLOT_LEFT)
			continue;
		publish_never(inst, slot);
		parts_leave(inst, slot);
	}
}

enum leaving { LEAVES_TIMED, LEAVES_LISTED, LEAVES_HARD, LEAVINGS };

/* Lists the slots of previous policies of a kind whose packets workers can still hold. */
static void list_leaving_of(struct policy_txn *x, enum leaving which)
{
	for (unsigned i = 0; i < x->previous.n; i++) {
		const struct policy *policy = &x->previous.policies[i];
		const enum leaving kind = policy_is_hard(policy)    ? LEAVES_HARD
					  : policy_is_timed(policy) ? LEAVES_TIMED
								    : LEAVES_LISTED;

		if (!policy_is_shaped(policy) || kind != which ||
			x->inst->slots.policy[x->previous.slots[i]] != SLOT_LEFT)
			continue;
		x->leaving[x->n_leaving++] = x->previous.slots[i];
	}
}

/* Returns true if workers have finished with all left slots. */
static bool all_done(const struct policy_txn *x)
{
	for (unsigned i = 0; i < x->previous.n; i++)
		if (x->inst->slots.policy[x->previous.slots[i]] == SLOT_LEFT &&
			!parts_are_done(x->inst, x->previous.slots[i]))
			return false;
	return true;
}

/* Updates the limiter's policies; opens its ledger if these are the first ones that need it. */
static int update_limiter(struct policy_txn *x)
{
	struct instance *inst = x->inst;
	bool inherits = x->opened.store;
	struct limiter_ledger ledger;
	int ret = inherits ? commit_inherit(inst, &x->opened) : 0;

	if (ret)
		return ret;
	ledger = commit_ledger(inst);
	if (inherits)
		limiter_give_ledger(inst->limiter, &ledger);
	ret = timed_plan(inst, x->next.policies, x->next.n, x->limits, &x->next.timed);
	parts_before_update(inst, x->known, x->next.n);
	if (ret == 0)
		ret = limiter_update(inst->limiter, x->limits, x->next.n, x->known, control_now());
	/* Logs the policies whose id belongs to a ledger account of another name. */
	for (unsigned i = 0; ret == -EEXIST && !inherits && i < x->next.n; i++) {
		const char *other = limiter_name_taken(inst->limiter, &x->limits[i]);

		if (other && policy_is_never_exceeded(&x->next.policies[i]))
			event(LEDGER_NAME_TAKEN, event_word("policy", x->next.policies[i].name),
				event_word("other", other));
	}
	if (inherits)
		commit_begun(inst, ret);
	if (ret && inherits) {
		ledger = (struct limiter_ledger){0};
		limiter_give_ledger(inst->limiter, &ledger);
		commit_stop(inst);
	}
	return ret;
}

int policy_txn_commit(struct policy_txn *x)
{
	struct instance *inst = x->inst;
	struct snapshot *snapshot = publisher_take(&inst->publisher);
	struct publish_changes changes;
	int ret = -ENOMEM;

	if (snapshot)
		ret = update_limiter(x);
	if (ret) {
		free(snapshot);
		return ret;
	}
	swap_generations(x);
	begin_policies(x);
	/*
	 * Workers empty queues in this order. First all timed ones together, because workers
	 * search for their packets among all waiting ones. Packets that arrive later, while
	 * workers empty other queues, are sent for soft limits and dropped for hard ones. So hard
	 * limits are last.
	 */
	for (enum leaving which = 0; which < LEAVINGS; which++)
		list_leaving_of(x, which);
	changes = (struct publish_changes){
		.leaving = x->leaving,
		.n_leaving = x->n_leaving,
		.trials = x->trials,
		.n_trials = trials_list_changes(inst, x->trials),
		.retargets = x->retargets,
	};
	publish_classifier(inst, snapshot, &changes);
	grace_begin_snapshot(&x->grace, inst);
	x->step = WAITING;
	return 0;
}

/*
 * Starts policies with hard limits, now that their previous lines earn nothing any more: both
 * together would pass more than the limit.
 */
static void let_go(struct instance *inst)
{
	for (unsigned i = 0; i < inst->n_policies; i++) {
		uint32_t slot = inst->slots.of[i];

		if (!inst->engine.slots[slot].held)
			continue;
		inst->engine.slots[slot].held = false;
		dirty_mark(&inst->dirty, slot);
	}
}

/* Adds the counts of the old slots of moved policies to their own. */
static void end_moves(struct instance *inst)
{
	for (unsigned i = 0; i < inst->n_policies; i++) {
		struct carried_over *carried_over = &inst->carried_over[inst->slots.of[i]];
		struct policy_totals totals;

		if (carried_over->also == SLOT_NONE)
			continue;
		totals = instance_slot_totals(inst, carried_over->also);
		policy_totals_add(&carried_over->before, &totals);
		parts_moved(inst, carried_over->also, inst->slots.of[i]);
		policy_detach(inst, carried_over->also);
		slot_map_release(&inst->slots, carried_over->also);
		carried_over->also = SLOT_NONE;
	}
}

static void end_policy(struct policy_txn *x, unsigned policy)
{
	struct instance *inst = x->inst;
	uint32_t slot = x->previous.slots[policy];
	struct policy_totals totals;

	if (inst->slots.policy[slot] != SLOT_LEFT)
		return;
	totals = instance_policy_totals(inst, slot);
	/* Packets of a child also count for its parent, which continues to count. */
	if (!policy_has_parent(&x->previous.policies[policy]))
		policy_totals_add(&inst->gone, &totals);
	if ((totals.passed_packets || totals.dropped_packets) && x->n_logged++ < LOGGED_MAX)
		event(POLICY_REMOVED, event_word("policy", x->previous.policies[policy].name),
			event_count("passed_packets", totals.passed_packets),
			event_count("passed_bytes", totals.passed_bytes),
			event_count("dropped_packets", totals.dropped_packets),
			event_count("dropped_bytes", totals.dropped_bytes));
	policy_detach(inst, slot);
	slot_map_release(&inst->slots, slot);
}

/* Ends some of the removed policies; returns true when all have ended. */
static bool end_removed(struct policy_txn *x)
{
	for (unsigned i = 0; i < ENDED_MAX && x->ended < x->previous.n; i++)
		end_policy(x, x->ended++);
	if (x->ended < x->previous.n)
		return false;
	if (x->n_logged > LOGGED_MAX)
		event(POLICIES_REMOVED, event_count("policies", x->n_logged - LOGGED_MAX));
	return true;
}

bool policy_txn_finish(struct policy_txn *x)
{
	if (x->step == WAITING && grace_done(&x->grace, x->inst) && all_done(x)) {
		let_go(x->inst);
		end_moves(x->inst);
		for (unsigned i = 0; i < x->inst->n_policies; i++) /* frees the previous state */
			parts_changed(x->inst, x->inst->slots.of[i]);
		publisher_reclaim(&x->inst->publisher);
		x->step = ENDING;
	}
	if (x->step == ENDING && end_removed(x))
		x->step = SETTLED;
	return x->step == SETTLED;
}

static void generation_free(struct generation *generation)
{
	budget_shares_free(&generation->budget_shares);
	policy_names_destroy(generation->names);
	classifier_destroy(generation->classifier);
	config_free(generation->config);
	free(generation->sourced);
	free(generation->parents);
	free(generation->slots);
	timed_list_free(generation->timed);
}

void policy_txn_free(struct policy_txn *x)
{
	if (!x)
		return;
	for (unsigned i = 0; x->step == PREPARED && i < x->prepared; i++)
		if (x->keeps[i] == SLOT_UNASSIGNED)
			policy_detach(x->inst, x->next.slots[i]);
		else
			parts_give_up(x->inst, x->next.slots[i]);
	generation_free(&x->next);
	generation_free(&x->previous);
	ledger_store_close(&x->opened);
	config_diff_free(x->diff);
	free(x->leaving);
	free(x->trials);
	free(x->keeps);
	free(x->known);
	free(x->limits);
	free(x);
}
