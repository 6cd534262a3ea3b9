/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A quota that nears its end, is used up or has more units again: one event for each change of each
 * policy. Checks run every quarter of a second. There is no event before the period begins.
 */
#include "instance_world.h"
#include "scope.h"

#include <jansson.h>

#include "base/time.h"
#include "budget/budget.h"
#include "event.h"
#include "store/store.h"
#include "show.h"

#define POLICIES                                                                           \
	"{'name': 'none', 'match': {'vlan': 3}, 'limit': '1Mbit/s'}, "                     \
	"{'name': 'one', 'match': {'vlan': 1}, 'allocator': 'quota', 'total': '1GB'}, "    \
	"{'name': 'two', 'match': {'vlan': 2}, 'allocator': 'quota', 'total': '1G', "      \
	"'count': 'packets'}, "                                                            \
	"{'name': 'undated', 'match': {'vlan': 4}, 'allocator': 'quota', 'total': '1GB', " \
	"'period': '24h'}"
#define GIGA UINT64_C(1000000000) /* remaining units; the test varies the total */

static bool tree_changes;

struct quota_view __real_budget_view(const struct budget *b, unsigned policy, uint64_t now_ns);
struct quota_view __wrap_budget_view(const struct budget *b, unsigned policy, uint64_t now_ns);
struct quota_view __wrap_budget_view(const struct budget *b, unsigned policy, uint64_t now_ns)
{
	struct quota_view view = __real_budget_view(b, policy, now_ns);

	view.group.held = tree_changes;
	return view;
}

static void expect_event(uint64_t number, const char *name, const char *policy)
{
	json_t *row = events_get(number);

	assert_non_null(row);
	assert_string_equal(json_string_value(json_object_get(row, "event")), name);
	assert_string_equal(json_string_value(json_object_get(row, "policy")), policy);
	json_decref(row);
}

TEST(test_each_level)
{
	static const struct {
		uint64_t one, two; /* totals, of which GIGA is left; 0: unchanged */
		const char *event, *policy;
	} rows[] = {
		{GIGA, GIGA, NULL, NULL},
		{10 * GIGA - 1, 0, NULL, NULL},
		{10 * GIGA, 0, "total_near", "one"},
		{10 * GIGA, 0, NULL, NULL},
		{7 * GIGA, 0, NULL, NULL}, /* slightly more is no event */
		{6 * GIGA, 0, "total_back", "one"},
		{0, 10 * GIGA, "total_near", "two"},
		{65536 * (GIGA - 1518), 0, "total_spent", "one"},
		{0, 65536 * (GIGA - 1), NULL, NULL},
		{0, 65536 * GIGA, "total_spent", "two"},
		{0, 10 * GIGA, "total_back", "two"},
		{0, GIGA, "total_back", "two"},
		{GIGA, 0, "total_back", "one"},
	};
	char directory[] = "/tmp/weir-watch-XXXXXX", store[64], more[128], command[64];
	struct instance_world w;
	uint64_t now = 100 * SECOND_NS, number;

	assert_non_null(mkdtemp(directory));
	snprintf(store, sizeof(store), "%s/store", directory);
	snprintf(more, sizeof(more), "'ledger': {'store': '%s'}, ", store);
	assert_int_equal(store_create(store, (struct store_identity){0, 1}), 0);
	instance_world_open_more(&w, more, POLICIES);
	number = events_number();
	for (size_t i = 0; i < COUNT(rows); i++) {
		w.config->policies[1].total = rows[i].one ? rows[i].one
							  : w.config->policies[1].total;
		w.config->policies[2].total = rows[i].two ? rows[i].two
							  : w.config->policies[2].total;
		/* An estimate is no event. */
		tree_changes = true;
		assert_false(watch_totals(&w.inst, now));
		assert_int_equal(events_number(), number);
		tree_changes = false;
		now += SECOND_NS / 4;
		assert_false(watch_totals(&w.inst, now));
		if (events_number() - number != (rows[i].event != NULL))
			fail_msg("row %zu: %u events", i, (unsigned)(events_number() - number));
		if (rows[i].event)
			expect_event(number, rows[i].event, rows[i].policy);
		number = events_number();
		assert_int_equal(watch_totals_next(&w.inst), now + SECOND_NS / 4);
		/* No check before that. */
		w.config->policies[1].total = 1 + 20 * w.config->policies[1].total;
		assert_false(watch_totals(&w.inst, now + SECOND_NS / 4 - 1));
		assert_int_equal(events_number(), number);
		w.config->policies[1].total /= 20;
		now += SECOND_NS / 4;
	}
	instance_world_close(&w);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

/* Without a quota there are no checks. */
TEST(test_none)
{
	WORLD(w, "{'name': 'none', 'limit': '1Mbit/s'}");

	assert_true(watch_totals_next(&w->inst) == UINT64_MAX);
	assert_false(watch_totals(&w->inst, 100 * SECOND_NS));
}

TEST_GROUP(instance_world_start, instance_world_stop)
