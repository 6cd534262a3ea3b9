/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Random datagrams of several limiters from several addresses. The oracle reads the whole history
 * backwards: the two addresses that sent last, unless they have been silent for too long.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "senders.h"

END_POINTER(senders_destroy, struct senders *)

#define LIMITERS  5
#define ADDRESSES 4
#define DATAGRAMS 400

static const char *const texts[ADDRESSES] = {
	"192.0.2.1:4700", "192.0.2.1:4701", "[2001:db8::1]:4700", "[2001:db8::2]:4700"};

static unsigned n_two; /* times at which a limiter had two addresses */

struct datagram {
	unsigned limiter, address;
	uint64_t at_ns;
};

/* The newest two of the addresses of a limiter, and how many there are. */
static unsigned find_newest(const struct datagram *history, unsigned n, unsigned limiter,
	uint64_t now, unsigned found[2])
{
	unsigned n_found = 0;

	while (n-- > 0 && n_found < 2) {
		if (history[n].limiter != limiter || now - history[n].at_ns >= SENDERS_RECENT_NS)
			continue;
		if (n_found == 0 || found[0] != history[n].address)
			found[n_found++] = history[n].address;
	}
	return n_found;
}

static void expect_text(const struct senders *senders, const struct datagram *history, unsigned n,
	unsigned limiter, uint64_t now)
{
	unsigned found[2], n_found = find_newest(history, n, limiter, now, found);
	char text[SENDERS_TEXT], one[SENDERS_TEXT], other[SENDERS_TEXT];

	senders_write(senders, limiter, now, text);
	if (n_found == 0) {
		assert_string_equal(text, "an unknown address");
	} else if (n_found == 1) {
		assert_string_equal(text, texts[found[0]]);
	} else {
		snprintf(one, sizeof(one), "%s and %s", texts[found[0]], texts[found[1]]);
		snprintf(other, sizeof(other), "%s and %s", texts[found[1]], texts[found[0]]);
		assert_true(strcmp(text, one) == 0 || strcmp(text, other) == 0);
	}
}

/* Returns true if the limiter's address has changed often enough, datagram by datagram. */
static bool takes_turns(const struct datagram *history, unsigned n, unsigned limiter, uint64_t now)
{
	unsigned last = ADDRESSES, turns = 0;

	for (unsigned i = 0; i < n; i++) {
		if (history[i].limiter != limiter)
			continue;
		if (last != ADDRESSES && history[i].address != last &&
			now - history[i].at_ns < SENDERS_TURNS_NS)
			turns++;
		last = history[i].address;
	}
	return turns >= SENDERS_TURNS;
}

static void one_history(uint64_t seed)
{
	static const unsigned longest_ms[8] = {100, 300, 1000, 1000, 3000, 3000, 10000, 180000};
	ENDED_BY(senders_destroy_at) struct senders *senders;
	struct sockaddr_storage addresses[ADDRESSES];
	struct datagram history[DATAGRAMS];
	uint64_t now = SECOND_NS;
	struct prng prng;
	bool were_two;
	socklen_t len;

	prng_seed(&prng, seed);
	for (unsigned i = 0; i < ADDRESSES; i++)
		assert_int_equal(address_parse(texts[i], &addresses[i], &len), 0);
	assert_int_equal(senders_create(LIMITERS, &senders), 0);
	for (unsigned n = 0; n < DATAGRAMS; n++) {
		for (unsigned i = 0; i < LIMITERS; i++) {
			expect_text(senders, history, n, i, now);
			assert_true(
				senders_two(senders, i, now) == takes_turns(history, n, i, now));
			n_two += senders_two(senders, i, now);
		}
		now += prng_below(&prng, longest_ms[prng_below(&prng, 8)]) * MS_NS;
		history[n] = (struct datagram){.limiter = prng_below(&prng, LIMITERS),
			.address = prng_below(&prng, ADDRESSES),
			.at_ns = now};
		were_two = senders_two(senders, history[n].limiter, now);
		assert_true(senders_note(senders, history[n].limiter,
				    &addresses[history[n].address], now) ==
			    (!were_two && takes_turns(history, n + 1, history[n].limiter, now)));
	}
}

TEST(test_histories)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		one_history(seed);
	assert_true(n_two > 100);
}

TEST(test_none)
{
	char text[SENDERS_TEXT];

	assert_string_equal(senders_write(NULL, 0, SECOND_NS, text), "an unknown address");
	senders_destroy(NULL);
}
