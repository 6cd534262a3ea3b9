/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Groups in virtual time, over a network that loses, repeats and reorders messages. Limiters change
 * their sets, restart with and without a stored set, are parted, and change their rosters. After
 * the last of this all sets equal the join of all sets, within the bound of exchange.h, and nothing
 * is sent any more.
 */
#include "check.h"
#include "scope.h"

#include "base/hash.h"
#include "base/prng.h"
#include "members/exchange.h"

#define NOWHERE UINT32_MAX /* in place of an index */

END_POINTER(members_destroy, struct members *)

#define NODES   200
#define ROOM    1130
#define STEP    (10 * MS)
#define ROUND   (EXCHANGE_REST_NS / 16)
#define ARRIVAL (400 * MS) /* longest delay of a message */

struct flight {
	uint8_t buf[ROOM];
	size_t len;
	unsigned from, to;
	uint64_t due_ns;
};

struct node {
	struct members *members;
	struct exchange *exchange;
	uint8_t *stored; /* the last stored set; NULL: none */
	size_t stored_len;
	unsigned n;             /* limiters in its roster, which has its own order */
	unsigned roster[NODES]; /* its index → node */
	uint64_t serial;        /* members_serial() of the stored set */
	unsigned index[NODES];  /* node → its index, or NOWHERE */
	bool linked[NODES];     /* by node: watched while not parted */
};

struct world {
	uint64_t now;
	struct prng prng;
	unsigned n;
	struct node nodes[NODES];
	struct flight *flights;
	unsigned n_flights, flights_room;
	unsigned loss; /* percent; also of repeats */
	uint64_t delay_ns;
	bool parted; /* even nodes from odd ones */
	uint64_t sent, bytes;
	size_t room;
};

static bool can_reach(const struct world *w, unsigned i, unsigned k)
{
	return !w->parted || i % 2 == k % 2;
}

static void watch_all(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];

	for (unsigned at = 0; at < node->n; at++)
		exchange_watch(node->exchange, at,
			node->linked[node->roster[at]] && can_reach(w, i, node->roster[at]));
}

/* Gives a node a roster of all nodes, in a random order. */
static void shuffle_roster(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];

	node->n = w->n;
	for (unsigned at = 0; at < w->n; at++)
		node->roster[at] = at;
	for (unsigned at = w->n - 1; at > 0; at--) {
		unsigned other = prng_below(&w->prng, at + 1), swapped = node->roster[at];

		node->roster[at] = node->roster[other];
		node->roster[other] = swapped;
	}
	for (unsigned at = 0; at < w->n; at++)
		node->index[node->roster[at]] = at;
}

static void start_exchange(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];
	struct exchange_params params = {.members = node->members};

	shuffle_roster(w, i);
	params.n = node->n;
	params.self = node->index[i];
	assert_int_equal(exchange_create(&params, &node->exchange), 0);
	node->serial = members_serial(node->members);
	watch_all(w, i);
}

static void store_set(struct node *node)
{
	test_free(node->stored);
	node->stored_len = members_bytes(node->members);
	node->stored = test_malloc(node->stored_len);
	members_encode(node->members, node->stored);
	node->serial = members_serial(node->members);
}

/* Messages from or to a start that has ended do not arrive. */
static void drop_flights_of(struct world *w, unsigned i)
{
	for (unsigned f = 0; f < w->n_flights;)
		if (w->flights[f].from == i || w->flights[f].to == i)
			w->flights[f] = w->flights[--w->n_flights];
		else
			f++;
}

static void restart(struct world *w, unsigned i, bool with_store, bool noticed)
{
	struct node *node = &w->nodes[i];

	drop_flights_of(w, i);
	exchange_destroy(node->exchange);
	members_destroy(node->members);
	if (with_store && node->stored)
		assert_int_equal(members_decode(node->stored, node->stored_len, &node->members), 0);
	else
		assert_int_equal(members_create(&node->members), 0);
	start_exchange(w, i);
	for (unsigned k = 0; noticed && k < w->n; k++)
		if (k != i && w->nodes[k].index[i] != NOWHERE)
			exchange_restarted(w->nodes[k].exchange, w->nodes[k].index[i]);
}

/* Links all pairs, or a ring and random others. */
static void link_nodes(struct world *w, bool mesh)
{
	for (unsigned i = 0; i < w->n; i++)
		for (unsigned k = 0; k < i; k++)
			w->nodes[i].linked[k] = w->nodes[k].linked[i] = mesh || i == k + 1 ||
									(k == 0 && i == w->n - 1) ||
									prng_below(&w->prng,
										w->n) == 0;
}

static struct world *world_create(unsigned n, bool mesh, uint64_t seed)
{
	struct world *w = test_calloc(1, sizeof(*w));

	w->now = 100 * SECOND;
	w->n = n;
	w->room = ROOM;
	prng_seed(&w->prng, seed);
	link_nodes(w, mesh);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(members_create(&w->nodes[i].members), 0);
		start_exchange(w, i);
	}
	return w;
}

static void world_destroy(struct world *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		exchange_destroy(w->nodes[i].exchange);
		members_destroy(w->nodes[i].members);
		test_free(w->nodes[i].stored);
	}
	free(w->flights);
	test_free(w);
}

END_POINTER(world_destroy, struct world *)

static void post(struct world *w, const struct flight *flight)
{
	struct flight *copy;

	if (!can_reach(w, flight->from, flight->to) || prng_percent(&w->prng, w->loss))
		return;
	if (w->n_flights == w->flights_room) {
		w->flights_room = 2 * w->flights_room + 64;
		w->flights = realloc(w->flights, w->flights_room * sizeof(*w->flights));
		assert_non_null(w->flights);
	}
	copy = &w->flights[w->n_flights++];
	*copy = *flight;
	copy->due_ns = w->now + STEP + prng_within(&w->prng, w->delay_ns + 1);
}

static void check_message(const struct world *w, const struct node *node, size_t len, unsigned peer)
{
	assert_true(len >= EXCHANGE_HEAD && len <= w->room);
	assert_true(peer < node->n && node->roster[peer] < w->n);
	assert_ptr_not_equal(&w->nodes[node->roster[peer]], node);
}

static void send_all(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];
	bool due = exchange_next(node->exchange, w->now) <= w->now;
	struct flight flight = {.from = i};
	unsigned peer, n = 0;

	exchange_tick(node->exchange);
	while ((flight.len = exchange_send(node->exchange, w->now, flight.buf, w->room, &peer)) >
		0) {
		check_message(w, node, flight.len, peer);
		flight.to = node->roster[peer];
		w->sent++;
		w->bytes += flight.len;
		post(w, &flight);
		if (prng_percent(&w->prng, w->loss))
			post(w, &flight); /* a second copy, perhaps later */
		n++;
	}
	assert_int_equal(n > 0, due);
	assert_true(n <= EXCHANGE_TICK_MOST);
	assert_true(n == EXCHANGE_TICK_MOST || exchange_next(node->exchange, w->now) > w->now);
}

static void deliver(struct world *w)
{
	for (unsigned f = 0; f < w->n_flights;) {
		struct flight flight = w->flights[f];
		struct node *to = &w->nodes[flight.to];
		uint64_t digest, serial;

		if (flight.due_ns > w->now) {
			f++;
			continue;
		}
		w->flights[f] = w->flights[--w->n_flights];
		digest = members_digest(to->members);
		serial = members_serial(to->members);
		if (to->index[flight.from] != NOWHERE)
			assert_int_equal(exchange_receive(to->exchange, to->index[flight.from],
						 flight.buf, flight.len),
				0);
		assert_int_equal(digest != members_digest(to->members),
			serial != members_serial(to->members));
	}
}

static void step(struct world *w)
{
	w->now += STEP;
	for (unsigned i = 0; i < w->n; i++)
		send_all(w, i);
	deliver(w);
	for (unsigned i = 0; i < w->n; i++)
		if (members_serial(w->nodes[i].members) != w->nodes[i].serial)
			store_set(&w->nodes[i]);
}

static void run_for(struct world *w, uint64_t ns)
{
	for (uint64_t end = w->now + ns; w->now < end;)
		step(w);
}

static bool is_equal_everywhere(const struct world *w, const struct members *want)
{
	for (unsigned i = 0; i < w->n; i++)
		if (members_digest(w->nodes[i].members) != members_digest(want))
			return false;
	return true;
}

static struct members *join_all(const struct world *w)
{
	struct members *all;

	assert_int_equal(members_create(&all), 0);
	for (unsigned i = 0; i < w->n; i++)
		for (unsigned at = 0; at < members_count(w->nodes[i].members); at++)
			assert_true(members_merge(all, members_at(w->nodes[i].members, at)) >= 0);
	return all;
}

/* Messages that a whole set needs at most. */
static unsigned messages_of(const struct world *w, const struct members *all)
{
	size_t fit = w->room - EXCHANGE_HEAD - MEMBER_BYTES_MOST;

	return 1 + (unsigned)(members_bytes(all) / fit);
}

/* Runs until all sets are equal, and checks the bound, and that nothing is sent after it. */
static uint64_t check_becomes_equal(struct world *w, unsigned hops)
{
	ENDED_BY(members_destroy_at) struct members *all = join_all(w);
	uint64_t start = w->now, took, sent;
	uint64_t bound = EXCHANGE_REST_NS + ROUND * (messages_of(w, all) + hops);

	while (!is_equal_everywhere(w, all)) {
		step(w);
		assert_true(w->now - start <= bound);
	}
	took = w->now - start;
	run_for(w, EXCHANGE_REST_NS + 4 * ARRIVAL);
	assert_true(is_equal_everywhere(w, all));
	assert_int_equal(w->n_flights, 0);
	sent = w->sent;
	run_for(w, 10 * SECOND);
	assert_int_equal(w->sent, sent);
	for (unsigned i = 0; i < w->n; i++)
		for (unsigned k = 0; k < w->n; k++) {
			const struct node *node = &w->nodes[i];

			if (k == i || !node->linked[k])
				continue;
			assert_true(exchange_confirmed(node->exchange, node->index[k]));
			assert_true(exchange_speaks(node->exchange, node->index[k]));
		}
	return took;
}

static void operate(struct world *w, unsigned i, unsigned names)
{
	struct members *m = w->nodes[i].members;
	struct member_address address = {4, {10, 0, 0, (uint8_t)prng_below(&w->prng, 3)}, 7946};
	uint8_t key[MEMBER_KEY] = {(uint8_t)prng_below(&w->prng, 2)};
	char name[MEMBER_NAME_MAX];

	snprintf(name, sizeof(name), "limiter-%u", prng_below(&w->prng, names));
	switch (prng_below(&w->prng, 6)) {
	case 0:
		(void)members_seed(m, name, &address, key[0] ? key : NULL);
		break;
	case 1:
	case 2:
		(void)members_add(m, name, &address, key[0] ? key : NULL, prng_next(&w->prng));
		break;
	case 3:
		(void)members_remove(m, name, prng_below(&w->prng, 2));
		break;
	case 4:
		(void)members_left(m, name);
		break;
	default:
		(void)members_move(m, name, &address);
	}
}

/* A node takes its roster in another order; some peers are forgotten, and are new again. */
static void regroup(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];
	unsigned to[NODES], before[NODES];

	memcpy(before, node->index, sizeof(before));
	shuffle_roster(w, i);
	for (unsigned at = 0; at < node->n; at++) {
		unsigned was = before[node->roster[at]];

		if (was != NOWHERE)
			to[was] = prng_below(&w->prng, 4) ? at : node->n;
	}
	exchange_regroup(node->exchange, node->n, node->index[i], to);
	watch_all(w, i);
}

static void part_or_heal(struct world *w)
{
	w->parted = !w->parted;
	for (unsigned i = 0; i < w->n; i++)
		watch_all(w, i);
}

/* Parts the nodes while both sides still count each other as alive. */
static void part_unnoticed(struct world *w, uint64_t ns)
{
	bool before = w->parted;

	w->parted = true;
	run_for(w, ns);
	w->parted = before;
}

static void disturb(struct world *w, unsigned names)
{
	unsigned i = prng_below(&w->prng, w->n), what = prng_below(&w->prng, 20);

	if (what < 12)
		operate(w, i, names);
	else if (what < 14)
		restart(w, i, prng_below(&w->prng, 3) > 0, true);
	else if (what < 16)
		regroup(w, i);
	else if (what < 17)
		part_or_heal(w);
	else if (what < 18)
		part_unnoticed(w, prng_within(&w->prng, 3 * SECOND));
	else
		run_for(w, prng_within(&w->prng, SECOND));
}

static uint64_t run_seed(uint64_t seed, unsigned n, bool mesh, unsigned disturbances)
{
	ENDED_BY(world_destroy_at) struct world *w = world_create(n, mesh, seed);
	unsigned names = 1 + prng_below(&w->prng, 60);

	w->loss = prng_below(&w->prng, 31);
	w->delay_ns = prng_within(&w->prng, ARRIVAL);
	for (unsigned k = 0; k < disturbances; k++) {
		disturb(w, names);
		run_for(w, prng_below(&w->prng, 4) ? STEP : prng_within(&w->prng, 200 * MS));
	}
	if (w->parted)
		part_or_heal(w);
	for (unsigned k = 0; k < n; k++) /* at several limiters in one moment */
		operate(w, k, names);
	w->loss = 0;
	return check_becomes_equal(w, mesh ? 2 : n);
}

TEST(test_small_groups)
{
	for (uint64_t seed = 1; seed <= ROUNDS(120); seed++)
		run_seed(seed, 2 + (unsigned)(seed % 9), seed % 3 > 0, 60);
}

TEST(test_large_groups)
{
	for (uint64_t seed = 1; seed <= ROUNDS(8); seed++)
		run_seed(seed, 16 + (unsigned)(seed % 4) * 16, seed % 2, 40);
}

TEST(test_200_limiters)
{
	run_seed(1, 200, true, 20);
}

static void add_limiter(struct world *w, unsigned i, unsigned number)
{
	const struct member_address address = {4, {10, 0, 0, 1}, 7946};
	char name[MEMBER_NAME_MAX];

	snprintf(name, sizeof(name), "limiter-%u", number);
	assert_int_equal(members_add(w->nodes[i].members, name, &address, NULL, 1), 0);
}

/* Without loss, all limiters of a mesh have a change one way after it, and confirm it two later. */
TEST(test_change_is_immediate)
{
	ENDED_BY(world_destroy_at) struct world *w = world_create(16, true, 1);

	run_for(w, SECOND);
	add_limiter(w, 3, 0);
	run_for(w, 2 * STEP);
	assert_true(is_equal_everywhere(w, w->nodes[3].members));
	run_for(w, 4 * STEP);
	for (unsigned k = 0; k < w->n; k++)
		assert_int_equal(
			exchange_confirmed(w->nodes[3].exchange, w->nodes[3].index[k]), k != 3);
}

/* Entries go one way only: an empty set is filled, and the sender gets none of them back. */
TEST(test_only_missing_entries)
{
	ENDED_BY(world_destroy_at) struct world *w = world_create(2, true, 1);
	struct exchange_counters counters;
	size_t entries;

	for (unsigned k = 0; k < 200; k++)
		add_limiter(w, 0, k);
	entries = members_bytes(w->nodes[0].members);
	check_becomes_equal(w, 1);
	counters = exchange_counters(w->nodes[1].exchange);
	assert_int_equal(counters.merged, 200);
	assert_true(counters.rejected == 0 && counters.refused == 0);
	assert_int_equal(counters.sent, exchange_counters(w->nodes[0].exchange).received);
	assert_int_equal(counters.received, exchange_counters(w->nodes[0].exchange).sent);
	assert_true(w->bytes < entries + w->sent * EXCHANGE_HEAD);
	w->bytes = w->sent = 0;
	add_limiter(w, 1, 200);
	check_becomes_equal(w, 1);
	assert_true(w->sent <= 3 && w->bytes < 3 * EXCHANGE_HEAD + MEMBER_BYTES_MOST);
}

/* A version without this exchange gets short messages, and few. */
TEST(test_silent_peer)
{
	ENDED_BY(world_destroy_at) struct world *w = world_create(2, true, 1);
	struct node *node = &w->nodes[0];
	uint8_t buf[ROOM];
	unsigned peer, n = 0;
	size_t len;

	for (unsigned k = 0; k < 200; k++)
		add_limiter(w, 0, k);
	for (unsigned second = 0; second < 600; second++)
		for (unsigned k = 0; k < 100; k++, w->now += STEP) {
			exchange_tick(node->exchange);
			while ((len = exchange_send(node->exchange, w->now, buf, w->room, &peer)) >
				0) {
				assert_int_equal(len, EXCHANGE_HEAD);
				n++;
			}
		}
	assert_in_range(n, 600 / 5, 600 / 5 + 8);
	assert_false(exchange_speaks(node->exchange, node->index[1]));
	assert_false(exchange_confirmed(node->exchange, node->index[1]));
}

/* Two full sets never become equal: messages become few, and a further change is sent. */
TEST(test_never_equal)
{
	ENDED_BY(world_destroy_at) struct world *w = world_create(2, true, 1);
	struct member_entry entry = {.name = "a", .id = name_hash("a"), .address = {.family = 4}};
	struct members *m = w->nodes[1].members;
	uint64_t sent;

	for (unsigned k = 0; k < MEMBERS_MOST; k++) {
		entry.born = k;
		assert_int_equal(members_merge(m, &entry), 1);
	}
	add_limiter(w, 0, 0);
	run_for(w, 600 * SECOND);
	assert_int_equal(members_count(m), MEMBERS_MOST);
	assert_true(exchange_counters(w->nodes[1].exchange).refused > 0);
	assert_false(exchange_confirmed(w->nodes[0].exchange, w->nodes[0].index[1]));
	sent = w->sent;
	run_for(w, 600 * SECOND);
	/* Both send a message each ROUND, and each of these is answered. */
	assert_true(w->sent - sent <= 4 * 600 * SECOND / ROUND);
	members_merge(m, members_numbered(m, 5)); /* no change */
	assert_int_equal(members_remove(w->nodes[0].members, "limiter-0", true), 0);
	entry.born = 77;
	entry.state = MEMBER_LEFT;
	assert_int_equal(members_merge(w->nodes[0].members, &entry), 1);
	run_for(w, SECOND);
	assert_int_equal(members_numbered(m, members_number(m, &entry))->state, MEMBER_LEFT);
}

/* If a limiter loses its set and its peers miss its restart, it still gets all entries. */
TEST(test_unnoticed_restart)
{
	for (uint64_t seed = 1; seed <= ROUNDS(20); seed++) {
		ENDED_BY(world_destroy_at) struct world *w = world_create(3, true, seed);

		for (unsigned k = 0; k < 30; k++)
			add_limiter(w, prng_below(&w->prng, 3), k);
		run_for(w, prng_within(&w->prng, 2 * SECOND));
		restart(w, prng_below(&w->prng, 3), false, false);
		run_for(w, 30 * SECOND);
		check_becomes_equal(w, 2);
	}
}

/* Altered and cut messages are rejected as a whole, or are other valid messages. */
TEST(test_altered_messages)
{
	ENDED_BY(world_destroy_at) struct world *w = world_create(2, true, 1);
	struct exchange *from = w->nodes[0].exchange, *to = w->nodes[1].exchange;
	unsigned to_index = w->nodes[0].index[1], from_index = w->nodes[1].index[0], peer;
	uint8_t buf[ROOM], wrong[ROOM];
	uint64_t rejected = 0;
	size_t len;

	len = exchange_send(to, w->now, buf, ROOM, &peer);
	assert_int_equal(exchange_receive(from, to_index, buf, len), 0);
	for (unsigned k = 0; k < 5; k++)
		add_limiter(w, 0, k);
	len = exchange_send(from, w->now, buf, ROOM, &peer);
	assert_true(len > EXCHANGE_HEAD + 5 * MEMBER_BYTES_LEAST);
	for (unsigned round = 0; round < 5000; round++) {
		uint64_t digest = members_digest(w->nodes[1].members);
		size_t cut = round < len ? round : len;
		int ret;

		memcpy(wrong, buf, len);
		for (unsigned k = prng_below(&w->prng, 4); round >= len && k > 0; k--)
			wrong[prng_below(&w->prng, (uint32_t)len)] = (uint8_t)prng_next(&w->prng);
		ret = exchange_receive(to, from_index, wrong, cut);
		if (ret) {
			assert_int_equal(ret, -EBADMSG);
			assert_int_equal(members_digest(w->nodes[1].members), digest);
			rejected++;
		}
		assert_int_equal(exchange_counters(to).rejected, rejected);
	}
	assert_true(rejected > 1000);
	assert_int_equal(exchange_receive(to, 2, buf, len), -EBADMSG);
	assert_int_equal(exchange_receive(to, w->nodes[1].index[1], buf, len), -EBADMSG);
	buf[0]++;
	assert_int_equal(exchange_receive(to, from_index, buf, len), -EBADMSG);
	buf[0]--;
	buf[1] |= 2;
	assert_int_equal(exchange_receive(to, from_index, buf, len), -EBADMSG);
	assert_int_equal(exchange_counters(to).rejected, rejected + 4);
	buf[1] &= 1;
	assert_int_equal(exchange_receive(to, from_index, buf, len), 0);
	for (unsigned at = 0; at < members_count(w->nodes[0].members); at++)
		assert_int_not_equal(
			members_number(w->nodes[1].members, members_at(w->nodes[0].members, at)),
			MEMBERS_NONE);
}

TEST(test_refused_calls)
{
	ENDED_BY(world_destroy_at) struct world *w = world_create(3, true, 1);
	struct exchange_params params = {.n = 1, .self = 1, .members = w->nodes[0].members};
	struct exchange *e = w->nodes[0].exchange;
	unsigned fewer[] = {3, 3, 3};
	uint8_t buf[ROOM];
	unsigned peer;

	assert_int_equal(exchange_create(&params, &e), -EINVAL);
	params.self = 0;
	params.every_ns = EXCHANGE_REST_NS + 1;
	assert_int_equal(exchange_create(&params, &e), -EINVAL);
	run_for(w, SECOND);
	for (unsigned k = 1; k < 3; k++)
		assert_true(exchange_confirmed(e, w->nodes[0].index[k]));
	fewer[w->nodes[0].index[1]] = 1;
	fewer[w->nodes[0].index[0]] = 2;
	exchange_regroup(e, 3, 2, fewer);
	assert_false(exchange_speaks(e, 0));
	assert_true(exchange_speaks(e, 1) && exchange_confirmed(e, 1));
	exchange_restarted(e, 1);
	assert_false(exchange_speaks(e, 1) || exchange_confirmed(e, 1));
	exchange_tick(e);
	assert_int_equal(exchange_send(e, w->now, buf, EXCHANGE_MESSAGE_MIN - 1, &peer), 0);
	assert_int_equal(exchange_send(e, w->now, buf, EXCHANGE_MESSAGE_MIN, &peer), EXCHANGE_HEAD);
	assert_int_equal(peer, 1);
}
