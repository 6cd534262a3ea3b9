/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that hold for a while: by time of day, as a policy's schedule says, or until a time, as an
 * operator has said; by the time that the limiter believes (budget/timekeeper.h). Such a limit is
 * one of the brain's terms and nothing else of the policy changes: its slot, its bucket and all
 * that it has counted stay; and what is conserved stays so while peers come to the same limit, as
 * after a reload.
 *
 * While the time is not known yet, after a start, a policy has the limit that it has at all other
 * times; later one has the limit that it had. Control, all of it.
 */
#ifndef WEIR_APP_TIMED_H
#define WEIR_APP_TIMED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "policy/policy.h"

struct instance;
struct limiter_policy;
struct override;
struct timed_list;
struct zone;

enum timed_by {
	TIMED_PLAIN, /* no other limit holds */
	TIMED_SCHEDULE,
	TIMED_OVERRIDE, /* the operator's, which comes first */
};

/* What holds now for one policy. */
struct timed_view {
	bool is_timed; /* it may change by itself */
	enum timed_by by;
	struct limit_terms terms;
	bool known;              /* the time is: */
	int64_t until;           /* Unix time at which another one holds, or ZONE_NEVER */
	const struct zone *zone; /* whose clocks count; NULL: none's */
	uid_t uid;               /* TIMED_OVERRIDE: whose */
};

/* After the limiter, and before its limits are published. 0 or a negative errno. */
int timed_start(struct instance *inst);
void timed_stop(struct instance *inst);

/* When to look again; and true when limits have changed. */
uint64_t timed_next(const struct instance *inst);
bool timed_run(struct instance *inst, uint64_t now_ns);

/*
 * Other policies, n of them, are about to come: what will hold for them, which goes into their
 * limits, too. 0 or -ENOMEM. Once they are there timed_exchange() puts it in force, and what was
 * before is left in its place.
 */
int timed_plan(struct instance *inst, const struct policy *policies, unsigned n,
	struct limiter_policy *limits, struct timed_list **list);
void timed_exchange(struct instance *inst, struct timed_list **list);
void timed_list_free(struct timed_list *list);

/*
 * An operator's limit for a policy, or an end of it, is kept on the disk first, and then holds: to
 * begin that. 0, or -EINVAL, and `err` has a line for each thing that is wrong.
 */
int timed_override(struct instance *inst, const struct override *override, FILE *err);
int timed_override_off(struct instance *inst, const char *policy, uid_t uid, FILE *err);

/* What became of the last one. */
struct timed_request {
	unsigned number;   /* requests so far */
	bool saving;       /* it is on its way to the disk */
	const char *error; /* why it does not hold; "": it does */
};

struct timed_request timed_last_request(const struct instance *inst);

/* Readable when one has been saved. */
int timed_fd(const struct instance *inst);
void timed_read(struct instance *inst);

struct timed_view timed_of(const struct instance *inst, unsigned policy);

/* Policies whose limit may change by itself; for how many that is why; and one of them. */
unsigned timed_count(const struct instance *inst);
unsigned timed_count_by(const struct instance *inst, enum timed_by by);
unsigned timed_policy(const struct instance *inst, unsigned index);

#endif
