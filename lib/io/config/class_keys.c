/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "classes": the flows or DSCPs that share a limit with the meter "phantom".
 */
#include <string.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "json/vocabulary.h"

#define CLASSES_DEFAULT 64

static const struct choice bys[] = {
	{"flow", CLASSES_BY_FLOW},
	{"dscp", CLASSES_BY_DSCP},
	{0},
};

static void read_number(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < PHANTOM_CLASSES_MIN || n > PHANTOM_CLASSES_MAX ||
		(n & (n - 1)) != 0)
		reader_report(reader, path, MESSAGE(CLASSES_NUMBER), PHANTOM_CLASSES_MIN,
			PHANTOM_CLASSES_MAX);
	else
		key_store(key, base, (uint64_t)n);
}

static void read_weights(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	uint8_t *weights = key_field(key, base);
	const char *name;
	json_t *member;

	if (!json_is_object(value)) {
		reader_report(reader, path, MESSAGE(WEIGHTS_TYPE));
		return;
	}
	json_object_foreach (value, name, member) {
		struct json_path at = {.parent = path, .key = name};
		json_int_t weight = json_integer_value(member);
		int dscp = dscp_of_key(name);

		if (key_is_remark(name))
			read_remark(reader, &at, member);
		else if (dscp < 0)
			reader_report(reader, &at, MESSAGE(NOT_DSCP_KEY));
		else if (weights[dscp] != 0)
			reader_report(reader, &at, MESSAGE(WEIGHT_TWICE));
		else if (weight < 1 || weight > PHANTOM_WEIGHT_MAX)
			reader_report(reader, &at, MESSAGE(WEIGHT_RANGE), PHANTOM_WEIGHT_MAX);
		else
			weights[dscp] = (uint8_t)weight;
	}
}

static const struct vocabulary_entry by_values[] = {
	{"flow", "tuple 5tuple fivetuple connection"},
	{"dscp", "tos class diffserv"},
	{0},
};

const struct key class_keys[] = {
	KEY("by", read_marked_choice, KEY_PART, KEY_FIELD(struct classes_config, by), REQUIRED,
		"the class of a packet: its flow (addresses, protocol and ports), or its DSCP",
		"key type hash classifier mode", .detail = bys, .value_words = by_values),
	KEY("n", read_number, KEY_PART, KEY_FIELD(struct classes_config, n), UNSET("64"),
		"recently active flows that are distinguished at a time; more flows share classes",
		"count number queues buckets size flows", .form = "power-of-two",
		RELATIONS({NEEDS_VALUE("by", "flow")})),
	KEY("weights", read_weights, KEY_PART, KEY_FIELD(struct classes_config, weights),
		UNSET("1 each"), "a class of weight 4 gets four times the part of one of weight 1",
		"shares quantum priorities ratios dscp", .form = "weights",
		RELATIONS({NEEDS_VALUE("by", "dscp")})),
	{0},
};

void read_classes(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct classes_config *classes = key_field(key, base);

	read_keys(reader, path, value, class_keys, classes);
	keys_check(reader, path, class_keys, classes);
}

void classes_complete(struct policy *policy)
{
	struct classes_config *classes = &policy->classes;

	if (!meter_can(policy->meter, METER_CLASSES))
		return;
	if (classes->by == CLASSES_BY_DSCP)
		classes->n = PHANTOM_DSCPS;
	else if (classes->n == 0)
		classes->n = CLASSES_DEFAULT;
	for (unsigned i = 0; i < PHANTOM_DSCPS; i++) {
		if (classes->weights[i] == 0)
			classes->weights[i] = 1;
	}
}
