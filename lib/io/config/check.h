/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: checks across keys. Values with an error are marked (empty name, zero
 * length, the constants below), so that they get no second message.
 */
#ifndef WEIR_CONFIG_CHECK_H
#define WEIR_CONFIG_CHECK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/value_keys.h"
#include "policy/config.h"
#include "json/read.h"

#define WIRE_REFUSED (-2)     /* match.wire of a match with an error anywhere in it */
#define PORT_REFUSED UINT_MAX /* wire.a and wire.b */

#define PARENT_NAMED   (-2) /* policy.parent before policies_complete() */
#define PARENT_REFUSED (-3) /* a parent with an error */

#define METER_DEFAULT METER_KINDS /* policy.meter before policies_complete(): the default */

#define REMOVE_ONE "remove one of the two"

/* "default" of wires: gives a policy the unmatched packets; warns if no packet is left for it. */
void otherwise_complete(struct reader *reader, struct config *config);
void otherwise_warn(struct reader *reader, const struct config *config);

/* Fills in the defaults that depend on other keys. */
void config_complete(struct reader *reader, struct config *config);

/* Reports keys that exclude each other. */
void config_check(struct reader *reader, const struct config *config);

/*
 * Warns of valid settings that are probably mistakes. Only for a configuration without errors.
 * `running`: see config_load_for_running(); or NULL.
 */
void config_warn(struct reader *reader, const struct config *config, const struct config *running);

/* Completes gossip; completes and checks policies, that a group of n_limiters shares. */
void gossip_complete(const struct reader *reader, struct gossip_config *gossip);
void policies_complete(
	struct reader *reader, struct policy *policies, unsigned n, unsigned n_limiters);
void policies_check(
	struct reader *reader, const struct policy *policies, unsigned n, unsigned n_limiters);

/* Completes a policy's "schedule" except its zone; checks it; warns of it. */
void schedule_complete(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters);
void schedule_check(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters);
void schedule_warn(struct reader *reader, const struct json_path *path, const struct policy *policy,
	uint64_t frame, unsigned n_limiters);

/* Checks a limit of other times, at `path`, against the policy. */
void terms_check(struct reader *reader, const struct json_path *path, const struct policy *policy,
	const struct limit_terms *terms, unsigned n_limiters);

/* Completes the burst of such a limit: the policy's if its file has one (`named`). */
void terms_complete(
	const struct policy *policy, bool named, unsigned n_limiters, struct limit_terms *terms);

/* Completes a policy's "classes". */
void classes_complete(struct policy *policy);

/*
 * Complete the colours of a policy, after its burst; check them; and check the limit of another
 * time, at `path`, which `other` has.
 */
void colours_complete(struct policy *policy, unsigned n_limiters);
void colours_check(
	struct reader *reader, const struct json_path *path, const struct policy *policy);
void colours_check_terms(struct reader *reader, const struct json_path *path,
	const struct policy *policy, const struct policy *other);

/* Checks the window of a policy at its path, or of policy_trial() at the path of its trial. */
void policy_check_window(
	struct reader *reader, const struct json_path *path, const struct policy *policy);

/*
 * Complete and check the trial of a completed policy at `path`: a policy with the trial's keys in
 * place of its own. Do nothing without a trial.
 */
void trial_complete(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters);
void trial_check(struct reader *reader, const struct json_path *path, const struct policy *policy);

/* Finds the parents of completed policies, and rejects policies that cannot be parents. */
void parents_complete(struct reader *reader, struct policy *policies, unsigned n);

/* Check a policy against its level of a hierarchy; do nothing for policies in none. */
void level_check(struct reader *reader, const struct json_path *path, const struct policy *policies,
	unsigned index);
void level_warn(struct reader *reader, const struct json_path *path, const struct policy *policies,
	unsigned index);

/* For a policy with a hard limit, at `path`; do nothing for others. */
void guarantee_complete(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters);
void guarantee_check(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters);
void guarantee_check_parts(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters); /* at least one unit each */
void guarantee_warn(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters);

/* Checks gossip against such policies. */
void guarantee_check_gossip(struct reader *reader, const struct gossip_config *gossip,
	const struct policy *policies, unsigned n);

/*
 * Returns the default depth of a bucket: bytes, packets or flows. Warns of a bucket that is too
 * small for the largest frame, in bytes, or for TCP to reach the limit.
 */
uint64_t burst_default(const struct policy *policy, unsigned n_limiters);
void burst_warn(struct reader *reader, const struct json_path *path, const struct policy *policy,
	uint64_t frame, unsigned n_limiters);

/* Warns if fewer packets may wait than the queues of all policies have room for. */
void shape_warn(struct reader *reader, const struct config *config, const struct config *running);

/* Checks "fail" of wires. */
void fail_check(struct reader *reader, const struct config *config);

/* start_check.c */
void start_check(struct reader *reader, const struct config *config);

/* Completes and checks "ledger"; interval_ns: the shortest of a policy. */
void ledger_complete(struct ledger_config *ledger, const struct config *config);
void ledger_check(struct reader *reader, const struct config *config);
void ledger_warn(struct reader *reader, const struct config *config, uint64_t interval_ns);

/* Rejects two policies with the same match. */
void policies_check_matches(struct reader *reader, const struct policy *policies, unsigned n);

/* Warns of a match that a policy has twice. */
void policies_warn_matches(struct reader *reader, const struct policy *policies, unsigned n);

/*
 * Returns true if a window passes whole packets or flows. Always true for bytes or without a
 * window.
 */
bool policy_window_is_whole(const struct policy *policy);

/* limit_bps × window_ns of one unit. */
uint64_t policy_window_unit(const struct policy *policy);

/* Bytes, packets or flows that pass in a window. */
uint64_t policy_quota(const struct policy *policy);

/*
 * A field that must be unique in an array.
 * compare() returns 0 for equal elements; is_valid() returns false for elements with an error.
 */
struct unique {
	const struct json_path *array;
	const char *key;
	const char *what; /* the field in words, such as "name" */
	size_t size;      /* bytes of an element */
	bool by_name; /* members of an object: the place of an element is the name it begins with */
	bool (*is_valid)(const void *element);
	int (*compare)(const void *a, const void *b);
	/* Equal for equal elements; NULL for small arrays. */
	uint32_t (*hash)(const void *element);
};

/* Reports each of n elements that is equal to an earlier one. */
void check_unique(struct reader *reader, const struct unique *unique, const void *base, unsigned n);

/* For arrays of structs that begin with their name. */
bool name_is_valid(const void *element);
int name_compare(const void *a, const void *b);
uint32_t name_first_hash(const void *element);
int hash_compare(const void *a, const void *b); /* 0 for names with the same hash */

#define EXPECTED_ZONE "a time zone such as \"Europe/Berlin\" or \"UTC\""

/* Sets the zone of each schedule from tzdata, and reads each zone once; reports missing ones. */
void zones_complete(struct reader *reader, struct config *config);
void zones_free(struct config *config);

#endif
