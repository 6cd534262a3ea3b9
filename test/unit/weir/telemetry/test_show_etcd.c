/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies about quotas in etcd, which the test plays, and the alarm of a quota that is spent there.
 */
#include "show_world.h"
#include "control_clock.h"

#include "base/time.h"
#include "etcd_share.h"
#include "etcd_world.h"

#define POLICIES                                                                      \
	"{'name': 'p', 'match': {'vlan': 1}, 'allocator': 'quota', 'total': '1GB'}, " \
	"{'name': 'q', 'match': {'vlan': 2}, 'allocator': 'quota', 'total': '5', "    \
	"'count': 'packets'}, {'name': 'none', 'limit': '1Mbit/s'}"
#define ETCD \
	", 'etcd': {'endpoints': ['http://one:2379', 'http://two:2379'], 'prefix': '/cap', 'insecure': true}"

/* Reads the answers, and sends the requests that are due after a moment. */
static void look(struct instance_world *w)
{
	clock_ns += SECOND_NS;
	etcd_share_look(&w->inst, clock_ns);
}

#define ETCD_WORLD(w, ...)                            \
	etcd_world = (struct etcd_world){0};          \
	STORED_WORLD(w, __VA_ARGS__, .ledger = ETCD); \
	look(w)

TEST(test_not_configured)
{
	STORED_WORLD(w, POLICIES);

	assert_null(show_ask(w, "/weir/etcd", NULL));
}

/* Amounts are shown once etcd has answered, in the unit that the policy counts. */
TEST(test_budgets)
{
	ETCD_WORLD(w, POLICIES);

	etcd_world_add_units("p", 1, 1000, 300, 700);
	look(w);
	clock_ns += 3 * SECOND_NS;
	show_expect(show_ask(w, "/weir/etcd", NULL),
		"{'total': 2, 'start': 0, 'next': null, 'quotas': [{'policy': 'p', 'name': 'p', "
		"'period_number': 1, 'total_bytes': 1000, 'drawn_bytes': 300, 'left_bytes': 700, "
		"'as_of_ms_ago': 3000, 'asked': true, 'error': null}, "
		"{'policy': 'q', 'name': 'q', 'period_number': 1, 'as_of_ms_ago': null, "
		"'asked': true, 'error': null}], 'state': 'connected', 'endpoints': "
		"['http://one:2379', 'http://two:2379'], 'user': null, 'logged_in': false, "
		"'prefix': '/cap', 'error': null}");
	etcd_world_add("q", 1, -EPERM);
	look(w);
	show_expect(show_ask(w, "/weir/etcd", "1"),
		"{'quotas': [{'policy': 'q', 'asked': false, 'error': 'Operation not permitted', "
		"'...': 0}], 'error': 'error 1', '...': 0}");
	look(w);
	etcd_world_add_units("q", 1, 5, 0, 4);
	look(w);
	show_expect(show_ask(w, "/weir/etcd", "1"),
		"{'quotas': [{'policy': 'q', 'total': 5, 'left': 4, 'drawn': 0, '...': 0}], "
		"'...': 0}");
}

/* The state of the connection, and the user that the last answer was for. */
TEST(test_states)
{
	static const struct {
		int result;
		bool logged_in;
		const char *shown;
	} rows[] = {
		{0, true, "{'state': 'connected', 'logged_in': true, '...': 0}"},
		{-ETIMEDOUT, false,
			"{'state': 'away', 'error': 'error 110', 'logged_in': false, '...': 0}"},
		{0, false, "{'state': 'connected', 'error': null, '...': 0}"},
		{-ESTALE, false, "{'state': 'fenced', '...': 0}"},
	};
	ETCD_WORLD(w, POLICIES);

	strcpy(w->config->ledger.etcd_user, "weir");
	show_expect(show_ask(w, "/weir/etcd", NULL),
		"{'state': 'connecting', 'error': null, 'user': 'weir', 'logged_in': false, "
		"'...': 0}");
	for (size_t i = 0; i < COUNT(rows); i++) {
		etcd_world_add("p", 1, rows[i].result)->logged_in = rows[i].logged_in;
		look(w);
		show_expect(show_ask(w, "/weir/etcd", NULL), rows[i].shown);
		clock_ns += 20 * SECOND_NS; /* so that it is requested again */
		look(w);
	}
}

/* The rest of a quota is that of the limiters and of etcd, and at most the whole. */
TEST(test_rest)
{
	static const struct {
		uint64_t total, drawn, left, rest;
		bool spent;
	} rows[] = {
		{1000, 400, 500, 900, false}, {1000, 401, 599, 1000, false},
		{1000, 402, 601, 1000, false},  /* others have refunded units */
		{1000, 1400, 601, 1400, false}, /* drawn of an earlier quota */
		{2000000, 1401, 600, 2001, false},
		{2001000, 1402, 599, 2001, true}, /* a thousandth */
	};
	char expected[256];
	ETCD_WORLD(w, "{'name': 'day', 'allocator': 'quota', 'total': '1GB'}");

	show_expect(show_ask(w, "/weir/quota", "day"), "{'total_bytes': 1000000000, '...': 0}");
	show_expect(show_ask(w, "/weir/health", NULL), "{'alarms': [], '...': 0}");
	for (size_t i = 0; i < COUNT(rows); i++) {
		etcd_world_add_units("day", 1, rows[i].total, rows[i].drawn, rows[i].left);
		look(w);
		snprintf(expected, sizeof(expected),
			"{'total_bytes': %u, 'remaining_bytes': %u, 'undrawn_bytes': %u, '...': 0}",
			(unsigned)rows[i].total, (unsigned)rows[i].rest, (unsigned)rows[i].left);
		show_expect(show_ask(w, "/weir/quota", "day"), expected);
		show_expect(show_ask(w, "/weir/health", NULL),
			rows[i].spent ? "{'alarms': ['the quota of day is spent'], '...': 0}"
				      : "{'alarms': [], '...': 0}");
		clock_ns += 20 * SECOND_NS;
		look(w);
	}
}

TEST_GROUP(instance_world_start, instance_world_stop)
