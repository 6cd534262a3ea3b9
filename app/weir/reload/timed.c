/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that hold for a while: by time of day (a policy's schedule), or until a time (an
 * operator's override).
 */
#include "timed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/hash.h"
#include "base/time.h"
#include "clock.h"
#include "config/terms.h"
#include "instance.h"
#include "event.h"
#include "offload/offload.h"
#include "policy/kind.h"
#include "policy/names.h"
#include "policy/schedule.h"
#include "policy/units.h"
#include "unknown_name.h"
#include "wall.h"

/* Time between two comparisons of the clocks. */
#define LOOK_NS (SECOND_NS / 2)

/* Corrections of a clock are smaller; a larger step back means another time. */
#define BACK_S 60

/* Longest wait for a disk at the stop. */
#define STOP_PATIENCE_MS 1000

/* Time until a change that failed for want of memory is tried again. */
#define AGAIN_NS SECOND_NS

struct timed_policy {
	unsigned policy;
	enum timed_by by;
	struct limit_terms terms;
	int64_t until;
	uint64_t override; /* a hash of an operator's limit; 0: none */
};

/* Policies with other limits at other times, by index, ascending. */
struct timed_list {
	unsigned n;
	int64_t at_s;   /* time of this list, or TIME_UNKNOWN */
	int64_t turn_s; /* first change of its limits */
	struct timed_policy policies[];
};

/* Work of the thread: the list to save, and the change in it. */
struct saving {
	struct offload_job job;
	const char *directory;
	struct overrides overrides;
	struct override change;
	bool takes_back;
	int error;
};

struct timed {
	struct timed_list *list;
	uint64_t next_ns;
	struct overrides overrides;
	struct saving *saving; /* NULL: nothing is being saved */
	bool has_thread;
	struct offload offload;
	unsigned requests;
	char error[256];
};

/* Returns the reason why one limiter alone cannot override the policy's limit; NULL: it can. */
static const char *override_refusal(const struct instance *inst, const struct policy *policy)
{
	if (policy_is_quota(policy))
		return "has a quota: change \"total\" in the file of every limiter, and reload "
		       "them";
	if (policy_is_hard(policy) && inst->config->gossip.n_roster > 1)
		return "is a hard limit. The group enforces the lowest one: change \"limit\" in "
		       "the file of every limiter and reload them, or give the policy a "
		       "\"schedule\"";
	return NULL;
}

/* Reads an override for the present policy, which can differ from that at the override's time. */
static int parse_override(const struct instance *inst, const struct policy *policy,
	const struct override *override, FILE *err, struct limit_terms *terms)
{
	const char *refusal = override_refusal(inst, policy);

	if (refusal) {
		fprintf(err, "policy \"%s\" cannot have an override: it %s\n", policy->name,
			refusal);
		return -EINVAL;
	}
	return config_parse_terms(override->terms, strlen(override->terms), policy,
		inst->config->gossip.n_roster, err, terms);
}

/* Returns true if an override is in force. Errors in it are not reported here. */
static bool decide_override(const struct instance *inst, const struct policy *policy,
	int64_t wall_s, struct timed_policy *now)
{
	const struct override *override = overrides_find(&inst->timed->overrides, policy->name);
	uint64_t hash;
	FILE *nowhere;
	int ret;

	if (!override || wall_s == TIME_UNKNOWN || wall_s >= override->until)
		return false;
	nowhere = fopen("/dev/null", "we");
	ret = nowhere ? parse_override(inst, policy, override, nowhere, &now->terms) : -EMFILE;
	if (nowhere)
		fclose(nowhere);
	if (ret)
		return false;
	now->by = TIMED_OVERRIDE;
	now->until = override->until;
	hash = hash64_step(HASH64_BASIS, now->terms.limit_bps);
	hash = hash64_step(hash, now->terms.limit_s);
	now->override = hash64_step(hash, now->terms.burst_bytes) | 1;
	return true;
}

/* Returns the terms in force at a time. */
static struct timed_policy decide_terms(
	const struct instance *inst, const struct policy *policy, unsigned index, int64_t wall_s)
{
	struct timed_policy now = {index, TIMED_PLAIN, policy_terms(policy), ZONE_NEVER, 0};
	struct schedule_now schedule;

	if (decide_override(inst, policy, wall_s, &now))
		return now;
	now.terms = policy_terms(policy);
	if (wall_s == TIME_UNKNOWN || !policy->schedule)
		return now;
	schedule = schedule_at(policy->schedule, wall_s);
	now.until = schedule.until;
	if (schedule.entry == SCHEDULE_NONE)
		return now;
	now.by = TIMED_SCHEDULE;
	now.terms = policy->schedule->entries[schedule.entry].terms;
	return now;
}

static const struct timed_policy *find_timed(const struct timed_list *list, unsigned policy)
{
	unsigned low = 0, high = list->n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (list->policies[middle].policy < policy)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->n && list->policies[low].policy == policy ? &list->policies[low] : NULL;
}

/* Also true for a policy of the previous list, because its terms might end now. */
static bool is_timed(const struct instance *inst, const struct policy *policies, unsigned i,
	const struct timed_list *previous)
{
	return policies[i].schedule || overrides_find(&inst->timed->overrides, policies[i].name) ||
	       (previous && find_timed(previous, i));
}

/* NULL: there is no memory. `previous`: of the same policies, or NULL. */
static struct timed_list *make_list(const struct instance *inst, const struct policy *policies,
	unsigned n, int64_t wall_s, const struct timed_list *previous)
{
	struct timed_list *list;
	unsigned most = 0;

	for (unsigned i = 0; i < n; i++)
		most += is_timed(inst, policies, i, previous);
	list = calloc(1, sizeof(*list) + most * sizeof(list->policies[0]));
	if (!list)
		return NULL;
	list->at_s = wall_s;
	list->turn_s = ZONE_NEVER;
	for (unsigned i = 0; i < n && list->n < most; i++) {
		struct timed_policy *next = &list->policies[list->n];

		if (!is_timed(inst, policies, i, previous))
			continue;
		*next = decide_terms(inst, &policies[i], i, wall_s);
		list->turn_s = RTE_MIN(list->turn_s, next->until);
		list->n++;
	}
	return list;
}

void timed_list_free(struct timed_list *list)
{
	free(list);
}

struct timed_view timed_of(const struct instance *inst, unsigned policy)
{
	const struct timed_list *list = inst->timed->list;
	const struct timed_policy *found = find_timed(list, policy);
	const struct policy *of = &inst->policies[policy];
	const struct override *override = overrides_find(&inst->timed->overrides, of->name);

	if (!found)
		return (struct timed_view){.terms = policy_terms(of), .until = ZONE_NEVER};
	return (struct timed_view){
		.is_timed = true,
		.by = found->by,
		.terms = found->terms,
		.known = list->at_s != TIME_UNKNOWN,
		.until = found->until,
		.zone = of->schedule ? of->schedule->zone : NULL,
		.uid = override ? override->uid : 0,
	};
}

unsigned timed_count(const struct instance *inst)
{
	return inst->timed->list->n;
}

unsigned timed_count_by(const struct instance *inst, enum timed_by by)
{
	const struct timed_list *list = inst->timed->list;
	unsigned n = 0;

	for (unsigned i = 0; i < list->n; i++)
		n += list->policies[i].by == by;
	return n;
}

unsigned timed_policy(const struct instance *inst, unsigned index)
{
	return inst->timed->list->policies[index].policy;
}

int timed_plan(struct instance *inst, const struct policy *policies, unsigned n,
	struct limiter_policy *limits, struct timed_list **out)
{
	int64_t wall_s = limiter_wall_s(inst->limiter, control_now());
	struct timed_list *list = make_list(inst, policies, n, wall_s, NULL);

	if (!list)
		return -ENOMEM;
	for (unsigned i = 0; i < list->n; i++) {
		const struct timed_policy *timed = &list->policies[i];
		struct limiter_policy *limit = &limits[timed->policy];

		limit->limit_bps = timed->terms.limit_bps;
		limit->limit_s = timed->terms.limit_s;
		limit->burst_bytes = timed->terms.burst_bytes;
		limit->override = timed->override;
	}
	timed_list_free(*out);
	*out = list;
	return 0;
}

void timed_exchange(struct instance *inst, struct timed_list **list)
{
	struct timed_list *previous = inst->timed->list;

	inst->timed->list = *list;
	inst->timed->next_ns = 0;
	*list = previous;
}

static void log_turn(const struct instance *inst, const struct timed_policy *timed)
{
	static const char *const by[] = {
		[TIMED_PLAIN] = "configuration",
		[TIMED_SCHEDULE] = "schedule",
		[TIMED_OVERRIDE] = "override",
	};
	const struct policy *policy = &inst->policies[timed->policy];
	const struct zone *zone = policy->schedule ? policy->schedule->zone : NULL;
	const struct limit_terms *terms = &timed->terms;
	char limit[UNITS_TEXT_MAX], until[ZONE_TEXT_MAX] = "for good";

	if (timed->until != ZONE_NEVER)
		zone_format(zone, timed->until, until);
	if (policy->count == COUNT_BYTES)
		units_format_rate(terms->limit_bps, limit, sizeof(limit));
	else
		units_format_count_rate(terms->limit_bps, terms->limit_s ? terms->limit_s : 1,
			limit, sizeof(limit));
	event(LIMIT_TURNS, event_word("policy", policy->name), event_word("limit", limit),
		event_word("by", by[timed->by]), event_word("until", until));
}

/* Returns true if control needs new terms. The previous list is of the same policies. */
static bool is_changed(const struct instance *inst, const struct timed_list *previous,
	const struct timed_policy *now)
{
	const struct timed_policy *was = find_timed(previous, now->policy);
	const struct limit_terms before = was ? was->terms
					      : policy_terms(&inst->policies[now->policy]);

	return now->terms.limit_bps != before.limit_bps || now->terms.limit_s != before.limit_s ||
	       now->terms.burst_bytes != before.burst_bytes ||
	       now->override != (was ? was->override : 0);
}

/* Updates control with the difference to the previous list. 1: limits changed; 0; or an errno. */
static int turn_limits(struct instance *inst, int64_t wall_s)
{
	struct timed_list *previous = inst->timed->list;
	struct timed_list *list = make_list(
		inst, inst->policies, inst->n_policies, wall_s, previous);
	struct limiter_change_terms *changes = list ? calloc((size_t)list->n + 1, sizeof(*changes))
						    : NULL;
	int ret = changes ? 0 : -ENOMEM;
	unsigned n = 0;

	for (unsigned i = 0; ret == 0 && i < list->n; i++) {
		const struct timed_policy *now = &list->policies[i];
		const struct limit_terms *terms = &now->terms;

		if (is_changed(inst, previous, now))
			changes[n++] = (struct limiter_change_terms){now->policy,
				{terms->limit_bps, terms->limit_s, terms->burst_bytes},
				now->override};
	}
	if (n > 0)
		ret = limiter_set_terms(inst->limiter, changes, n, control_now());
	free(changes);
	if (ret) {
		timed_list_free(list);
		return ret;
	}
	inst->timed->list = list;
	for (unsigned i = 0; n > 0 && i < list->n; i++)
		if (is_changed(inst, previous, &list->policies[i]))
			log_turn(inst, &list->policies[i]);
	timed_list_free(previous);
	return n > 0;
}

/* When the next change is, by control's clock, and no later than the next look. */
static uint64_t next_look(const struct instance *inst, uint64_t now_ns)
{
	int64_t turn_s = inst->timed->list->turn_s;
	uint64_t time_ns, turn_ns;

	if (turn_s == ZONE_NEVER || turn_s < 0 ||
		!timekeeper_time(limiter_timekeeper(inst->limiter), now_ns, &time_ns))
		return now_ns + LOOK_NS;
	turn_ns = (uint64_t)turn_s * SECOND_NS;
	return now_ns + (turn_ns > time_ns ? RTE_MIN(turn_ns - time_ns, LOOK_NS) : 0);
}

static bool look_at_time(struct instance *inst, uint64_t now_ns)
{
	struct timed *timed = inst->timed;
	const struct timed_list *list = timed->list;
	bool valid; /* the list, at this time */
	int64_t wall_s;
	int ret = 0;

	wall_look(inst);
	wall_s = limiter_wall_s(inst->limiter, control_now());
	valid = wall_s == TIME_UNKNOWN || (list->at_s != TIME_UNKNOWN && wall_s < list->turn_s &&
						  wall_s > list->at_s - BACK_S);
	if (!valid)
		ret = turn_limits(inst, wall_s);
	if (ret >= 0 && wall_s != TIME_UNKNOWN)
		overrides_end(&timed->overrides, wall_s);
	if (ret < 0)
		event(LIMITS_NOT_TURNED, event_word("why", strerror(-ret)));
	timed->next_ns = ret < 0 ? now_ns + AGAIN_NS : next_look(inst, control_now());
	return ret > 0;
}

uint64_t timed_next(const struct instance *inst)
{
	const struct timed *timed = inst->timed;

	return timed->list->n > 0 || timed->overrides.n > 0 ? timed->next_ns : UINT64_MAX;
}

bool timed_run(struct instance *inst, uint64_t now_ns)
{
	return now_ns >= timed_next(inst) && look_at_time(inst, now_ns);
}

/* Runs on the thread of the offload. */
static void save_overrides(void *context)
{
	struct saving *saving = context;

	saving->error = overrides_save(saving->directory, &saving->overrides);
}

static int begin_saving(struct instance *inst, struct saving *saving)
{
	struct timed *timed = inst->timed;
	int ret = timed->has_thread ? 0 : offload_start(&timed->offload);

	if (ret)
		return ret;
	if (!timed->has_thread)
		offload_name(&timed->offload, "weir-overrides");
	timed->has_thread = true;
	timed->saving = saving;
	timed->requests++;
	timed->error[0] = '\0';
	saving->directory = inst->config->ledger.store;
	saving->job = (struct offload_job){.work = save_overrides, .context = saving};
	offload_submit(&timed->offload, &saving->job);
	return 0;
}

/* Returns the list with the change in it. NULL: reported on err. */
static struct saving *make_saving(
	const struct instance *inst, const struct override *change, bool takes_back, FILE *err)
{
	struct saving *saving = inst->timed->saving ? NULL : calloc(1, sizeof(*saving));
	bool good = true;

	if (!saving) {
		fputs("another override is being saved: try again\n", err);
		return NULL;
	}
	saving->overrides = inst->timed->overrides;
	saving->change = *change;
	saving->takes_back = takes_back;
	if (takes_back)
		good = overrides_drop(&saving->overrides, change->policy);
	else
		good = overrides_put(&saving->overrides, change) == 0;
	if (good)
		return saving;
	free(saving);
	if (takes_back)
		fprintf(err, "policy \"%s\" has no override: see \"weirctl limits\"\n",
			change->policy);
	else
		fprintf(err,
			"%d policies have an override, which is the maximum: write limits into the "
			"file\n",
			OVERRIDES_MOST);
	return NULL;
}

static int save_change(
	struct instance *inst, const struct override *change, bool takes_back, FILE *err)
{
	struct saving *saving = make_saving(inst, change, takes_back, err);
	int ret = saving ? begin_saving(inst, saving) : -EINVAL;

	if (saving && ret) {
		fprintf(err, "%s\n", strerror(-ret));
		free(saving);
	}
	return ret ? -EINVAL : 0;
}

int timed_override(struct instance *inst, const struct override *override, FILE *err)
{
	unsigned i = policy_names_find(inst->names, override->policy);
	char why[UNKNOWN_NAME_MAX];
	struct limit_terms terms;
	int64_t wall_s;
	int ret;

	if (i == inst->n_policies) {
		fprintf(err, "%s\n",
			unknown_policy(inst->policies, inst->n_policies, override->policy, why));
		return -EINVAL;
	}
	ret = parse_override(inst, &inst->policies[i], override, err, &terms);
	if (ret)
		return -EINVAL;
	wall_look(inst); /* nothing else has read the clock if no limit depends on it yet */
	wall_s = limiter_wall_s(inst->limiter, control_now());
	if (wall_s == TIME_UNKNOWN)
		fputs("the limiter's clock is not set: try again when \"weirctl limits\" shows a "
		      "time\n",
			err);
	else if (override->until <= wall_s)
		fputs("until: expected a time in the future\n", err);
	else
		return save_change(inst, override, false, err);
	return -EINVAL;
}

int timed_override_off(struct instance *inst, const char *policy, uid_t uid, FILE *err)
{
	struct override change = {.uid = uid};
	char why[UNKNOWN_NAME_MAX];

	if (policy_names_find(inst->names, policy) == inst->n_policies &&
		!overrides_find(&inst->timed->overrides, policy)) {
		fprintf(err, "%s\n", unknown_policy(inst->policies, inst->n_policies, policy, why));
		return -EINVAL;
	}
	snprintf(change.policy, sizeof(change.policy), "%s", policy);
	return save_change(inst, &change, true, err);
}

struct timed_request timed_last_request(const struct instance *inst)
{
	const struct timed *timed = inst->timed;

	return (struct timed_request){timed->requests, timed->saving != NULL, timed->error};
}

int timed_fd(const struct instance *inst)
{
	return inst->timed->has_thread ? offload_fd(&inst->timed->offload) : -1;
}

/* Puts the list that is now on the disk in force. */
void timed_read(struct instance *inst)
{
	struct timed *timed = inst->timed;
	struct saving *saving = offload_collect(&timed->offload);
	const struct override *change;
	char until[ZONE_TEXT_MAX];

	if (!saving)
		return;
	change = &saving->change;
	if (saving->error) {
		event(OVERRIDE_NOT_KEPT, event_word("policy", change->policy),
			event_count("uid", change->uid), event_word("store", saving->directory),
			event_word("why", strerror(-saving->error)));
		snprintf(timed->error, sizeof(timed->error), "%s: %s", saving->directory,
			strerror(-saving->error));
	} else if (saving->takes_back) {
		event(OVERRIDE_OFF, event_word("policy", change->policy),
			event_count("uid", change->uid));
	} else {
		event(OVERRIDE_GIVEN, event_word("policy", change->policy),
			event_count("uid", change->uid), event_word("terms", change->terms),
			event_word("until", zone_format(NULL, change->until, until)));
	}
	if (!saving->error)
		timed->overrides = saving->overrides;
	free(saving);
	timed->saving = NULL;
	timed->list->turn_s = INT64_MIN; /* forces a new list */
	timed->next_ns = 0;
}

int timed_start(struct instance *inst)
{
	int ret;

	inst->timed = calloc(1, sizeof(*inst->timed));
	if (!inst->timed)
		return -ENOMEM;
	ret = overrides_load(inst->config->ledger.store, &inst->timed->overrides);
	if (ret) {
		inst->timed->overrides.n = 0;
		event(OVERRIDES_NOT_READ, event_word("store", inst->config->ledger.store),
			event_word("why", strerror(-ret)));
	}
	inst->timed->list = make_list(inst, inst->policies, inst->n_policies, TIME_UNKNOWN, NULL);
	if (!inst->timed->list) {
		timed_stop(inst);
		return -ENOMEM;
	}
	if (inst->timed->list->n > 0)
		(void)look_at_time(inst, control_now());
	return 0;
}

/* Leaks the thread and its work if the disk hangs. */
void timed_stop(struct instance *inst)
{
	struct timed *timed = inst->timed;

	inst->timed = NULL;
	if (timed->has_thread && !offload_stop(&timed->offload, STOP_PATIENCE_MS)) {
		inst->left_behind = true;
		return;
	}
	free(timed->saving);
	timed_list_free(timed->list);
	free(timed);
}
