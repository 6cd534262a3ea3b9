/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies about threads, memory and ports: the time that each was stalled and busy. The test sets
 * the clock.
 */
#include "show_world.h"

#include <time.h>

#include <rte_ethdev.h>
#include <rte_memzone.h>

#include "base/time.h"
#include "control_clock.h"
#include "links.h"
#include "show.h"
#include "watch.h"

#define POLICY "{'name': 'p', 'limit': '1Mbit/s'}"

static double cpu_s(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static double number_of(struct instance_world *w, const char *path, const char *params,
	const char *within, const char *key)
{
	json_t *reply = show_ask(w, path, params), *object = reply;
	double number;

	if (within)
		object = json_object_get(reply, within);
	assert_true(json_is_number(json_object_get(object, key)));
	number = json_number_value(json_object_get(object, key));
	json_decref(reply);
	return number;
}

/* The uptime, and the busy time of each lcore. This thread takes the place of control. */
TEST(test_busy)
{
	double busy;
	WORLD(w, POLICY);

	w->inst.clock.hz = 2 * SECOND_NS;
	w->inst.workers[0].counters.busy_cycles = 5000;
	w->inst.workers[1].counters.busy_cycles = 7000;
	clock_ns += 1500 * MS_NS;
	show_expect(show_ask(w, "/weir/process", NULL),
		"{'uptime_s': 1.5, 'share_of_s': 1.0, '...': 0}");
	show_expect(show_ask(w, "/eal/lcore/info", "1"),
		"{'lcore_id': 1, 'role': 'RTE', 'total_cycles': 3000000000, 'busy_cycles': 5000, "
		"'...': 0}");
	show_expect(show_ask(w, "/eal/lcore/info", "2"),
		"{'lcore_id': 2, 'total_cycles': 3000000000, 'busy_cycles': 7000, '...': 0}");
	assert_null(show_ask(w, "/eal/lcore/info", "3"));
	assert_null(show_ask(w, "/eal/lcore/info", "x"));
	w->config->n_workers = 1; /* an lcore without a worker */
	assert_null(show_ask(w, "/eal/lcore/info", "2"));
	w->config->n_workers = 3; /* a worker without an lcore */
	assert_null(show_ask(w, "/eal/lcore/info", "3"));
	w->config->n_workers = INSTANCE_WORKERS;
	show_expect(show_ask(w, "/eal/lcore/list", NULL), "[0, 1, 2]");
	busy = number_of(w, "/weir/process", NULL, "control", "busy_s");
	assert_true(busy > 0 && busy <= cpu_s() + 0.1);
	busy = number_of(w, "/eal/lcore/info", "0", NULL, "busy_cycles") / 2e9;
	assert_true(busy > 0 && busy <= cpu_s() + 0.1);
}

/* Checks after a period in which these workers had turns. */
static void look(struct instance_world *w, uint64_t after_ns, bool first, bool second)
{
	if (first)
		instance_world_turn(w, 0);
	if (second)
		instance_world_turn(w, 1);
	clock_ns += after_ns;
	assert_false(watch_run(&w->inst, clock_ns));
}

#define STANDING(stuck, ms, stalls, longest)                         \
	"{'stuck': " stuck ", 'stuck_ms': " ms ", 'stalls': " stalls \
	", 'longest_stall_ms': " longest ", '...': 0}"

/* The stalls of each thread, the longest one, and whether it is stalled now. */
TEST(test_stalls)
{
	uint64_t period;
	WORLD(w, POLICY);

	w->config->wires[0].distribute = true;
	period = watch_pace(w->config).most_ns;
	look(w, SECOND_NS, true, true);
	look(w, 2500 * MS_NS, true, true);
	show_expect(show_ask(w, "/weir/health", NULL),
		"{'control': {'stalls': 1, 'longest_stall_ms': 2500.0}, '...': 0}");
	for (unsigned i = 0; i < 3; i++)
		look(w, period, true, i == 0);
	show_expect(show_ask(w, "/weir/workers", NULL),
		"[" STANDING("false", "0.0", "0", "0.0") ", " STANDING(
			"true", "30.0", "1", "0.0") "]");
	look(w, period, true, true);
	show_expect(show_ask(w, "/weir/workers", NULL),
		"[" STANDING("false", "0.0", "0", "0.0") ", " STANDING(
			"false", "0.0", "1", "45.0") "]");
}

TEST(test_idle)
{
	enum idle was;
	WORLD(w, POLICY);

	was = w->inst.workers[1].idle;
	w->inst.workers[1].idle = IDLE_POLL;
	show_expect(show_ask(w, "/weir/workers", NULL),
		"[{'lcore': 1, 'idle': 'sleep', '...': 0}, {'lcore': 2, 'idle': 'poll', '...': "
		"0}]");
	w->inst.workers[1].idle = was;
}

TEST(test_links)
{
	WORLD(w, POLICY);

	w->inst.links->ports[0] = (struct link_state){
		.up = true, .speed_mbps = RTE_ETH_SPEED_NUM_UNKNOWN, .changes = 3};
	w->inst.links->ports[1] = (struct link_state){.gone = true, .up = true, .speed_mbps = 1};
	show_expect(show_ask(w, "/weir/ports", NULL),
		"[{'name': 'a', 'link': 'UP', 'speed_mbps': null, 'link_changes': 3, '...': 0}, "
		"{'name': 'b', 'link': 'GONE', 'speed_mbps': 1, 'link_changes': 0, '...': 0}]");
}

static void check_pages(const json_t *said, const struct rte_memzone *zone)
{
	uint64_t page = zone->hugepage_sz, end = zone->addr_64 + zone->len;
	uint64_t used = (uint64_t)json_integer_value(json_object_get(said, "Hugepage_used"));
	uint64_t base = strtoull(
		json_string_value(json_object_get(said, "Hugepage_base")), NULL, 16);

	assert_int_equal(json_integer_value(json_object_get(said, "Hugepage_size")), page);
	assert_int_equal(base % page, 0);
	assert_in_range(zone->addr_64 - base, 0, page - 1);
	assert_in_range(end, base + (used - 1) * page + 1, base + used * page);
}

struct zones {
	struct instance_world *w;
	unsigned n;
};

static void check_zone(const struct rte_memzone *zone, void *context)
{
	struct zones *zones = context;
	char number[16], expected[256];
	json_t *said;

	snprintf(number, sizeof(number), "%u", zones->n);
	said = show_ask(zones->w, "/eal/memzone_info", number);
	snprintf(expected, sizeof(expected),
		"{'Zone': %u, 'Name': '%s', 'Length': %llu, 'Address': '0x%llx', 'Socket': %d, "
		"'Flags': %u, '...': 0}",
		zones->n++, zone->name, (unsigned long long)zone->len,
		(unsigned long long)zone->addr_64, zone->socket_id, zone->flags);
	check_pages(said, zone);
	show_expect(said, expected);
}

/* Each memory zone of EAL, and its pages. */
TEST(test_zones)
{
	struct zones zones = {0};
	json_t *list;
	WORLD(w, POLICY);

	zones.w = w;
	rte_memzone_walk(check_zone, &zones);
	assert_true(zones.n > 1);
	list = show_ask(w, "/eal/memzone_list", NULL);
	assert_int_equal(json_array_size(list), zones.n);
	for (unsigned i = 0; i < zones.n; i++)
		assert_int_equal(json_integer_value(json_array_get(list, i)), i);
	json_decref(list);
	assert_null(show_ask(w, "/eal/memzone_info", NULL));
}

TEST_GROUP(instance_world_start, instance_world_stop)
