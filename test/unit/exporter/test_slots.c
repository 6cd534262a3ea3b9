/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Crowds of random clients, slow and fast, with few addresses and with many. A new connection
 * always finds a slot, and the slowest client of an address loses its connection first.
 */
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/prng.h"
#include "slots.h"

#define TURNS     20000
#define ADDRESSES 6

static uint64_t key_of(const char *text)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};

	if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
		return slot_address((const struct sockaddr *)&four);
	assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
	return slot_address((const struct sockaddr *)&six);
}

TEST(test_addresses)
{
	static const struct {
		const char *one, *other;
		bool same;
	} rows[] = {
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"127.0.0.1", "127.9.9.9", true},
		{"127.0.0.1", "::1", true},
		{"127.0.0.1", "::ffff:127.0.0.1", true},
		{"127.0.0.1", "128.0.0.1", false},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::", true},
		{"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"fe80::1", "fe80::2", true},
		{"::2", "::1", false},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if ((key_of(rows[i].one) == key_of(rows[i].other)) != rows[i].same)
			fail_msg("%s and %s", rows[i].one, rows[i].other);
	assert_true(slot_is_loopback(key_of("::1")) && !slot_is_loopback(key_of("192.0.2.1")));
	assert_false(slot_is_loopback(slot_address(NULL)));
}

static unsigned count(const struct slot *slots, uint64_t address, bool all)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOTS_ALL; i++)
		n += slots[i].state > SLOT_ENDING && (all || slots[i].state != SLOT_STREAMS) &&
		     (all || slots[i].address == address);
	return n;
}

static bool is_slow(const struct slot *slot, uint64_t now)
{
	return now - slot->since_ms > SLOTS_GRACE_MS && slot->state <= SLOT_ANSWERED;
}

/* The victim is the slowest client of its address. */
static void check_victim(const struct slot *slots, const struct slot *victim,
	const struct slot *newcomer, uint64_t now)
{
	assert_ptr_not_equal(victim, newcomer);
	assert_true(victim->state > SLOT_ENDING && victim->state < SLOT_STREAMS);
	for (unsigned i = 0; i < SLOTS_ALL; i++) {
		const struct slot *other = &slots[i];

		if (other->address != victim->address || other == newcomer ||
			other->state <= SLOT_ENDING || other->state == SLOT_STREAMS)
			continue;
		assert_false(is_slow(other, now) && !is_slow(victim, now));
		assert_false(victim->state == SLOT_WAITS && other->state != SLOT_WAITS);
		if (other->state == victim->state)
			assert_true(victim->since_ms <= other->since_ms);
	}
}

static void admit(struct slot *slots, uint64_t address, uint64_t now)
{
	struct slot *slot = slot_take(slots), *victim;
	unsigned of_it;

	assert_non_null(slot);
	*slot = (struct slot){.state = SLOT_ASKS, .address = address, .since_ms = now};
	of_it = count(slots, address, false);
	victim = slot_to_end(slots, slot, now);
	if (!slot_is_loopback(address) && of_it > SLOTS_ADDRESS)
		assert_true(victim && victim->address == address);
	else
		assert_int_equal(victim != NULL, count(slots, 0, true) > SLOTS);
	if (!victim)
		return;
	check_victim(slots, victim, slot, now);
	if (victim->address != address)
		assert_true(count(slots, victim->address, false) >= of_it);
	*victim = (struct slot){0};
}

/* A connection goes on, or ends. */
static void move_one(struct slot *slot, const struct slot *slots, struct prng *prng, uint64_t now)
{
	static const enum slot_state next[] = {SLOT_FREE, SLOT_ASKS, SLOT_ANSWERED, SLOT_WAITS};
	unsigned streams = 0;

	if (slot->state == SLOT_FREE)
		return;
	for (unsigned i = 0; i < SLOTS_ALL; i++)
		streams += slots[i].state == SLOT_STREAMS;
	if (prng_next(prng) % 8 == 0 && streams < 16 && slot_may_stream(slots, slot->address))
		slot->state = SLOT_STREAMS;
	else if (slot->state != SLOT_STREAMS)
		slot->state = next[prng_next(prng) % 4];
	else if (prng_next(prng) % 8 == 0)
		slot->state = SLOT_FREE;
	slot->since_ms = now;
}

TEST(test_crowds)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct slot slots[SLOTS_ALL] = {0};
		uint64_t keys[ADDRESSES] = {key_of("127.0.0.1")}, now = 1000;
		struct prng prng;

		prng_seed(&prng, seed);
		for (unsigned i = 1; i < ADDRESSES; i++)
			keys[i] = key_of(i & 1 ? "192.0.2.1" : "2001:db8::1") + i;
		for (unsigned turn = 0; turn < TURNS; turn++) {
			now += prng_next(&prng) % (seed & 1 ? 20 : 2000);
			admit(slots, keys[prng_next(&prng) % (seed % ADDRESSES + 1)], now);
			if (prng_next(&prng) % 2)
				move_one(&slots[prng_next(&prng) % SLOTS_ALL], slots, &prng, now);
			assert_true(count(slots, 0, true) <= SLOTS);
			for (unsigned i = 1; i < ADDRESSES; i++)
				assert_true(count(slots, keys[i], false) <= SLOTS_ADDRESS);
		}
	}
}

/* A fast client succeeds with any number of slow ones at the same address. */
TEST(test_scraper)
{
	for (enum slot_state crowd = SLOT_ASKS; crowd <= SLOT_ANSWERED; crowd++) {
		struct slot slots[SLOTS_ALL] = {0}, *scraper;
		uint64_t here = key_of("127.0.0.1");

		for (unsigned i = 0; i < 4 * SLOTS; i++) {
			admit(slots, here, 100 + i);
			for (unsigned k = 0; k < SLOTS_ALL; k++)
				if (slots[k].state != SLOT_FREE)
					slots[k].state = crowd;
		}
		scraper = slot_take(slots);
		admit(slots, here, 1000);
		assert_true(scraper->state == SLOT_ASKS && scraper->since_ms == 1000);
		scraper->state = SLOT_WAITS;
		for (unsigned i = 0; i < 4 * SLOTS; i++)
			admit(slots, here, 1001 + i);
		assert_true(scraper->state == SLOT_WAITS && scraper->since_ms == 1000);
	}
}
