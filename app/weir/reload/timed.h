/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that hold for a while: by time of day (a policy's schedule), or until a time (an
 * operator's override). The time is that of the limiter (budget/timekeeper.h). Such a limit changes
 * only the limiter's terms: slot, bucket and counts of the policy stay. Hard limits stay
 * hard while peers change to the same limit, as after a reload.
 *
 * While the time is unknown after a start, a policy has its plain limit; if it becomes unknown
 * later, the policy keeps its present limit. All functions: control.
 */
#ifndef WEIR_APP_TIMED_H
#define WEIR_APP_TIMED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "policy/policy.h"
#include "policy/units.h"

struct instance;
struct limiter_policy;
struct override;
struct timed_list;
struct zone;

enum timed_by {
	TIMED_PLAIN, /* no other limit holds */
	TIMED_SCHEDULE,
	TIMED_OVERRIDE, /* operator's override, which has priority */
};

/* Limit in force of one policy. */
struct timed_view {
	bool is_timed; /* its limit can change without a reload */
	enum timed_by by;
	struct limit_terms terms;
	bool known;              /* the limiter's time is valid */
	int64_t until;           /* Unix time of the next change, or ZONE_NEVER */
	const struct zone *zone; /* time zone of the schedule; NULL: none */
	uid_t uid;               /* TIMED_OVERRIDE: user who set it */
};

/*
 * Called after the limiter was created, and before its limits are published. Returns 0 or a
 * negative errno.
 */
int timed_start(struct instance *inst);
void timed_stop(struct instance *inst);

/* Returns the time of the next look; timed_run() returns true if limits have changed. */
uint64_t timed_next(const struct instance *inst);
bool timed_run(struct instance *inst, uint64_t now_ns);

/*
 * Prepares the list for n new policies, and sets their present limits in limits[]. Returns 0 or
 * -ENOMEM. Once the policies are in force, timed_exchange() puts the list in force, and leaves the
 * previous one in its place.
 */
int timed_plan(struct instance *inst, const struct policy *policies, unsigned n,
	struct limiter_policy *limits, struct timed_list **list);
void timed_exchange(struct instance *inst, struct timed_list **list);
void timed_list_free(struct timed_list *list);

/*
 * Begin to set an operator's limit for a policy, or to remove it: it is saved on the disk first,
 * and then holds. Returns 0, or -EINVAL with an error on each line of `err`.
 */
int timed_override(struct instance *inst, const struct override *override, FILE *err);
int timed_override_off(struct instance *inst, const char *policy, uid_t uid, FILE *err);

/* State of the last request. */
struct timed_request {
	unsigned number;   /* requests so far */
	bool saving;       /* true: the request is being saved */
	const char *error; /* why it does not hold; "": it holds */
};

struct timed_request timed_last_request(const struct instance *inst);

/* Returns a descriptor that is readable when one has been saved; timed_read() puts it in force. */
int timed_fd(const struct instance *inst);
void timed_read(struct instance *inst);

struct timed_view timed_of(const struct instance *inst, unsigned policy);

/*
 * Return the number of policies whose limit can change by itself, the number for a reason, and one
 * of these policies by its index.
 */
unsigned timed_count(const struct instance *inst);
unsigned timed_count_by(const struct instance *inst, enum timed_by by);
unsigned timed_policy(const struct instance *inst, unsigned index);

/* --- overrides -------------------------------------------------------------------------------- */

/* Most overrides at one time: more belong into the configuration. */
#define OVERRIDES_MOST 64

struct override {
	char policy[CONFIG_NAME_MAX];
	char terms[3 * UNITS_TEXT_MAX]; /* format of config_parse_terms() */
	int64_t until;                  /* Unix time */
	uid_t uid;                      /* user who set it */
};

struct overrides {
	unsigned n;
	struct override list[OVERRIDES_MOST];
};

/* Returns the override of a policy, or NULL. */
const struct override *overrides_find(const struct overrides *overrides, const char *policy);

/* Adds an override, or replaces that of the same policy. Returns 0 or -ENOSPC. */
int overrides_put(struct overrides *overrides, const struct override *override);

/*
 * Removes the override of a policy; overrides_end() removes all whose time is over. Returns true if
 * there was any.
 */
bool overrides_drop(struct overrides *overrides, const char *policy);
bool overrides_end(struct overrides *overrides, int64_t unix_s);

/*
 * Load the list from its file in a directory, and save it there. After a power failure the file has
 * the old or the new list. A missing file is an empty list, also if `directory` is not a directory
 * (ENOTDIR). Returns 0, -EBADMSG (invalid file), or another negative errno. Waits for the disk.
 */
int overrides_load(const char *directory, struct overrides *overrides);
int overrides_save(const char *directory, const struct overrides *overrides);

#endif
