/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: the key tables, and the defaults of what they fill.
 */
#ifndef WEIR_CONFIG_KEYS_H
#define WEIR_CONFIG_KEYS_H

#include "policy/config.h"
#include "policy/diff.h"
#include "config/value_keys.h"
#include "json/read.h"

#define EXPECTED_SIZE "bytes such as \"75kB\" or \"64KiB\""
#define EXPECTED_TIME "a time such as \"50ms\""

/*
 * Effect of another value at a reload: struct key's `change` (compare.h). Each row has one, except
 * an object, whose own rows have it. Keys of a policy have values of enum policy_change.
 */
enum key_change {
	KEY_FIXED = 16,    /* refused: only a restart changes it */
	KEY_LIVE = 32,     /* in force when the reload ends */
	KEY_ELEMENTS = 64, /* a list whose elements are compared in their order */
};

/* Keys of a struct config. */
extern const struct key config_keys[];

/* Keys of a struct gossip_config: all, and those that do not need a network to mean something. */
extern const struct key gossip_keys[];
extern const struct key *const gossip_tuning_keys;

/* Choices of "estimator" in a simulated group. */
extern const struct choice simulated_estimators[];
void gossip_config_init(struct gossip_config *gossip);

/* Keys of a struct policy. */
extern const struct key policy_keys[];
void policy_init(void *policy);

/*
 * Keys of a struct ledger_config. Edges name limiters of "gossip", which is looked up in the
 * document.
 */
extern const struct key ledger_keys[];
void ledger_config_init(struct ledger_config *ledger);

/*
 * Keys of a policy that is never exceeded (guarantee_keys.c). read_total() wants to hear of a total
 * that is missing too.
 */
extern const struct choice guarantees[];
void read_indicator(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);
void read_total(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);
void read_period(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Keys of a policy whose packets wait, and of the limiter (shape_keys.c). */
extern const struct key shape_keys[];
extern const struct key slo_keys[];
extern const struct key box_shape_keys[];
void shape_config_init(struct shape_config *shape);

/* Reads a policy's "classes" (class_keys.c). */
void read_classes(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* "colours" of a policy; and its "peak", or "excess" (colour_keys.c). */
extern const struct key colour_keys[];
extern const struct key spilt_keys[];
void colours_config_init(struct colours_config *colours_config);
void read_second(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Reads a policy's "schedule" (schedule_keys.c). */
void read_schedule(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* A limit and a burst, by what the policy counts (policy_keys.c). */
void read_limit(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);
void read_policy_burst(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* The name of a policy's parent (parent_check.c), and what it is guaranteed (limit_keys.c). */
void read_parent(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);
void read_guaranteed(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Reads a wire's "default" (otherwise_keys.c). */
void read_otherwise(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Reads a policy's "match" (match_keys.c). */
void read_matches(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Keys of a policy whose sources are given to workers (place_keys.c). */
extern const struct key place_keys[];
void place_config_init(struct place_config *place);

#endif
