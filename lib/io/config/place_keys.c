/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "place": the placement of the sources of a policy on workers. Its keys, checks and description.
 */
#include <errno.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "base/time.h"
#include "config/describe.h"
#include "config/keys.h"
#include "policy/kind.h"
#include "policy/matches.h"
#include "policy/units.h"
#include "policy/value.h"

/*
 * Reads "src/24": hosts of such an IPv4 prefix, and of one IPv6 subnet; or "src/56": of an IPv6
 * prefix.
 */
static void read_place_key(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct place_key *place_key = key_field(key, base);
	const char *text = json_string_value(value);
	unsigned bits;

	if (text == NULL || source_parse(text, &bits) < 0 || bits == 0) {
		reader_report(reader, path, MESSAGE(PLACE_SOURCE), SOURCE_V6_BITS);
		return;
	}
	if (bits <= SOURCE_V4_BITS)
		*place_key = (struct place_key){(uint8_t)bits, SOURCE_V6_SUBNET};
	else
		*place_key = (struct place_key){SOURCE_V4_BITS, (uint8_t)bits};
}

const struct key place_keys[] = {
	KEY("key", read_place_key, POLICY_TERMS, KEY_FIELD(struct policy, place.key),
		UNSET("each source alone"),
		"sources of one prefix send at the same time, so each worker gets a part of them. "
		"N as below",
		"mask prefix groupby hash", .form = "source-prefix"),
	KEY("round", read_quantity, POLICY_TERMS, KEY_FIELD(struct policy, place.round_ns),
		DEFAULT("\"1s\""),
		"time between two evaluations of the last decision. Until 1000 packets have "
		"arrived, up to ten times that",
		"interval period every rebalance", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 100 * MS_NS,
			60 * SECOND_NS, "100ms to 60s", "ns"}),
	KEY("concentrate", read_bool, POLICY_TERMS, KEY_FIELD(struct policy, place.concentrate),
		DEFAULT("true"),
		"true: the fewest workers that keep the objective. False: always all workers",
		"pack consolidate fewest binpack"),
	KEY("max-min", read_bool, POLICY_TERMS, KEY_FIELD(struct policy, place.max_min),
		DEFAULT("true"),
		"true: the smallest part of a worker is as large as possible. False: all workers "
		"have equal total loads",
		"fair fairness maxminfair"),
	KEY("correlate", read_bool, POLICY_TERMS, KEY_FIELD(struct policy, place.correlate),
		DEFAULT("true"),
		"true: sources of one `key` go to different workers. False: to random ones",
		"antiaffinity burstcorrelation spread"),
	{0},
};

/* Returns true if the policy's packets can arrive on a wire with "distribute". */
static bool is_distributed(const struct config *config, const struct policy *policy)
{
	for (unsigned i = 0; i < config->n_wires; i++)
		if (config->wires[i].distribute && policy_may_use(policy, i))
			return config->n_workers > 1;
	return false;
}

void describe_place(const struct config *config, const struct policy *policy, FILE *out)
{
	const struct place_config *place = &policy->place;
	char text[UNITS_TEXT_MAX];

	if (!policy_is_placed(policy) || !is_distributed(config, policy))
		return;
	fprintf(out, "  its sources are given to %s workers, reviewed every %s",
		place->concentrate ? "the fewest" : "all",
		units_format_time(place->round_ns, text, sizeof(text)));
	if (place->correlate && place->key.v4 < SOURCE_V4_BITS)
		fprintf(out, "; sources of one /%u (IPv6: /%u) to different ones", place->key.v4,
			place->key.v6);
	else if (place->correlate && place->key.v6 < SOURCE_V6_BITS)
		fprintf(out, "; sources of one /%u to different ones", place->key.v6);
	fputc('\n', out);
}
