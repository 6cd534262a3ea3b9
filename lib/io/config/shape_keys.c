/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of shaping: "shape" and "slo" of a policy, and "shape" of the limiter.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "base/time.h"
#include "config/keys.h"
#include "json/vocabulary.h"
#include "policy/units.h"

#define POOL_MIN 1 /* percent */
#define POOL_MAX 99

static const struct choice drops[] = {
	{"tail", SHAPE_DROP_TAIL},
	{"codel", SHAPE_DROP_CODEL},
	{0},
};

static const struct key byte_queue = {
	.expected = EXPECTED_SIZE,
	.detail = &(const struct quantity_range){units_parse_size, 1, CONFIG_BURST_MAX,
		"1B to 4GiB", "B"},
	KEY_FIELD(struct policy, shape.bytes),
};

static const struct key count_queue = {
	.expected = "a number such as 100 or \"10k\" with \"count\": \"packets\"",
	.detail = &(const struct quantity_range){units_parse_count, 1, CONFIG_COUNT_MAX, "1 to 1G",
		"packets"},
	KEY_FIELD(struct policy, shape.bytes),
};

/* A queue is measured in bytes or packets, like the limit. After a bad "count" it is not checked. */
static void read_queue(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct policy *policy = base;

	(void)key;
	if (policy->count == COUNT_BYTES)
		read_quantity(reader, path, value, &byte_queue, base);
	else if (policy->count != CHOICE_REFUSED)
		read_count(reader, path, value, &count_queue, base);
}

static const struct vocabulary_entry drop_values[] = {
	{"tail", "fifo taildrop droptail"},
	{"codel", "fqcodel aqm"},
	{0},
};

const struct key shape_keys[] = {
	KEY("delay", read_quantity, POLICY_TERMS, KEY_FIELD(struct policy, shape.delay_ns),
		DEFAULT("\"100ms\""),
		"longest wait of a packet: the queue accepts only the amount that leaves in this "
		"time at the limit",
		"latency maxdelay maxlatency wait buffer", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, MS_NS, 10 * SECOND_NS,
			"1ms to 10s", "ns"}),
	KEY("queue", read_queue, POLICY_TERMS, KEY_FIELD(struct policy, shape.bytes),
		UNSET("amount that `delay` allows"),
		"bound on the waiting amount, for any delay, see below",
		"limit depth queuesize qlen queuelimit backlog", .form = "queue"),
	KEY("drop", read_marked_choice, POLICY_TERMS, KEY_FIELD(struct policy, shape.drop),
		DEFAULT("\"tail\""),
		"`tail` drops packets that find the queue full. `codel` also drops after packets "
		"have waited too long for a while (RFC 8289)",
		"aqm dropper algorithm discipline discard", .detail = drops,
		.value_words = drop_values),
	KEY("target", read_quantity, POLICY_TERMS, KEY_FIELD(struct policy, shape.target_ns),
		DEFAULT("\"5ms\""),
		"wait that packets should not exceed: less than `interval` and `delay`",
		"codeltarget sojourn goal", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, MS_NS / 10, SECOND_NS,
			"100us to 1s", "ns"},
		RELATIONS({NEEDS_VALUE("drop", "codel")})),
	KEY("interval", read_quantity, POLICY_TERMS, KEY_FIELD(struct policy, shape.interval_ns),
		DEFAULT("\"100ms\""),
		"time for which packets can exceed `target`, about a round trip",
		"codelinterval period window", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, MS_NS, 10 * SECOND_NS,
			"1ms to 10s", "ns"},
		RELATIONS({NEEDS_VALUE("drop", "codel")})),
	KEY("ecn", read_bool, POLICY_TERMS, KEY_FIELD(struct policy, shape.ecn), DEFAULT("false"),
		"true: CoDel marks packets whose sender supports ECN, and drops the others",
		"marking congestion cemark", RELATIONS({NEEDS_VALUE("drop", "codel")})),
	{0},
};

const struct key slo_keys[] = {
	KEY("p99", read_quantity, POLICY_TERMS, KEY_FIELD(struct policy, slo_p99_ns), REQUIRED,
		"99 % of the packets wait at most this long",
		"latency delay percentile target tail", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 1000, 10 * SECOND_NS,
			"1us to 10s", "ns"}),
	{0},
};

/* Returns 50 for "50%", and 0 for other texts. */
static unsigned percent_parse(const char *text)
{
	char *end;
	unsigned long number;

	if (!isdigit((unsigned char)*text))
		return 0;
	number = strtoul(text, &end, 10);
	return strcmp(end, "%") == 0 && number <= POOL_MAX ? (unsigned)number : 0;
}

static void read_pool(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	unsigned percent = json_is_string(value) ? percent_parse(json_string_value(value)) : 0;
	double share = percent / 100.0;

	if (percent == 0)
		reader_report(reader, path, MESSAGE(POOL_RANGE), POOL_MIN, POOL_MAX);
	else
		memcpy(key_field(key, base), &share, sizeof(share));
}

const struct key box_shape_keys[] = {
	KEY("pool", read_pool, KEY_FIXED, KEY_FIELD(struct config, shape_pool), DEFAULT("\"50%\""),
		"the share of the `buffers` of each port that waiting packets of `\"action\": "
		"\"shape\"` can use",
		"buffers memory share bufferpool", .form = "percent"),
	{0},
};
