/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies about a group: a page of many limiters, and the state of one peer.
 */
#include "show_world.h"
#include "scope.h"

#include "base/prng.h"
#include "base/time.h"
#include "control_clock.h"
#include "instance.h"
#include "policy/value.h"
#include "show.h"
#include "store/store.h"

#define NOW      clock_ns
#define LIMITERS 40

/* The longest name. */
#define LONG "a-name-that-is-as-long-as-names-may-be-and-therefore-takes-room"

#define HELD                                                                               \
	"{'name': '" LONG "', 'limit': '8Mbit/s', 'burst': '60kB', 'guarantee': 'hard'}, " \
	"{'name': 'soft', 'match': {'vlan': 7}, 'limit': '8Mbit/s', 'allocator': 'fps'}, " \
	"{'name': 'alone', 'match': {'vlan': 8}, 'limit': '8Mbit/s', 'allocator': 'static'}"

#define EXPECT(w, rows) show_expect_rows(w, rows, COUNT(rows))

static char directory[32];

/* Opens a group of n limiters, at addresses of this process only: "test", "l1", "l2" and so on. */
static void open_group(struct instance_world *w, unsigned n, const char *policies)
{
	static char group[8192];
	unsigned id = (unsigned)getpid(), a = 1 + id / 254 % 254, b = 1 + id % 254;
	char store[64];
	size_t len;

	len = (size_t)sprintf(group,
		"'gossip': {'listen': '127.%1$u.%2$u.90:7946', 'insecure': true, 'roster': ["
		"{'name': 'test', 'address': '127.%1$u.%2$u.90:7946'}",
		a, b);
	for (unsigned i = 1; i < n; i++)
		len += (size_t)sprintf(group + len,
			", {'name': 'l%u', 'address': '127.%u.%u.%u:7946'}", i, a, b, 100 + i);
	strcpy(directory, "/tmp/weir-group-XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(store, sizeof(store), "%s/store", directory);
	assert_int_equal(store_create(store, (struct store_identity){0, 1}), 0);
	sprintf(group + len, "]}, 'ledger': {'store': '%s'}, ", store);
	instance_world_open_more(w, group, policies);
}

static void close_group(struct instance_world *w)
{
	char command[64];

	instance_world_close(w);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

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
	ENDED_BY(close_group) struct instance_world w;

	open_group(&w, LIMITERS, HELD);
	EXPECT(&w, rows);
	expect_length(&w, "/weir/peers", NULL, "peers", 13);
	expect_length(&w, "/weir/peers", "27", "peers", 13);
	expect_length(&w, "/weir/ledger", LONG, "edges", 8); /* its neighbours */
	expect_length(&w, "/weir/ledger", LONG ",6", "edges", 2);
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
	struct instance_world w;

	open_group(&w, 2,
		"{'name': '" LONG "', 'limit': '8Mbit/s', 'burst': '60kB', 'allocator': 'fps', "
		"'guarantee': 'hard'}, {'name': 'soft', 'match': {'vlan': 7}, 'limit': "
		"'8Mbit/s'}, {'name': 'alone', 'match': {'vlan': 8}, 'limit': '8Mbit/s', "
		"'allocator': 'static'}");
	EXPECT(&w, rows);
	close_group(&w);
}

/* Each value of a peer, under its name. */
TEST(test_peer)
{
	ENDED_BY(close_group) struct instance_world w;
	struct peer *peer;

	open_group(&w, 3, HELD);
	peer = (struct peer *)(uintptr_t)gossip_peer(limiter_gossip(w.inst.limiter), 2);
	peer->known = true;
	peer->alive = true;
	peer->heard_ns = NOW - 1500 * MS_NS;
	peer->confirmed = true;
	peer->confirmed_ns = NOW - 2500 * MS_NS;
	peer->restarts = 3;
	peer->implausible = 4;
	peer->speaks.version = 5;
	peer->key = 0xabc;
	peer->unreadable = 6;
	show_expect(show_ask(&w, "/weir/peers", "2"),
		"{'peers': [{'name': 'l2', 'state': 'alive', 'heard_ms_ago': 1500, "
		"'confirmed_ms_ago': 2500, 'restarts': 3, 'implausible': 4, 'format': 5, 'key': "
		"'00000abc', 'unreadable_format': 6, '...': 0}], 'timeout_ms': 1000, 'sealed': "
		"false, '...': 0}");
	peer->known = peer->alive = peer->confirmed = false;
	show_expect(show_ask(&w, "/weir/peers", "2"),
		"{'peers': [{'state': 'lost', 'heard_ms_ago': null, 'confirmed_ms_ago': null, "
		"'...': 0}], '...': 0}");
	w.config->gossip.n_key_files = 1;
	show_expect(show_ask(&w, "/weir/peers", "2"), "{'sealed': true, '...': 0}");
	w.config->gossip.n_key_files = 0;
}

#define MANY 36 /* limiters: more lost peers than an alarm names */

/* Random peers are lost: each has a line, up to a maximum; then one line counts the others. */
TEST(test_lost_peers)
{
	ENDED_BY(close_group) struct instance_world w;
	struct prng prng;

	open_group(&w, MANY, HELD);
	prng_seed(&prng, 3);
	for (unsigned round = 0; round < 200; round++) {
		unsigned percent = prng_below(&prng, 101), lost = 0;
		json_t *health, *alarms = json_array();

		for (unsigned i = 0; i < MANY; i++) {
			struct peer *peer = (struct peer *)(uintptr_t)gossip_peer(
				limiter_gossip(w.inst.limiter), i);

			peer->proven = true;
			peer->known = prng_percent(&prng, 90);
			peer->alive = peer->known && !prng_percent(&prng, percent);
			if (i == w.config->gossip.self || !peer->known || peer->alive ||
				++lost > 32)
				continue;
			json_array_append_new(alarms,
				json_sprintf("peer %s is lost: 1/36 of each soft limit is unused",
					w.config->gossip.roster[i].name));
		}
		if (lost == 33)
			json_array_append_new(alarms, json_string("1 more peer is lost"));
		else if (lost > 33)
			json_array_append_new(
				alarms, json_sprintf("%u more peers are lost", lost - 32));
		health = show_ask(&w, "/weir/health", NULL);
		assert_true(json_equal(json_object_get(health, "alarms"), alarms));
		json_decref(health);
		json_decref(alarms);
	}
}

/* An address with colons is in brackets. */
TEST(test_addresses)
{
	struct peer_config was, *to;
	ENDED_BY(close_group) struct instance_world w;

	open_group(&w, 2, HELD);
	to = &w.config->gossip.roster[1];
	was = *to;
	assert_int_equal(address_parse("[2001:db8::1]:7947", &to->address, &to->address_len), 0);
	show_expect(show_ask(&w, "/weir/peers", "1"),
		"{'peers': [{'address': '[2001:db8::1]:7947', '...': 0}], '...': 0}");
	assert_int_equal(address_parse("10.0.0.1:7947", &to->address, &to->address_len), 0);
	show_expect(show_ask(&w, "/weir/peers", "1"),
		"{'peers': [{'address': '10.0.0.1:7947', '...': 0}], '...': 0}");
	*to = was;
}

TEST_GROUP(instance_world_start, instance_world_stop)
