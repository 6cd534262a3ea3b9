/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: the key tables, and the defaults of their fields.
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
 * A row of a table of keys. Each argument is a column, so a row without one does not compile:
 *
 *	KEY(name, reader, effect of another value, field, default, meaning, words of other tools, …)
 *
 * The default of a key without one is REQUIRED. keys_preset() stores the value of DEFAULT().
 * UNSET() describes a default that depends on other keys, or that no field stores. CALLED() is the
 * same for a reader that is called without a value too.
 *
 * tools/keys generates config/weir.schema.json and the tables of doc/operate/configuration.md.
 */
#define KEY(name_, read_, change_, field_, unset_, help_, also_, ...)                          \
	{                                                                                      \
		.name = name_, .read = read_, .change = change_, .help = help_, .also = also_, \
		field_, unset_, ##__VA_ARGS__                                                  \
	}
#define REQUIRED      .required = true
#define DEFAULT(json) .preset = json
#define UNSET(words)  .usual = words
#define CALLED(words) .required = true, .usual = words
#define NO_FIELD      .offset = 0

/*
 * Column `relations` of a row: the other keys of the object that the key requires or excludes. The
 * check of a configuration, the schema and the manual use it. Relations of other forms are checks
 * in *_check.c.
 *
 *	RELATIONS({NEEDS_VALUE("action", "mark")}, {EXCLUDES("per", REMOVE_ONE)})
 *
 * The METER forms mean every meter with one of the abilities. The remedy completes the message
 * about an excluded key.
 */
#define RELATIONS(...)                             \
	.relations = (const struct key_relation[]) \
	{                                          \
		__VA_ARGS__,                       \
		{                                  \
			.key = NULL                \
		}                                  \
	}
#define VALUES_OF(...)                  \
	.values = (const char *const[]) \
	{                               \
		__VA_ARGS__, NULL       \
	}
#define NEEDS(key_)                        .key = (key_)
#define NEEDS_EITHER(key_, or_)            .key = (key_), .or_key = (or_)
#define NEEDS_VALUE(key_, ...)             .key = (key_), VALUES_OF(__VA_ARGS__)
#define NEEDS_METER(abilities)             .key = "meter", .traits = (abilities)
#define EXCLUDES(key_, remedy_)            .key = (key_), .excluded = true, .remedy = (remedy_)
#define EXCLUDES_VALUE(remedy_, key_, ...) EXCLUDES(key_, remedy_), VALUES_OF(__VA_ARGS__)
#define EXCLUDES_METER(remedy_, abilities) EXCLUDES("meter", remedy_), .traits = (abilities)

/*
 * Effect of another value at a reload: struct key's `change` (compare.h). Each row has one, except
 * an object, whose own rows have it. Keys of a policy have values of enum policy_change.
 */
enum key_change {
	KEY_PART = 0, /* a row of the object's rows, or of the key that holds the object, decides */
	KEY_FIXED = 16, /* rejected: only a restart changes it */
	KEY_LIVE = 32,  /* in force when the reload ends */
	KEY_KIND = 48,  /* KEY_LIVE if `same` is true, which compares kinds; otherwise rejected */
	KEY_ELEMENTS = 64, /* a list of a fixed length, compared by element */
};

/* Keys of a struct config, and the words of their values. */
extern const struct key config_keys[];
extern const struct vocabulary config_vocabulary;

/* Ports by name and wires (port_keys.c). */
extern const struct key port_keys[];
extern const struct list port_list, wire_list;
void read_port_configs(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Keys of a struct gossip_config (gossip_keys.c). */
extern const struct key gossip_keys[];

/* Choices of "estimator" in a simulated group. */
extern const struct choice simulated_estimators[];

/* Keys of a struct policy. */
extern const struct key policy_keys[];
extern const struct key trial_keys[];
void policy_init(void *policy); /* values without a key */

/*
 * Keys of a struct ledger_config. Edges name limiters of "gossip", which is looked up in the
 * document.
 */
extern const struct key ledger_keys[];

/*
 * Keys of a policy with a hard limit (guarantee_keys.c). read_total() is also called for a missing
 * total.
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

/* Keys of "classes" and their reader (class_keys.c). */
extern const struct key class_keys[];
void read_classes(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* "colours" of a policy; and its "peak", or "excess" (colour_keys.c). */
extern const struct key colour_keys[];
extern const struct key rated_keys[];
extern const struct key spilt_keys[];
void colours_config_init(struct colours_config *colours_config);
void read_second(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Keys of a policy's "schedule" and their reader (schedule_keys.c). */
extern const struct key schedule_keys[];
void read_schedule(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* A limit and a burst, in the unit that the policy counts (policy_keys.c). */
void read_limit(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);
void read_policy_burst(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* The name of a policy's parent (parent_check.c), and the guaranteed rate (limit_keys.c). */
void read_parent(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);
void read_guaranteed(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Keys of a wire's "default" and their reader (otherwise_keys.c). */
extern const struct key otherwise_keys[];
void read_otherwise(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Keys of a policy's "match" and their reader (match_keys.c). */
extern const struct key match_keys[];
void read_matches(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Keys of a policy whose sources are assigned to workers (place_keys.c). */
extern const struct key place_keys[];

/* Keys that require or exclude other keys of their object, by the rows of their tables. */

#define RELATION_WORDS_MOST 16 /* values of a relation */

/*
 * Reports each key of the object at the path whose row has a relation that does not hold. Reports
 * only the first one of a key. Continues in objects of read_object(). `base` is the struct that the
 * object was read into, after its defaults were filled in.
 */
void keys_check(struct reader *reader, const struct json_path *path, const struct key *keys,
	const void *base);

/*
 * Stores the values of the other key that the relation names. Returns their number. Leaves out
 * values that do not fit other keys in `base`, unless none is left; base NULL: stores all.
 */
unsigned relation_words(const struct key_relation *relation, const struct key *other,
	const void *base, const char *words[RELATION_WORDS_MOST]);

#endif
