/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The key table of a scenario.
 */
#ifndef WEIR_SIM_SCENARIO_KEYS_H
#define WEIR_SIM_SCENARIO_KEYS_H

#include "json/read.h"
#include "scenario.h"

/* Keys of a struct scenario. */
extern const struct key scenario_keys[];

/* Reads a network: keys that are missing keep their values. */
void read_network(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Reads a link between some limiters: keys that are missing keep their values. */
void read_pair(
	struct reader *reader, const struct json_path *path, json_t *value, struct network *link);

#define EXPECTED_BETWEEN "two arrays of limiters such as [[\"l1\"], [\"l2\", \"l3\"]]"

/* Sets the defaults. */
void scenario_init(struct reader *reader, struct scenario *scenario);

/* Returns true for numbers of the summary for which a scenario can have bounds. */
bool summary_has(const char *name);

/*
 * Returns true if the traffic of a policy is a ratio of its limit: it limits bytes, of all sources.
 */
bool summary_has_ratio(const struct policy *policy);
const char *summary_names(void);

#endif
