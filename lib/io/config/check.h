/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: what no key can decide by itself. Values that were refused before are
 * marked (empty name, zero length, the constants below) and not complained about twice.
 */
#ifndef WEIR_CONFIG_CHECK_H
#define WEIR_CONFIG_CHECK_H

#include <limits.h>

#include "config/value_keys.h"
#include "policy/config.h"
#include "json/read.h"

#define WIRE_REFUSED (-2)     /* match.wire of a match with an error anywhere in it */
#define PORT_REFUSED UINT_MAX /* wire.a and wire.b */

#define PARENT_NAMED   (-2) /* policy.parent before policies_complete() */
#define PARENT_REFUSED (-3) /* and after it, of one that cannot be */

#define METER_DEFAULT METER_KINDS /* policy.meter before policies_complete(): what is usual */

/* Bytes: the names of all, quoted. */
#define METER_ROOM(constant, member, prefix, state, profile, set, name, ...) \
	sizeof(name) + sizeof(" or ") +
enum { METERS_TEXT_MAX = METERS_TO_CHOOSE(METER_ROOM, METER_ROOM) 1 };
#undef METER_ROOM

/*
 * Those that can be chosen with any of these abilities, and none of the others, `"a", "b" or "c"`:
 * in `text`, which it returns. None of 0.
 */
const char *meters_that_but(unsigned abilities, unsigned without, char text[METERS_TEXT_MAX]);

static inline const char *meters_that(unsigned abilities, char text[METERS_TEXT_MAX])
{
	return meters_that_but(abilities, 0, text);
}

/* Whether its meter has any of these abilities, or was refused, so that it may have had. */
static inline bool meter_may(const struct policy *policy, unsigned abilities)
{
	return policy->meter == CHOICE_REFUSED || meter_can(policy->meter, abilities);
}

/* "default" of wires: gives policies what nobody else takes; warns of one that nothing comes to. */
void otherwise_complete(struct reader *reader, struct config *config);
void otherwise_warn(struct reader *reader, const struct config *config);

/* Fills in the defaults that depend on other keys. */
void config_complete(struct reader *reader, struct config *config);

/* Reports what does not fit together. */
void config_check(struct reader *reader, const struct config *config);

/*
 * Warns of what fits but is hardly meant. Only for a configuration without errors. `running`: see
 * config_load_beside(); or NULL.
 */
void config_warn(struct reader *reader, const struct config *config, const struct config *running);

/* Completes and checks gossip, and policies, that a group of n_limiters shares. */
void gossip_complete(const struct reader *reader, struct gossip_config *gossip);
void gossip_check(struct reader *reader, const struct gossip_config *gossip);
void policies_complete(
	struct reader *reader, struct policy *policies, unsigned n, unsigned n_limiters);
void policies_check(
	struct reader *reader, const struct policy *policies, unsigned n, unsigned n_limiters);

/* What a policy's "schedule" leaves open, its zone aside; checks of it; and warnings. */
void schedule_complete(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters);
void schedule_check(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters);
void schedule_warn(struct reader *reader, const struct json_path *path, const struct policy *policy,
	uint64_t frame, unsigned n_limiters);

/* A limit that the policy may have at other times, at `path`: whether it goes with the rest. */
void terms_check(struct reader *reader, const struct json_path *path, const struct policy *policy,
	const struct limit_terms *terms, unsigned n_limiters);

/* Its burst, which is the policy's if that was named in its file. */
void terms_complete(
	const struct policy *policy, bool named, unsigned n_limiters, struct limit_terms *terms);

/* What a policy's "classes" leave open. */
void classes_complete(struct policy *policy);

/*
 * Colours: what they leave open of a policy whose burst is known; what of them does not fit; and
 * another limit for a time, at `path`, that `other` has.
 */
void colours_complete(struct policy *policy, unsigned n_limiters);
void colours_check(
	struct reader *reader, const struct json_path *path, const struct policy *policy);
void colours_check_terms(struct reader *reader, const struct json_path *path,
	const struct policy *policy, const struct policy *other);

/*
 * That no key is there which the meter has no use for; and that its window is one. At the path of
 * the policy, or of its trial, of which it is policy_trial().
 */
void policy_check_metered(
	struct reader *reader, const struct json_path *path, const struct policy *policy);
void policy_check_window(
	struct reader *reader, const struct json_path *path, const struct policy *policy);

/*
 * The trial of a policy at `path`, which is complete itself: as if its keys were written in place
 * of the policy's. Others have nothing to check.
 */
void trial_complete(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters);
void trial_check(struct reader *reader, const struct json_path *path, const struct policy *policy);

/* Finds the parents of policies that are complete else, and refuses those that cannot be one. */
void parents_complete(struct reader *reader, struct policy *policies, unsigned n);

/* Whether a policy goes with its place in a hierarchy; others have nothing to check. */
void level_check(struct reader *reader, const struct json_path *path, const struct policy *policies,
	unsigned index);
void level_warn(struct reader *reader, const struct json_path *path, const struct policy *policies,
	unsigned index);

/* For a policy that is never exceeded, at `path`; others have nothing to check. */
void guarantee_complete(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters);
void guarantee_check(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters);
void guarantee_check_parts(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters); /* each has at least one */
void guarantee_warn(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters);

/* What such policies need of gossip. */
void guarantee_check_gossip(struct reader *reader, const struct gossip_config *gossip,
	const struct policy *policies, unsigned n);

/*
 * How deep a bucket is where nothing is said: bytes, or packets or flows. And a warning of one that
 * is too small for the largest frame, in bytes, or for TCP to reach the limit.
 */
uint64_t burst_default(const struct policy *policy, unsigned n_limiters);
void burst_warn(struct reader *reader, const struct json_path *path, const struct policy *policy,
	uint64_t frame, unsigned n_limiters);

/* Checks one policy whose packets wait; and all of them. */
void shape_check(struct reader *reader, const struct json_path *path, const struct policy *policy);
void place_check(struct reader *reader, const struct json_path *path);
void shape_warn(struct reader *reader, const struct config *config, const struct config *running);

/* What a wire needs that outlives its process. */
void fail_check(struct reader *reader, const struct config *config);

/* Completes and checks "ledger"; interval_ns: the shortest of a policy. */
void ledger_complete(struct ledger_config *ledger, const struct config *config);
void ledger_check(struct reader *reader, const struct config *config);
void ledger_warn(struct reader *reader, const struct config *config, uint64_t interval_ns);

/* That no packet could belong to two policies. */
void policies_check_matches(struct reader *reader, const struct policy *policies, unsigned n);

/* A match that a policy has twice. */
void policies_warn_matches(struct reader *reader, const struct policy *policies, unsigned n);

/* Whether whole packets or flows pass in a window; of bytes, or without a window, always. */
bool policy_window_is_whole(const struct policy *policy);

/* limit_bps × window_ns of one unit. */
uint64_t policy_window_unit(const struct policy *policy);

/* bytes, packets or flows that pass in a window. */
uint64_t policy_quota(const struct policy *policy);

#endif
