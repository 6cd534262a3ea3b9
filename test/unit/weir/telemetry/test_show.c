/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the commands say of a whole limiter: pages, what is refused, and which keys come in which
 * order.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "instance_world.h"
#include "show.h"
#include "telemetry/server.h"

#define A_TO_B "'match': {'direction': 'a-to-b'}, 'limit': '1Mbit/s'"
#define POLICIES                                                              \
	"{'name': 'first', " A_TO_B "}, {'name': 'waits', 'action': 'shape'," \
	"'match': {'direction': 'a-to-b', 'vlan': 7}, 'limit': '1Mbit/s'}, "  \
	"{'name': 'last', 'match': {'direction': 'b-to-a'}, 'limit': '100/min', 'count': 'packets'}"

static const struct telemetry_command *find_command(const char *path)
{
	for (const struct telemetry_command *row = show_commands; row->path; row++)
		if (strcmp(row->path, path) == 0)
			return row;
	fail_msg("no command %s", path);
	return NULL;
}

static json_t *ask_command(struct instance_world *w, const char *path, const char *params)
{
	return find_command(path)->handler(params, &w->inst);
}

/* The keys, with a space behind each. */
static void check_keys(json_t *json, const char *expected)
{
	char keys[1024] = "";
	const char *key;
	json_t *value;

	json_object_foreach (json, key, value) {
		strcat(keys, key);
		strcat(keys, " ");
	}
	assert_string_equal(keys, expected);
	json_decref(json);
}

static void check_text(json_t *json, const char *expected)
{
	char *text = json_dumps(json, JSON_COMPACT);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
	json_decref(json);
}

static void test_pages(void **state)
{
	struct instance_world w;

	(void)state;
	instance_world_open(&w, POLICIES);
	check_text(ask_command(&w, "/weir/policies", NULL),
		"{\"total\":3,\"start\":0,\"next\":null,\"policies\":[\"first\",\"waits\",\"last\"]}");
	check_text(ask_command(&w, "/weir/policies", "2"),
		"{\"total\":3,\"start\":2,\"next\":null,\"policies\":[\"last\"]}");
	check_text(ask_command(&w, "/weir/policies", "99"),
		"{\"total\":3,\"start\":99,\"next\":null,\"policies\":[]}");
	check_text(ask_command(&w, "/weir/placement", NULL),
		"{\"total\":0,\"start\":0,\"next\":null,\"placements\":[]}");
	assert_null(ask_command(&w, "/weir/policies", "-1"));
	assert_null(ask_command(&w, "/weir/policies", "1x"));
	assert_null(ask_command(&w, "/weir/peers", "4294967296"));
	assert_null(ask_command(&w, "/weir/placement", "first"));
	assert_null(ask_command(&w, "/weir/policy", NULL));
	assert_null(ask_command(&w, "/weir/delays", "first"));
	assert_null(ask_command(&w, "/weir/ledger", "first,1"));
	assert_null(ask_command(&w, "/weir/etcd", NULL));
	instance_world_close(&w);
}

static void test_next_page(void **state)
{
	char policies[8192] = "";
	struct instance_world w;
	json_t *json;

	(void)state;
	for (unsigned i = 0; i <= TELEMETRY_PAGE; i++)
		sprintf(policies + strlen(policies),
			"%s{'name': 'p%u', 'match': {'src': '10.0.0.%u/32'}, 'limit': '1Mbit/s'}",
			i ? ", " : "", i, i);
	instance_world_open(&w, policies);
	json = ask_command(&w, "/weir/policies", NULL);
	assert_int_equal(json_integer_value(json_object_get(json, "next")), TELEMETRY_PAGE);
	assert_int_equal(json_array_size(json_object_get(json, "policies")), TELEMETRY_PAGE);
	json_decref(json);
	check_text(ask_command(&w, "/weir/policies", "64"),
		"{\"total\":65,\"start\":64,\"next\":null,\"policies\":[\"p64\"]}");
	instance_world_close(&w);
}

static void test_keys(void **state)
{
	struct instance_world w;
	json_t *json;

	(void)state;
	instance_world_open(&w, POLICIES);
	w.inst.workers[1].counters.empty_polls = 5;
	json = ask_command(&w, "/weir/workers", NULL);
	assert_int_equal(json_array_size(json), INSTANCE_WORKERS);
	assert_int_equal(
		json_integer_value(json_object_get(json_array_get(json, 1), "empty_polls")), 5);
	check_keys(json_incref(json_array_get(json, 0)),
		"lcore cpu idle paths rx_packets tx_packets unmatched_packets dropped fragments "
		"bursts empty_polls sleeps busy_cycles handing_cycles waiting ");
	json_decref(json);
	check_keys(ask_command(&w, "/weir/gossip", NULL),
		"sent sent_bytes send_errors received_bytes unknown_policy received ");
	check_keys(ask_command(&w, "/weir/config", NULL),
		"file generation policies room reload last_reload removed_policies ");
	check_keys(ask_command(&w, "/weir/delays", "waits"), "packets bins_us ");
	check_keys(ask_command(&w, "/weir/ledger", NULL), "state recovering_policies lease_ms ");
	check_keys(ask_command(&w, "/weir/policy", "last"),
		"name match allocator guarantee meter count per action mark accounting "
		"interval_ms limit limit_per_s burst effective_limit_per_s local_limit_per_s "
		"local_burst demand_per_s weight global_demand_per_s global_weight peers_lost "
		"regime flows_sampled flow_rate_per_s passed dropped over sources shape slo "
		"classes ");
	instance_world_close(&w);
}

struct sample {
	uint64_t number, part, thousands, units;
	const char *text;
	double rate;
	bool flag;
};

#define FIELD(kind, member) SHOW_FIELD(sample, kind, member)

/* Each kind of a member, of a policy that counts packets in a minute and of one in bytes. */
static void test_fields(void **state)
{
	static const struct show_field table[] = {FIELD(NUMBER, number),
		SHOW_FIELD_AS("counted", sample, COUNTER, number),
		SHOW_FIELD_AS("ms", sample, MS, number), FIELD(FLAG, flag), FIELD(TEXT, text),
		FIELD(UNITS, units), FIELD(RATE, rate), FIELD(THOUSANDS, thousands),
		FIELD(PART, part), {0}};
	static const struct policy minute = {.count = COUNT_PACKETS, .limit_s = 60}, second = {0};
	const struct sample sample = {2500000, 90, 1500, 7, "word", 0.5, true};
	json_t *json = json_object();

	(void)state;
	show_fields(json, table, &sample, &minute);
	check_text(json, "{\"number\":2500000,\"counted\":2500000,\"ms\":2.5,\"flag\":true,"
			 "\"text\":\"word\",\"units\":7,\"rate_per_s\":0.5,\"thousands_per_s\":1.5,"
			 "\"part_per_s\":1.5}");
	json = json_object();
	show_fields(json, table + 5, &sample, &second);
	check_text(
		json, "{\"units_bytes\":7,\"rate_bps\":4,\"thousands_bps\":12,\"part_bps\":720}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_next_page),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, instance_world_start, instance_world_stop);
}
