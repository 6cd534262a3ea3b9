/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Every key of a scenario, one table an object. config/scenario.schema.json has the same for
 * editors, and doc/operate/weirsim.md for people.
 */
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "config/value_keys.h"
#include "policy/units.h"
#include "scenario_messages.h"

#define EXPECTED_TIME "a time such as \"50ms\""
#define EXPECTED_RATE "bit/s such as \"10Mbit/s\""
#define EXPECTED_SIZE "bytes such as \"75kB\" or \"64KiB\""

static const struct quantity_range any_time = {
	units_parse_time, 0, 86400 * SECOND_NS, "0s to 86400s", "ns"};
static const struct quantity_range some_time = {
	units_parse_time, 1, 86400 * SECOND_NS, "1ns to 86400s", "ns"};
/* With shorter round trips, an unlimited transport would never let the time advance. */
static const struct quantity_range round_trip = {
	units_parse_time, 1000, 100 * SECOND_NS, "1us to 100s", "ns"};
static const struct quantity_range delay_spread = {
	units_parse_time, 0, 100 * SECOND_NS, "0s to 100s", "ns"};
/* Useful periods; shorter ones would be too many to count through in a long run. */
static const struct quantity_range period = {
	units_parse_time, 100000, 86400 * SECOND_NS, "100us to 86400s", "ns"};
static const struct quantity_range any_rate = {
	units_parse_rate, 1000, 400 * SECOND_NS, "1kbit/s to 400Gbit/s", "bit/s"};
static const struct quantity_range any_size = {units_parse_size, 1, 1ULL << 50, "1B to 1PiB", "B"};
static const struct quantity_range packet_size = {
	units_parse_size, 128, 9000, "128B to 9000B", "B"};
static const struct real_range probability = {0, 1, false};

#define TIME_KEY(name, type, member)                                                     \
	{                                                                                \
		name, read_quantity, KEY_FIELD(type, member), .expected = EXPECTED_TIME, \
							      .detail = &any_time        \
	}
#define RATE_KEY(name, type, member)                                                     \
	{                                                                                \
		name, read_quantity, KEY_FIELD(type, member), .expected = EXPECTED_RATE, \
							      .detail = &any_rate        \
	}
#define SIZE_KEY(name, type, member)                                                     \
	{                                                                                \
		name, read_quantity, KEY_FIELD(type, member), .expected = EXPECTED_SIZE, \
							      .detail = &any_size        \
	}

static const struct key limiter_keys[] = {
	{"name", read_name, KEY_FIELD(struct limiter_config, name), .required = true},
	TIME_KEY("offset", struct limiter_config, offset_ns),
	{"drift_ppm", read_real, KEY_FIELD(struct limiter_config, drift_ppm),
		.detail = &(const struct real_range){-100000, 100000, false}},
	{0},
};

static void read_limiter(
	struct reader *reader, const struct json_path *path, json_t *value, void *base)
{
	static const struct key name_key = {
		"name", read_name, KEY_FIELD(struct limiter_config, name), .required = true};

	if (json_is_object(value))
		read_keys(reader, path, value, limiter_keys, base);
	else
		read_name(reader, path, value, &name_key, base);
}

/* Reads a number of limiters, or an array of names and objects. */
static void read_limiters(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct scenario *s = base;
	json_int_t n = json_is_array(value) ? (json_int_t)json_array_size(value)
					    : json_integer_value(value);

	if (n < 1 || n > SCENARIO_LIMITERS_MAX) {
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
		return;
	}
	s->limiters = calloc((size_t)n, sizeof(*s->limiters));
	if (!s->limiters) {
		reader->no_memory = true;
		return;
	}
	s->n_limiters = (unsigned)n;
	for (unsigned i = 0; i < s->n_limiters; i++) {
		struct json_path at = {.parent = path, .index = i};

		if (json_is_array(value))
			read_limiter(reader, &at, json_array_get(value, i), &s->limiters[i]);
		else
			snprintf(s->limiters[i].name, CONFIG_NAME_MAX, "l%u", i + 1);
	}
}

static const struct choice delays[] = {
	{"constant", DELAY_CONSTANT},
	{"uniform", DELAY_UNIFORM},
	{"normal", DELAY_NORMAL},
	{"exponential", DELAY_EXPONENTIAL},
	{"pareto", DELAY_PARETO},
	{0},
};

/* Keys of a link, also of one between some limiters. */
#define LINK_KEYS                                                                             \
	{"distribution", read_choice, KEY_FIELD(struct network, kind), .detail = delays},     \
		TIME_KEY("delay", struct network, delay_ns),                                  \
		TIME_KEY("spread", struct network, spread_ns),                                \
		{"loss", read_real, KEY_FIELD(struct network, loss), .detail = &probability}, \
		{"duplicate", read_real, KEY_FIELD(struct network, duplicate),                \
			.detail = &probability},                                              \
		{"reorder", read_real, KEY_FIELD(struct network, reorder),                    \
			.detail = &probability},                                              \
		TIME_KEY("reorder_delay", struct network, reorder_ns)

/* Accepts an array, which is read from the document after the names of the limiters. */
static void keep_array(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	(void)base;
	if (!json_is_array(value))
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
}

static const struct key network_keys[] = {
	LINK_KEYS,
	RATE_KEY("rate", struct network, rate_bps),
	SIZE_KEY("queue", struct network, queue_bytes),
	{"pairs", keep_array, .expected = "an array of links between some limiters"},
	{0},
};

static const struct key pair_keys[] = {
	LINK_KEYS,
	{"between", keep_array, .expected = EXPECTED_BETWEEN, .required = true},
	{0},
};

void read_pair(
	struct reader *reader, const struct json_path *path, json_t *value, struct network *link)
{
	read_keys(reader, path, value, pair_keys, link);
}

void read_network(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	read_keys(reader, path, value, network_keys, key_field(key, base));
}

static const struct key overlay_keys[] = {
	{"degree", read_integer, KEY_FIELD(struct ledger_config, degree),
		.detail = &(const struct integer_range){2, 64}, .required = true},
	{0},
};

static const struct key tree_keys[] = {
	{"degree", read_integer, KEY_FIELD(struct ledger_config, tree_degree),
		.detail = &(const struct integer_range){2, 64}},
	{0},
};

/* Reads "ring", or the degree of a random graph. */
static void read_scenario_overlay(struct reader *reader, const struct json_path *path,
	json_t *value, const struct key *key, void *base)
{
	struct ledger_config *ledger = base;
	const char *text = json_string_value(value);

	ledger->ring = text && strcmp(text, "ring") == 0;
	if (json_is_object(value))
		read_keys(reader, path, value, overlay_keys, ledger);
	else if (!ledger->ring)
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
}

static const struct key ledger_keys[] = {
	{"lease", read_quantity, KEY_FIELD(struct ledger_config, lease_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, SECOND_NS / 5,
			86400 * SECOND_NS, "200ms to 86400s", "ns"}},
	{"promise", read_integer, KEY_FIELD(struct ledger_config, promise),
		.detail = &(const struct integer_range){0, 100}},
	{"drift", read_integer, KEY_FIELD(struct ledger_config, drift_ppm),
		.detail = &(const struct integer_range){0, 100000}},
	{"overlay", read_scenario_overlay,
		.expected = "\"ring\", or the degree of a random graph such as {\"degree\": 6}"},
	{"tree", read_object, .detail = tree_keys},
	{0},
};

/* Keeps the value, which is read after the limiters' names. */
static void keep_partition(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	if (json_is_array(value) || json_is_integer(value))
		((struct fault *)base)->partition = value;
	else
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
}

/* Keeps the value, which is read after the previous network. */
static void keep_network(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	if (json_is_object(value))
		*(json_t **)key_field(key, base) = value;
	else
		reader_report(reader, path, MESSAGE(NOT_OBJECT));
}

/* Keeps the value, which is read after the policy. */
static void keep_value(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	(void)reader;
	(void)path;
	*(json_t **)key_field(key, base) = value;
}

static const struct key fault_keys[] = {
	{"at", read_quantity, KEY_FIELD(struct fault, at_ns), .expected = EXPECTED_TIME,
		.detail = &any_time, .required = true},
	{"partition", keep_partition,
		.expected = "an array of sides, each an array of limiters, or a number of sides"},
	{"heal", read_bool, KEY_FIELD(struct fault, heal)},
	{"crash", read_name, KEY_FIELD(struct fault, crash)},
	{"restart", read_name, KEY_FIELD(struct fault, restart)},
	{"pause", read_name, KEY_FIELD(struct fault, pause)},
	{"for", read_quantity, KEY_FIELD(struct fault, for_ns), .expected = EXPECTED_TIME,
		.detail = &some_time},
	{"network", keep_network, KEY_FIELD(struct fault, changed)},
	{"limit", keep_value, KEY_FIELD(struct fault, limit)},
	{"burst", keep_value, KEY_FIELD(struct fault, burst)},
	{"policy", read_name, KEY_FIELD(struct fault, policy_name)},
	{"limiters", keep_array, .expected = "an array of limiters"},
	TIME_KEY("every", struct fault, every_ns),
	{0},
};

static const struct list fault_list = {
	.keys = fault_keys,
	.size = sizeof(struct fault),
	.count_offset = offsetof(struct scenario, n_faults),
	.max = SCENARIO_FAULTS_MAX,
};

static const struct choice kinds[] = {
	{"tcp", TRAFFIC_TCP},
	{"quic", TRAFFIC_QUIC},
	{"cbr", TRAFFIC_CBR},
	{"poisson", TRAFFIC_POISSON},
	{"on-off", TRAFFIC_ON_OFF},
	{"web", TRAFFIC_WEB},
	{0},
};

static const struct choice congestions[] = {
	{"newreno", TRANSPORT_NEWRENO},
	{"cubic", TRANSPORT_CUBIC},
	{"dctcp", TRANSPORT_DCTCP},
	{"bbr", TRANSPORT_BBR},
	{0},
};

static const struct key bottleneck_keys[] = {
	{"rate", read_quantity, KEY_FIELD(struct bottleneck, rate_bps), .expected = EXPECTED_RATE,
		.detail = &any_rate, .required = true},
	SIZE_KEY("queue", struct bottleneck, queue_bytes),
	{"shared", read_bool, KEY_FIELD(struct bottleneck, shared)},
	TIME_KEY("from", struct bottleneck, from_ns),
	{0},
};

static const struct key sizes_keys[] = {
	{"alpha", read_real, KEY_FIELD(struct sizes, alpha),
		.detail = &(const struct real_range){0.1, 10, false}},
	SIZE_KEY("least", struct sizes, least),
	SIZE_KEY("most", struct sizes, most),
	{0},
};

static const struct key traffic_keys[] = {
	{"name", read_name, KEY_FIELD(struct traffic, name)},
	{"kind", read_choice, KEY_FIELD(struct traffic, kind), .detail = kinds, .required = true},
	{"count", read_integer, KEY_FIELD(struct traffic, count),
		.detail = &(const struct integer_range){1, 1000000}},
	{"limiter", read_name, KEY_FIELD(struct traffic, limiter_name)},
	{"policy", read_name, KEY_FIELD(struct traffic, policy_name)},
	{"congestion", read_choice, KEY_FIELD(struct traffic, transport), .detail = congestions},
	{"ecn", read_bool, KEY_FIELD(struct traffic, ecn)},
	{"rtt", read_quantity, KEY_FIELD(struct traffic, rtt_ns), .expected = EXPECTED_TIME,
		.detail = &round_trip},
	{"rtt_spread", read_quantity, KEY_FIELD(struct traffic, rtt_spread_ns),
		.expected = EXPECTED_TIME, .detail = &delay_spread},
	{"jitter", read_quantity, KEY_FIELD(struct traffic, jitter_ns), .expected = EXPECTED_TIME,
		.detail = &delay_spread},
	TIME_KEY("start", struct traffic, start_ns),
	TIME_KEY("start_spread", struct traffic, start_spread_ns),
	TIME_KEY("every", struct traffic, every_ns),
	TIME_KEY("stop", struct traffic, stop_ns),
	TIME_KEY("last", struct traffic, last_ns),
	SIZE_KEY("size", struct traffic, size_bytes),
	RATE_KEY("rate", struct traffic, rate_bps),
	{"packet", read_quantity, KEY_FIELD(struct traffic, packet_bytes),
		.expected = EXPECTED_SIZE, .detail = &packet_size},
	{"on", read_quantity, KEY_FIELD(struct traffic, on_ns), .expected = EXPECTED_TIME,
		.detail = &period},
	{"off", read_quantity, KEY_FIELD(struct traffic, off_ns), .expected = EXPECTED_TIME,
		.detail = &period},
	{"requests", read_real, KEY_FIELD(struct traffic, requests),
		.detail = &(const struct real_range){0.001, 1000000, false}},
	{"sizes", read_object, KEY_FIELD(struct traffic, sizes), .detail = sizes_keys},
	{"bottleneck", read_object, KEY_FIELD(struct traffic, bottleneck),
		.detail = bottleneck_keys},
	{0},
};

static void traffic_init(void *element)
{
	*(struct traffic *)element = (struct traffic){
		.count = 1,
		.rtt_ns = 40000000,
		.jitter_ns = 100000,
		.packet_bytes = 1500,
		.on_ns = SECOND_NS,
		.off_ns = SECOND_NS,
		/* Web objects: many small ones, few large, mean 14.4 kB. */
		.sizes = {.alpha = 1.2, .least = 3000, .most = 10000000},
		.bottleneck = {.queue_bytes = 64000},
	};
}

static const struct list traffic_list = {
	.keys = traffic_keys,
	.size = sizeof(struct traffic),
	.count_offset = offsetof(struct scenario, n_traffic),
	.max = SCENARIO_TRAFFIC_MAX,
	.init = traffic_init,
};

static void read_bounds(struct reader *reader, const struct json_path *path, json_t *value,
	struct expectation *expectation)
{
	const json_t *least = json_array_get(value, 0), *most = json_array_get(value, 1);

	expectation->least = json_number_value(least);
	expectation->most = json_number_value(most);
	if (json_array_size(value) != 2 || !json_is_number(least) || !json_is_number(most) ||
		expectation->least > expectation->most)
		reader_report(reader, path, MESSAGE(EXPECT_RANGE));
}

static void read_expect(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct scenario *s = base;
	const char *name;
	json_t *member;

	if (!json_is_object(value) || json_object_size(value) > SCENARIO_EXPECT_MAX) {
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
		return;
	}
	s->expect = calloc(json_object_size(value) + 1, sizeof(*s->expect));
	if (!s->expect) {
		reader->no_memory = true;
		return;
	}
	json_object_foreach (value, name, member) {
		struct json_path at = {.parent = path, .key = name};
		struct expectation *expectation = &s->expect[s->n_expect];

		if (strlen(name) >= CONFIG_NAME_MAX || !summary_has(name)) {
			reader_report(reader, &at, MESSAGE(NOT_IN_SUMMARY), summary_names());
			continue;
		}
		memcpy(expectation->key, name, strlen(name) + 1);
		read_bounds(reader, &at, member, expectation);
		s->n_expect++;
	}
}

/* Order matters: a key can refer to keys before it. */
const struct key scenario_keys[] = {
	{"name", read_text, KEY_FIELD(struct scenario, name), .expected = "a title"},
	{"seed", read_integer, KEY_FIELD(struct scenario, seed),
		.detail = &(const struct integer_range){0, INT64_MAX}},
	{"duration", read_quantity, KEY_FIELD(struct scenario, duration_ns),
		.expected = EXPECTED_TIME, .detail = &some_time, .required = true},
	TIME_KEY("warmup", struct scenario, warmup_ns),
	{"interval", read_quantity, KEY_FIELD(struct scenario, interval_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 10000000, SECOND_NS,
			"10ms to 1s", "ns"}},
	{"limiters", read_limiters, KEY_FIELD(struct scenario, limiters),
		.expected = "1 to 16384, or an array of limiters", .required = true},
	{"workers", read_integer, KEY_FIELD(struct scenario, n_workers),
		.detail = &(const struct integer_range){1, CONFIG_WORKERS_MAX}},
	{"policies", read_group_policies, KEY_FIELD(struct scenario, group), .required = true},
	{"gossip", read_group_gossip, KEY_FIELD(struct scenario, group)},
	{"ledger", read_object, KEY_FIELD(struct scenario, ledger), .detail = ledger_keys},
	TIME_KEY("commit", struct scenario, commit_ns),
	{"network", read_network, KEY_FIELD(struct scenario, network)},
	{"events", read_list, KEY_FIELD(struct scenario, faults), .expected = "an array of events",
		.detail = &fault_list},
	{"traffic", read_list, KEY_FIELD(struct scenario, traffic), .expected = "an array of flows",
		.detail = &traffic_list, .required = true},
	{"expect", read_expect, .expected = "an object of bounds by number of the summary"},
	{0},
};

void scenario_init(struct reader *reader, struct scenario *scenario)
{
	*scenario = (struct scenario){.name = "scenario",
		.seed = 1,
		.interval_ns = 100000000,
		.n_workers = 1,
		.commit_ns = 2000000,
		.ledger = {.drift_ppm = 1000, .promise = 50},
		.network = {.delay_ns = 20000000,
			.spread_ns = 5000000,
			.reorder_ns = 20000000,
			.queue_bytes = 65536}};
	group_init(reader, &scenario->group);
}
