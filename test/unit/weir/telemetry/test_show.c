/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies of the telemetry commands of a whole limiter: pages, refusals, and the order of members.
 */
#include "show_world.h"

#include <rte_lcore.h>

#include "busy.h"
#include "show.h"
#include "telemetry/server.h"

#define A_TO_B "'match': {'direction': 'a-to-b'}, 'limit': '1Mbit/s'"
#define POLICIES                                                              \
	"{'name': 'first', " A_TO_B "}, {'name': 'waits', 'action': 'shape'," \
	"'match': {'direction': 'a-to-b', 'vlan': 7}, 'limit': '1Mbit/s'}, "  \
	"{'name': 'last', 'match': {'direction': 'b-to-a'}, 'limit': '100/min', 'count': 'packets'}"

/* Expects these keys, with a space after each. */
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

TEST(test_pages)
{
	WORLD(w, POLICIES);

	check_text(show_ask(w, "/weir/policies", NULL),
		"{\"total\":3,\"start\":0,\"next\":null,\"policies\":[\"first\",\"waits\",\"last\"]}");
	check_text(show_ask(w, "/weir/policies", "2"),
		"{\"total\":3,\"start\":2,\"next\":null,\"policies\":[\"last\"]}");
	check_text(show_ask(w, "/weir/policies", "99"),
		"{\"total\":3,\"start\":99,\"next\":null,\"policies\":[]}");
	check_text(show_ask(w, "/weir/placement", NULL),
		"{\"total\":0,\"start\":0,\"next\":null,\"placements\":[]}");
	assert_null(show_ask(w, "/weir/policies", "-1"));
	assert_null(show_ask(w, "/weir/policies", "1x"));
	assert_null(show_ask(w, "/weir/peers", "4294967296"));
	assert_null(show_ask(w, "/weir/placement", "first"));
	assert_null(show_ask(w, "/weir/policy", NULL));
	assert_null(show_ask(w, "/weir/delays", "first"));
	assert_null(show_ask(w, "/weir/ledger", "first,1"));
	assert_null(show_ask(w, "/weir/etcd", NULL));
}

TEST(test_next_page)
{
	char policies[8192] = "";
	json_t *json;

	for (unsigned i = 0; i <= TELEMETRY_PAGE; i++)
		sprintf(policies + strlen(policies),
			"%s{'name': 'p%u', 'match': {'src': '10.0.0.%u/32'}, 'limit': '1Mbit/s'}",
			i ? ", " : "", i, i);
	WORLD(w, policies);
	json = show_ask(w, "/weir/policies", NULL);
	assert_int_equal(json_integer_value(json_object_get(json, "next")), TELEMETRY_PAGE);
	assert_int_equal(json_array_size(json_object_get(json, "policies")), TELEMETRY_PAGE);
	json_decref(json);
	check_text(show_ask(w, "/weir/policies", "64"),
		"{\"total\":65,\"start\":64,\"next\":null,\"policies\":[\"p64\"]}");
}

TEST(test_keys)
{
	json_t *json;
	WORLD(w, POLICIES);

	w->inst.workers[1].counters.empty_polls = 5;
	json = show_ask(w, "/weir/workers", NULL);
	assert_int_equal(json_array_size(json), INSTANCE_WORKERS);
	assert_int_equal(
		json_integer_value(json_object_get(json_array_get(json, 1), "empty_polls")), 5);
	check_keys(json_incref(json_array_get(json, 0)),
		"lcore cpu idle paths stuck stuck_ms stalls longest_stall_ms rx_packets tx_packets "
		"unmatched_packets rerouted_packets dropped unparsed fragments "
		"bursts empty_polls sleeps busy_share busy_cycles handing_cycles waiting ");
	json_decref(json);
	w->inst.clock.hz = 2000000000; /* independent of this machine */
	w->inst.clock.doubt = "none";
	json = show_ask(w, "/weir/health", NULL);
	json_object_del(json, "active");
	check_text(json,
		"{\"alarms\":[],\"totals_spent\":0,\"control\":{\"stalls\":0,\"longest_stall_ms\":0.0},"
		"\"log_lines_lost\":0,"
		"\"tsc\":{\"mhz\":2000.0,\"jumps\":0,\"doubt\":\"none\"}}");
	w->inst.stuck.now = 1 << 1;
	json = show_ask(w, "/weir/health", NULL);
	assert_memory_equal(json_string_value(json_array_get(json_object_get(json, "alarms"), 0)),
		"worker 1 (CPU 1) is stuck for ", 30);
	json_decref(json);
	w->inst.stuck.now = 0;
	check_keys(show_ask(w, "/weir/gossip", NULL),
		"sent sent_bytes send_errors socket_drops wrong_source received_bytes "
		"unknown_policy implausible loans received ");
	check_keys(show_ask(w, "/weir/config", NULL),
		"file generation policies shadow room reload reload_waits_for last_reload "
		"peers_differ "
		"removed_policies ");
	check_keys(show_ask(w, "/weir/delays", "waits"), "packets bins_us ");
	check_keys(show_ask(w, "/weir/ledger", NULL),
		"state recovering_policies lease_ms expired control_late unused_records unused ");
}

/* Returns the value of a row of the page in a column. */
static json_t *cell(json_t *page, size_t row, const char *column)
{
	json_t *columns = json_object_get(page, "columns"), *name;
	size_t i;

	json_array_foreach (columns, i, name)
		if (strcmp(json_string_value(name), column) == 0)
			return json_array_get(
				json_array_get(json_object_get(page, "policies"), row), i);
	fail_msg("no column %s", column);
	return NULL;
}

#define TRYING                                                                     \
	"{'name': 'tries', 'match': {'direction': 'a-to-b'}, 'limit': '1Mbit/s', " \
	"'trial': {'limit': '500kbit/s', 'burst': '1kB'}}, "                       \
	"{'name': 'last', 'match': {'direction': 'b-to-a'}, 'limit': '100/min', 'count': 'packets'}"

/* Counts of a trial in both replies; null for a policy without a trial. */
TEST(test_trial)
{
	json_t *page, *policy, *trial, *other;
	json_int_t passed, dropped;
	WORLD(w, TRYING);

	instance_world_turn_all(w);
	page = show_ask(w, "/weir/policy_stats", NULL);
	policy = show_ask(w, "/weir/policy", "tries");
	other = show_ask(w, "/weir/policy", "last");
	trial = json_object_get(policy, "trial");
	assert_true(json_is_null(json_object_get(other, "trial")));
	assert_true(json_is_null(cell(page, 1, "trial_dropped_packets")));
	assert_string_equal(json_string_value(json_object_get(trial, "limit")), "500kbit/s");
	assert_int_equal(json_integer_value(json_object_get(trial, "local_limit_bps")), 500000);
	assert_int_equal(json_integer_value(json_object_get(trial, "burst_bytes")), 1000);
	assert_int_equal(json_integer_value(cell(page, 0, "trial_limit_per_s")), 62500);
	passed = json_integer_value(cell(page, 0, "trial_passed_packets"));
	dropped = json_integer_value(cell(page, 0, "trial_dropped_packets"));
	assert_int_equal(
		passed + dropped, json_integer_value(cell(page, 0, "passed_packets")) +
					  json_integer_value(cell(page, 0, "dropped_packets")));
	assert_true(passed > 0 && dropped > 0);
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(trial, "would_drop"), "packets")),
		dropped);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(trial, "would_pass"), "bytes")),
		json_integer_value(cell(page, 0, "trial_passed_units")));
	json_decref(other);
	json_decref(policy);
	json_decref(page);
}

#define LONG_NAME "a-name-that-is-as-long-as-names-may-be-and-therefore-takes-room"

/* Pages are as long as a reply can be. Together they have each policy once. */
TEST(test_stats_fit)
{
	static char policies[64 * 1024];
	unsigned seen = 0, pages = 0;
	json_int_t next = 0;

	policies[0] = '\0';
	for (unsigned i = 0; i < 250; i++)
		sprintf(policies + strlen(policies),
			"%s{'name': '%.59s-%03u', 'match': {'src': '10.0.0.%u/32'}, "
			"'limit': '400Gbit/s'}",
			i ? ", " : "", LONG_NAME, i, i);
	WORLD(w, policies);
	do {
		char start[16];
		json_t *page;

		sprintf(start, "%d", (int)next);
		page = show_ask(w, "/weir/policy_stats", start);
		assert_in_range(telemetry_length(page),
			json_is_null(json_object_get(page, "next")) ? 0 : 12000,
			TELEMETRY_MAX_OUTPUT - sizeof("{\"/weir/policy_stats\":}"));
		seen += json_array_size(json_object_get(page, "policies"));
		pages++;
		next = json_integer_value(json_object_get(page, "next"));
		json_decref(page);
	} while (next);
	assert_int_equal(seen, 250);
	assert_in_range(pages, 2, 5);
}

/* The share is that of the time between two checks, and at most 1. */
TEST(test_load)
{
	uint64_t now = control_now();
	json_t *json;
	WORLD(w, POLICIES);

	json = show_ask(w, "/weir/process", NULL);
	assert_true(json_is_null(json_object_get(
		json_array_get(json_object_get(json, "workers"), 0), "busy_share")));
	json_decref(json);
	now = busy_next(&w->inst);
	assert_false(busy_run(&w->inst, now - 1));
	w->inst.workers[0].counters.busy_cycles += w->inst.clock.hz / 4;
	w->inst.workers[1].counters.busy_cycles += w->inst.clock.hz * 2;
	busy_run(&w->inst, now);
	assert_true(fabs(busy_worker(&w->inst, 0).share - 0.25) < 1e-6);
	assert_true(busy_worker(&w->inst, 1).share == 1);
	assert_true(busy_control(&w->inst).share >= 0);
	busy_run(&w->inst, now + 2 * BUSY_PERIOD_NS);
	assert_true(busy_worker(&w->inst, 0).share == 0);
	/* A quarter of a second, rounded down. */
	assert_in_range(busy_worker(&w->inst, 0).busy_ns / US_NS, 249999, 250000);
	json = show_ask(w, "/weir/process", NULL);
	assert_true(json_integer_value(json_object_get(
			    json_object_get(json, "memory"), "resident_bytes")) > 1000000);
	assert_true(json_array_size(json_object_get(json, "pools")) > 0);
	check_keys(json, "limiter version pid uptime_s share_of_s control workers memory pools ");
}

/* The CPUs of an lcore are listed completely, and no other CPU is. */
static void check_cpus(json_t *info)
{
	rte_cpuset_t set = rte_lcore_cpuset(
		(unsigned)json_integer_value(json_object_get(info, "lcore_id")));
	json_t *cpus = json_object_get(info, "cpuset"), *cpu;
	size_t i;

	assert_int_equal(json_array_size(cpus), CPU_COUNT(&set));
	json_array_foreach (cpus, i, cpu)
		assert_true(CPU_ISSET((int)json_integer_value(cpu), &set));
	json_decref(info);
}

/* Commands that exporters of DPDK's own telemetry use. */
TEST(test_eal)
{
	json_t *list, *json;
	char index[8];
	WORLD(w, POLICIES);

	list = show_ask(w, "/eal/lcore/list", NULL);
	sprintf(index, "%d", (int)json_integer_value(json_array_get(list, 0)));
	json_decref(list);
	check_keys(show_ask(w, "/eal/lcore/info", index),
		"lcore_id socket role cpuset total_cycles busy_cycles ");
	check_cpus(show_ask(w, "/eal/lcore/info", index));
	assert_null(show_ask(w, "/eal/lcore/info", NULL));
	assert_null(show_ask(w, "/eal/lcore/info", "4294967295"));
	list = show_ask(w, "/eal/memzone_list", NULL);
	assert_true(json_array_size(list) > 0);
	sprintf(index, "%d", (int)json_array_size(list));
	json_decref(list);
	assert_null(show_ask(w, "/eal/memzone_info", index));
	json = show_ask(w, "/eal/memzone_info", "0");
	assert_memory_equal(json_string_value(json_object_get(json, "Hugepage_base")), "0x", 2);
	assert_true(json_integer_value(json_object_get(json, "Hugepage_used")) > 0);
	check_keys(json, "Zone Name Length Address Socket Flags Hugepage_size Hugepage_base "
			 "Hugepage_used ");
}

struct sample {
	uint64_t number, part, thousands, units;
	const char *text;
	double rate;
	bool flag;
};

#define FIELD(kind, member) SHOW_FIELD(sample, kind, member)

/*
 * Each kind of member, for a policy that counts packets per minute and for one that counts bytes.
 */
TEST(test_fields)
{
	static const struct show_field table[] = {FIELD(NUMBER, number),
		SHOW_FIELD_AS("counted", sample, COUNTER, number),
		SHOW_FIELD_AS("ms", sample, MS, number), FIELD(FLAG, flag), FIELD(TEXT, text),
		FIELD(UNITS, units), FIELD(RATE, rate), FIELD(THOUSANDS, thousands),
		FIELD(PART, part), {0}};
	static const struct policy minute = {.count = COUNT_PACKETS, .limit_s = 60}, second = {0};
	const struct sample sample = {2500000, 90, 1500, 7, "word", 0.5, true};
	json_t *json = json_object();

	show_fields(json, table, &sample, &minute);
	check_text(json, "{\"number\":2500000,\"counted\":2500000,\"ms\":2.5,\"flag\":true,"
			 "\"text\":\"word\",\"units\":7,\"rate_per_s\":0.5,\"thousands_per_s\":1.5,"
			 "\"part_per_s\":1.5}");
	json = json_object();
	show_fields(json, table + 5, &sample, &second);
	check_text(
		json, "{\"units_bytes\":7,\"rate_bps\":4,\"thousands_bps\":12,\"part_bps\":720}");
}

TEST_GROUP(instance_world_start, instance_world_stop)
