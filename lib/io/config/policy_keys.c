/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of a policy and its match. doc/operate/configuration.md and config/weir.schema.json say
 * the same for people and for editors.
 */
#include <errno.h>
#include <string.h>

#include "allocate/allocate.h"
#include "base/time.h"
#include "config/check.h"
#include "config/keys.h"
#include "config/value_keys.h"
#include "json/suggest.h"
#include "policy/kind.h"
#include "policy/units.h"
#include "policy/value.h"

#define EXPECTED_PORTS "a port such as 443, or a range such as \"1024-2047\""

static void read_wire_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	json_t *wires = json_object_get(reader->root, "wires"), *wire;
	const char *text = json_string_value(value), *name;
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion meant = {0};
	size_t i;

	json_array_foreach (wires, i, wire) {
		name = json_string_value(json_object_get(wire, "name"));
		if (text == NULL || name == NULL)
			continue;
		if (strcmp(text, name) == 0) {
			key_store(key, base, i);
			return;
		}
		suggest_offer(&meant, text, name);
	}
	reader_advise(reader, path, suggest_remedy(meant.word, remedy),
		"the name of a wire in \"wires\"");
}

static const struct choice directions[] = {
	{"a-to-b", DIRECTION_A_TO_B},
	{"b-to-a", DIRECTION_B_TO_A},
	{0},
};

static void expect_proto(struct reader *reader, const struct json_path *path, const char *text)
{
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion meant = {0};

	for (unsigned proto = 1; proto <= UINT8_MAX && text != NULL; proto++)
		if (proto_name((uint8_t)proto) != NULL)
			suggest_offer(&meant, text, proto_name((uint8_t)proto));
	reader_advise(reader, path, suggest_remedy(meant.word, remedy),
		"a protocol such as \"tcp\" or \"udp\", or its number from 1 to %u", UINT8_MAX);
}

/* 0 is no protocol to limit: it also stands for one that lies beyond the bytes looked at. */
static void read_proto(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	json_int_t number = text != NULL ? proto_number(text) : json_integer_value(value);

	if (number >= 1 && number <= UINT8_MAX)
		key_store(key, base, (uint64_t)number);
	else
		expect_proto(reader, path, text);
}

/* The range that falls, the other way round. */
static const char *turned_remedy(const char *text, char remedy[SUGGEST_REMEDY_MAX])
{
	const char *dash = text != NULL ? strchr(text, '-') : NULL;
	struct port_range range;
	char turned[PORTS_TEXT_MAX];

	if (dash == NULL ||
		(size_t)snprintf(turned, sizeof(turned), "%s-%.*s", dash + 1, (int)(dash - text),
			text) >= sizeof(turned) ||
		port_range_parse(turned, &range) < 0)
		return NULL;
	return suggest_remedy(turned, remedy);
}

static void read_port_range(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	json_int_t number = json_integer_value(value);
	struct port_range range = {(uint16_t)number, (uint16_t)number};
	bool good = number >= 1 && number <= UINT16_MAX;
	char remedy[SUGGEST_REMEDY_MAX];

	if (text != NULL)
		good = port_range_parse(text, &range) == 0;
	if (good)
		memcpy(key_field(key, base), &range, sizeof(range));
	else
		reader_advise(reader, path, turned_remedy(text, remedy), EXPECTED_PORTS);
}

static void read_dscp(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	int dscp = dscp_of_value(value);

	if (dscp < 0)
		reader_expected(reader, path,
			"a DSCP from 0 to %d, or its name such as \"ef\", \"af41\" or \"cs5\"",
			DSCP_MAX);
	else
		key_store(key, base, (uint64_t)dscp);
}

static const struct key match_keys[] = {
	{"wire", read_wire_name, KEY_FIELD(struct match, wire)},
	{"direction", read_choice, KEY_FIELD(struct match, direction), .detail = directions},
	{"src", read_ip_prefix, KEY_FIELD(struct match, src)},
	{"dst", read_ip_prefix, KEY_FIELD(struct match, dst)},
	{"vlan", read_integer, KEY_FIELD(struct match, vlan),
		.detail = &(const struct integer_range){0, 4094}},
	{"dscp", read_dscp, KEY_FIELD(struct match, dscp)},
	{"proto", read_proto, KEY_FIELD(struct match, proto)},
	{"src-port", read_port_range, KEY_FIELD(struct match, src_port)},
	{"dst-port", read_port_range, KEY_FIELD(struct match, dst_port)},
	{0},
};

static void check_match_families(
	struct reader *reader, const struct json_path *path, const struct match *match)
{
	struct json_path dst = {.parent = path, .key = "dst"};

	if (match->src.family != 0 && match->dst.family != 0 &&
		match->src.family != match->dst.family)
		reader_expected(reader, &dst, "IPv%u as in src", match->src.family);
}

static void check_match_ports(struct reader *reader, const struct json_path *path,
	const struct match *match, const char *name)
{
	struct json_path at = {.parent = path, .key = name};

	if (match->proto != 0 && !proto_has_ports(match->proto) && reader_has(reader, path, name))
		reader_expected(reader, &at, "none unless \"proto\" has ports, as \"tcp\" does");
}

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
	check_match_families(reader, path, match);
	check_match_ports(reader, path, match, "src-port");
	check_match_ports(reader, path, match, "dst-port");
	if (reader->errors != errors)
		match->wire = WIRE_REFUSED;
}

static void read_allocator(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	const struct allocator *allocator = text != NULL ? allocator_find(text) : NULL;
	char word[SUGGEST_WORD_MAX], remedy[SUGGEST_REMEDY_MAX];

	if (allocator == NULL)
		reader_advise(reader, path,
			suggest_remedy(
				suggest_of_list(allocator_names(), text ? text : "", word), remedy),
			"one of %s", allocator_names());
	else
		memcpy(key_field(key, base), &allocator, sizeof(allocator));
}

static const struct choice counts[] = {
	{"bytes", COUNT_BYTES},
	{"packets", COUNT_PACKETS},
	{"flows", COUNT_FLOWS},
	{0},
};

static const struct quantity_range window_range = {
	units_parse_time, 10 * MS_NS, 24 * 3600 * SECOND_NS, "10ms to 24h", "ns"};

#define METER_CHOICE(constant, member, prefix, state, profile, set, name, ...) \
	{name, METER_##constant},
static const struct choice meters[] = {METERS_TO_CHOOSE(METER_CHOICE, METER_CHOICE){0}};
#undef METER_CHOICE

/*
 * "src", "src/24": bits of an IPv4 address, and of IPv6 one subnet; "src/56": of an IPv6 address.
 */
static void read_per(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	struct policy *policy = base;
	unsigned bits;
	int rc = text != NULL ? source_parse(text, &bits) : -EINVAL;

	(void)key;
	policy->per_v4 = SOURCE_V4_BITS;
	policy->per_v6 = SOURCE_V6_BITS;
	if (rc < 0)
		reader_expected(reader, path, "\"src\", or \"src/N\" with N from 1 to %u bits",
			SOURCE_V6_BITS);
	else if (bits > SOURCE_V4_BITS)
		policy->per_v6 = (uint8_t)bits;
	else if (bits > 0) {
		policy->per_v4 = (uint8_t)bits;
		policy->per_v6 = SOURCE_V6_SUBNET;
	}
}

static const struct choice weighs[] = {
	{"all", false},
	{"tcp", true},
	{0},
};

static const struct choice actions[] = {
	{"drop", ACTION_DROP},
	{"mark", ACTION_MARK},
	{"count", ACTION_COUNT},
	{"shape", ACTION_SHAPE},
	{0},
};

/* What a trial has in place of the policy's own: read as a policy that counts the same. */
static const struct key trial_keys[] = {
	{"limit", read_limit, KEY_FIELD(struct policy, limit_bps)},
	{"burst", read_policy_burst, KEY_FIELD(struct policy, burst_bytes)},
	{"meter", read_marked_choice, KEY_FIELD(struct policy, meter), .detail = meters},
	{"window", read_quantity, KEY_FIELD(struct policy, window_ns), .expected = EXPECTED_TIME,
		.detail = &window_range},
	{"classes", read_classes, KEY_FIELD(struct policy, classes)},
	{0},
};

static bool has_any_key(const json_t *object, const struct key *keys)
{
	for (const struct key *key = keys; key->name != NULL; key++)
		if (json_object_get(object, key->name) != NULL)
			return true;
	return false;
}

static void read_trial(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct policy *policy = base, tried = {.count = policy->count, .meter = METER_DEFAULT};
	unsigned errors = reader->errors;

	(void)key;
	read_keys(reader, path, value, trial_keys, &tried);
	if (reader->errors == errors && !has_any_key(value, trial_keys))
		reader_expected(reader, path,
			"at least one of \"limit\", \"burst\", \"meter\", \"window\" and "
			"\"classes\"");
	policy->trial = (struct trial_config){
		.set = json_is_object(value),
		.meter = tried.meter,
		.limit_bps = tried.limit_bps,
		.limit_s = tried.limit_s,
		.burst_bytes = tried.burst_bytes,
		.window_ns = tried.window_ns,
		.classes = tried.classes,
	};
}

static const struct choice accountings[] = {
	{"l3", ACCOUNTING_L3},
	{"l2", ACCOUNTING_L2},
	{"wire", ACCOUNTING_WIRE},
	{0},
};

const struct key policy_keys[] = {
	{"name", read_name, KEY_FIELD(struct policy, name), .required = true},
	{"match", read_match, KEY_FIELD(struct policy, match), .required = true},
	{"count", read_marked_choice, KEY_FIELD(struct policy, count), .detail = counts},
	{"allocator", read_allocator, KEY_FIELD(struct policy, allocator)},
	{"limit", read_limit, KEY_FIELD(struct policy, limit_bps), .required = true},
	{"parent", read_parent, KEY_FIELD(struct policy, parent)},
	{"weight", read_integer, KEY_FIELD(struct policy, weight),
		.detail = &(const struct integer_range){1, POLICY_WEIGHT_MOST}},
	{"guaranteed", read_guaranteed, KEY_FIELD(struct policy, guaranteed_bps)},
	{"total", read_total, KEY_FIELD(struct policy, total), .required = true},
	{"period", read_period, KEY_FIELD(struct policy, period)},
	{"guarantee", read_marked_choice, KEY_FIELD(struct policy, guarantee),
		.detail = guarantees},
	{"indicator", read_indicator, KEY_FIELD(struct policy, indicator)},
	{"eta", read_real, KEY_FIELD(struct policy, eta),
		.detail = &(const struct real_range){0, 1e12, .below = false}},
	{"meter", read_marked_choice, KEY_FIELD(struct policy, meter), .detail = meters},
	{"classes", read_classes, KEY_FIELD(struct policy, classes)},
	{"colours", read_object, .detail = colour_keys},
	{"peak", read_second, KEY_FIELD(struct policy, colours.second)},
	{"excess", read_second, KEY_FIELD(struct policy, colours.second), .detail = spilt_keys},
	{"window", read_quantity, KEY_FIELD(struct policy, window_ns), .expected = EXPECTED_TIME,
		.detail = &window_range},
	{"burst", read_policy_burst, KEY_FIELD(struct policy, burst_bytes)},
	{"schedule", read_schedule, KEY_FIELD(struct policy, schedule)},
	{"per", read_per, KEY_FIELD(struct policy, per_v4)},
	{"sources", read_integer, KEY_FIELD(struct policy, sources),
		.detail = &(const struct integer_range){1024, 16777216}},
	{"weigh", read_choice, KEY_FIELD(struct policy, weigh_tcp_only), .detail = weighs},
	{"action", read_marked_choice, KEY_FIELD(struct policy, action), .detail = actions},
	{"mark", read_mark, KEY_FIELD(struct policy, mark)},
	{"shape", read_object, .detail = shape_keys},
	{"slo", read_object, .detail = slo_keys},
	{"place", read_object, .detail = place_keys},
	{"accounting", read_choice, KEY_FIELD(struct policy, accounting), .detail = accountings},
	{"trial", read_trial, KEY_FIELD(struct policy, trial)},
	{"interval", read_quantity, KEY_FIELD(struct policy, interval_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 10 * MS_NS, SECOND_NS,
			"10ms to 1s", "ns"}},
	/* A share that is still kept: 1 would never learn anything. */
	{"ewma", read_real, KEY_FIELD(struct policy, keep_per_second),
		.detail = &(const struct real_range){0, 1, .below = true}},
	{"history", read_quantity, KEY_FIELD(struct policy, history_ns), .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 200000000,
			3600 * SECOND_NS, "200ms to 1h", "ns"}},
	{"step", read_quantity, KEY_FIELD(struct policy, step_ns), .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 100000000,
			600 * SECOND_NS, "100ms to 600s", "ns"}},
	{0},
};

void policy_init(void *element)
{
	*(struct policy *)element = (struct policy){
		.match = {.wire = WIRE_REFUSED, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY},
		.meter = METER_DEFAULT,
		.mark = MARK_ECN,
		.accounting = ACCOUNTING_L3,
		.interval_ns = 50 * 1000 * 1000,
		.keep_per_second = 0.1,
		.history_ns = 10 * SECOND_NS,
		.step_ns = SECOND_NS,
		.parent = POLICY_NO_PARENT,
		.weight = 1,
	};
	colours_config_init(&((struct policy *)element)->colours);
	shape_config_init(&((struct policy *)element)->shape);
	place_config_init(&((struct policy *)element)->place);
}
