/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of a policy and its match. doc/configuration.md and config/weir.schema.json say the same
 * for people and for editors.
 */
#include <errno.h>
#include <string.h>

#include "allocate/allocate.h"
#include "policy/check.h"
#include "policy/keys.h"
#include "policy/units.h"
#include "policy/value.h"

#define EXPECTED_PREFIX "a prefix such as \"192.0.2.0/24\" or \"2001:db8::/32\""
#define EXPECTED_SIZE   "bytes such as \"75kB\" or \"64KiB\""
#define EXPECTED_TIME   "a time such as \"50ms\""

static void read_wire_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	json_t *wires = json_object_get(reader->root, "wires"), *wire;
	const char *text = json_string_value(value), *name;
	size_t i;

	json_array_foreach (wires, i, wire) {
		name = json_string_value(json_object_get(wire, "name"));
		if (text != NULL && name != NULL && strcmp(text, name) == 0) {
			key_store(key, base, i);
			return;
		}
	}
	reader_expected(reader, path, "the name of a wire in \"wires\"");
}

static const struct choice directions[] = {
	{"a-to-b", DIRECTION_A_TO_B},
	{"b-to-a", DIRECTION_B_TO_A},
	{0},
};

static void read_prefix(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct prefix prefix = {0};
	int rc = json_is_string(value) ? prefix_parse(json_string_value(value), &prefix) : -EINVAL;
	char text[PREFIX_TEXT_MAX];

	if (rc == -EDOM)
		reader_expected(reader, path, "no host bits, as in \"%s\"",
			prefix_format(&prefix, text, sizeof(text)));
	else if (rc < 0)
		reader_expected(reader, path, EXPECTED_PREFIX);
	else
		memcpy(key_field(key, base), &prefix, sizeof(prefix));
}

static const struct key match_keys[] = {
	{"wire", read_wire_name, KEY_FIELD(struct match, wire)},
	{"direction", read_choice, KEY_FIELD(struct match, direction), .detail = directions},
	{"src", read_prefix, KEY_FIELD(struct match, src)},
	{"dst", read_prefix, KEY_FIELD(struct match, dst)},
	{"vlan", read_integer, KEY_FIELD(struct match, vlan),
		.detail = &(const struct range){0, 4094}},
	{"dscp", read_integer, KEY_FIELD(struct match, dscp),
		.detail = &(const struct range){0, 63}},
	{0},
};

/* Is called without a match too, so that what no policy was read into stays WIRE_REFUSED. */
static void read_match(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct match *match = key_field(key, base);
	unsigned errors = reader->errors;

	match->wire = CONFIG_ANY;
	if (value == NULL)
		return;
	read_keys(reader, path, value, match_keys, match);
	if (match->src.family != 0 && match->dst.family != 0 &&
		match->src.family != match->dst.family) {
		struct json_path dst = {.parent = path, .key = "dst"};

		reader_expected(reader, &dst, "IPv%u as in src", match->src.family);
	}
	if (reader->errors != errors)
		match->wire = WIRE_REFUSED;
}

static void read_allocator(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	const struct allocator *allocator = text != NULL ? allocator_find(text) : NULL;

	if (allocator == NULL)
		reader_expected(reader, path, "one of %s", allocator_names());
	else
		memcpy(key_field(key, base), &allocator, sizeof(allocator));
}

static const struct choice meters[] = {
	{"token-bucket", METER_TOKEN_BUCKET},
	{0},
};

static const struct choice actions[] = {
	{"drop", ACTION_DROP},
	{0},
};

static const struct choice accountings[] = {
	{"l3", ACCOUNTING_L3},
	{"l2", ACCOUNTING_L2},
	{"wire", ACCOUNTING_WIRE},
	{0},
};

const struct key policy_keys[] = {
	{"name", read_name, KEY_FIELD(struct policy, name), .required = true},
	{"match", read_match, KEY_FIELD(struct policy, match), .required = true},
	{"limit", read_quantity, KEY_FIELD(struct policy, limit_bps),
		.expected = "bit/s such as \"10Mbit/s\"",
		.detail = &(const struct quantity_range){units_parse_rate, 8000, 400000000000,
			"8kbit/s to 400Gbit/s", "bit/s"},
		.required = true},
	{"burst", read_quantity, KEY_FIELD(struct policy, burst_bytes), .expected = EXPECTED_SIZE,
		.detail = &(const struct quantity_range){units_parse_size, 1, CONFIG_BURST_MAX,
			"1B to 4GiB", "B"}},
	{"allocator", read_allocator, KEY_FIELD(struct policy, allocator)},
	{"meter", read_choice, KEY_FIELD(struct policy, meter), .detail = meters},
	{"action", read_choice, KEY_FIELD(struct policy, action), .detail = actions},
	{"accounting", read_choice, KEY_FIELD(struct policy, accounting), .detail = accountings},
	{"interval", read_quantity, KEY_FIELD(struct policy, interval_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 10000000, 1000000000,
			"10ms to 1s", "ns"}},
	/* A share that is still kept: 1 would never learn anything. */
	{"ewma", read_real, KEY_FIELD(struct policy, keep_per_second),
		.detail = &(const struct real_range){0, 1, .below = true}},
	{0},
};

void policy_init(void *element)
{
	*(struct policy *)element = (struct policy){
		.match = {.wire = WIRE_REFUSED, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY},
		.accounting = ACCOUNTING_L3,
		.interval_ns = 50 * 1000 * 1000,
		.keep_per_second = 0.1,
	};
}
