/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies about a group: a page of many limiters, and the state of one peer.
 */
#include "show_world.h"

#include "base/prng.h"
#include "base/time.h"
#include "control_clock.h"
#include "instance.h"
#include "policy/value.h"
#include "show.h"

#define NOW      clock_ns
#define LIMITERS 40

/* The longest name. */
#define LONG "a-name-that-is-as-long-as-names-may-be-and-therefore-takes-room"

#define HELD                                                                               \
	"{'name': '" LONG "', 'limit': '8Mbit/s', 'burst': '60kB', 'guarantee': 'hard'}, " \
	"{'name': 'soft', 'match': {'vlan': 7}, 'limit': '8Mbit/s', 'allocator': 'fps'}, " \
	"{'name': 'alone', 'match': {'vlan': 8}, 'limit': '8Mbit/s', 'allocator': 'static'}"

#define EXPECT(w, rows) show_expect_rows(w, rows, COUNT(rows))

/* Expects this number of elements in a page. */
static void expect_length(
	struct instance_world *w, const char *path, const char *params, const char *of, size_t n)
{
	json_t *reply = show_ask(w, path, params);

	assert_int_equal(json_array_size(json_object_get(reply, of)), n);
	json_decref(reply);
}

/* Each page is full, the last one has the rest, and none follows. */
TEST(test_pages)
{
	static const struct show_row rows[] = {
		{"/weir/peers", NULL, "{'total': 40, 'start': 0, 'next': 13, '...': 0}"},
		{"/weir/peers", "13", "{'start': 13, 'next': 26, '...': 0}"},
		{"/weir/peers", "27", "{'start': 27, 'next': null, '...': 0}"},
		{"/weir/peers", "26", "{'start': 26, 'next': 39, '...': 0}"},
		{"/weir/peers", "39",
			"{'next': null, 'peers': [{'name': 'l39', '...': 0}], 'alive': 0, '...': 0}"},
		{"/weir/ledger", LONG, "{'total': 8, 'start': 0, 'next': null, '...': 0}"},
		{"/weir/ledger", LONG ",6", "{'total': 8, 'start': 6, 'next': null, '...': 0}"},
		{"/weir/shares", "soft,38",
			"{'total': 40, 'limiters': [{'name': 'l38', 'self': false}, "
			"{'name': 'l39', 'self': false}], '...': 0}"},
	};
	STORED_WORLD(w, HELD, .group = LIMITERS);

	EXPECT(w, rows);
	expect_length(w, "/weir/peers", NULL, "peers", 13);
	expect_length(w, "/weir/peers", "27", "peers", 13);
	expect_length(w, "/weir/ledger", LONG, "edges", 8); /* its neighbours */
	expect_length(w, "/weir/ledger", LONG ",6", "edges", 2);
}

/* The longest name is found. A longer one is not, with or without a parameter after it. */
TEST(test_names)
{
	static const struct show_row rows[] = {
		{"/weir/ledger", LONG, "{'name': '" LONG "', '...': 0}"},
		{"/weir/ledger", LONG "x", NULL},
		{"/weir/ledger", LONG "x,0", NULL},
		{"/weir/ledger", "soft", NULL},
		{"/weir/ledger", "", NULL},
		{"/weir/shares", LONG, "{'total': 2, '...': 0}"},
		{"/weir/shares", LONG ",1", "{'start': 1, '...': 0}"},
		{"/weir/shares", LONG "x", NULL},
		{"/weir/shares", LONG LONG, NULL},
		{"/weir/shares", NULL, NULL},
		{"/weir/shares", "none", NULL},
		{"/weir/shares", "soft,x", NULL},
		{"/weir/shares", "alone", NULL}, /* its allocator needs no peers */
		{"/weir/shares", "", NULL},
	};
	STORED_WORLD(w,
		"{'name': '" LONG "', 'limit': '8Mbit/s', 'burst': '60kB', 'allocator': 'fps', "
		"'guarantee': 'hard'}, {'name': 'soft', 'match': {'vlan': 7}, 'limit': "
		"'8Mbit/s'}, {'name': 'alone', 'match': {'vlan': 8}, 'limit': '8Mbit/s', "
		"'allocator': 'static'}",
		.group = 2);

	EXPECT(w, rows);
}

/* Each value of a peer, under its name. */
TEST(test_peer)
{
	struct peer *peer;
	STORED_WORLD(w, HELD, .group = 3);

	peer = (struct peer *)(uintptr_t)gossip_peer(limiter_gossip(w->inst.limiter), 2);
	peer->known = true;
	peer->alive = true;
	peer->advanced_ns = NOW - 1500 * MS_NS;
	peer->confirmed = true;
	peer->confirmed_ns = NOW - 2500 * MS_NS;
	peer->restarts = 3;
	peer->implausible = 4;
	peer->speaks.version = 5;
	peer->key = 0xabc;
	peer->unreadable = 6;
	show_expect(show_ask(w, "/weir/peers", "2"),
		"{'peers': [{'name': 'l2', 'state': 'alive', 'silent_ms': 1500, "
		"'confirmed_ms_ago': 2500, 'restarts': 3, 'implausible': 4, 'format': 5, 'key': "
		"'00000abc', 'unreadable_format': 6, '...': 0}], 'timeout_ms': 1000, 'sealed': "
		"false, '...': 0}");
	peer->known = peer->alive = peer->confirmed = false;
	show_expect(show_ask(w, "/weir/peers", "2"),
		"{'peers': [{'state': 'lost', 'silent_ms': null, 'confirmed_ms_ago': null, "
		"'...': 0}], '...': 0}");
	w->config->gossip.n_key_files = 1;
	show_expect(show_ask(w, "/weir/peers", "2"), "{'sealed': true, '...': 0}");
	w->config->gossip.n_key_files = 0;
}

#define MANY 36 /* limiters: more lost peers than an alarm names */

/* Random peers are lost: each has a line, up to a maximum; then one line counts the others. */
TEST(test_lost_peers)
{
	struct prng prng;
	STORED_WORLD(w, HELD, .group = MANY);

	prng_seed(&prng, 3);
	for (unsigned round = 0; round < 200; round++) {
		unsigned percent = prng_below(&prng, 101), lost = 0;
		json_t *health, *alarms = json_array();

		for (unsigned i = 0; i < MANY; i++) {
			struct peer *peer = (struct peer *)(uintptr_t)gossip_peer(
				limiter_gossip(w->inst.limiter), i);

			peer->proven = true;
			peer->known = prng_percent(&prng, 90);
			peer->alive = peer->known && !prng_percent(&prng, percent);
			if (i == w->config->gossip.self || !peer->known || peer->alive ||
				++lost > 32)
				continue;
			json_array_append_new(alarms,
				json_sprintf("peer %s is lost: 1/36 of each soft limit is unused"
					     ", with its parts of hard limits and quotas",
					w->config->gossip.roster[i].name));
		}
		if (lost == 33)
			json_array_append_new(alarms, json_string("1 more peer is lost"));
		else if (lost > 33)
			json_array_append_new(
				alarms, json_sprintf("%u more peers are lost", lost - 32));
		health = show_ask(w, "/weir/health", NULL);
		assert_true(json_equal(json_object_get(health, "alarms"), alarms));
		json_decref(health);
		json_decref(alarms);
	}
}

/* An address with colons is in brackets. */
TEST(test_addresses)
{
	struct peer_config was, *to;
	STORED_WORLD(w, HELD, .group = 2);

	to = &w->config->gossip.roster[1];
	was = *to;
	assert_int_equal(address_parse("[2001:db8::1]:7947", &to->address, &to->address_len), 0);
	show_expect(show_ask(w, "/weir/peers", "1"),
		"{'peers': [{'address': '[2001:db8::1]:7947', '...': 0}], '...': 0}");
	assert_int_equal(address_parse("10.0.0.1:7947", &to->address, &to->address_len), 0);
	show_expect(show_ask(w, "/weir/peers", "1"),
		"{'peers': [{'address': '10.0.0.1:7947', '...': 0}], '...': 0}");
	*to = was;
}

TEST_GROUP(instance_world_start, instance_world_stop)
