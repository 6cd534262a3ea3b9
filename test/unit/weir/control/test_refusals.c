/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The limiter that a datagram came from by its address, compared with a list; and the time since
 * when its datagrams are rejected.
 */
#include "check.h"

#include <arpa/inet.h>

#include "base/prng.h"
#include "base/time.h"
#include "policy/value.h"
#include "differs.h"

#define LIMITERS 200
#define HOSTS    60 /* so that some have several limiters */

static void set_address(struct peer_config *peer, const char *text)
{
	assert_int_equal(address_parse(text, &peer->address, &peer->address_len), 0);
}

static void write_address(bool v6, unsigned host, unsigned port, char *text, size_t len)
{
	snprintf(text, len, v6 ? "[2001:db8::%u]:%u" : "10.0.0.%u:%u", host, port);
}

/*
 * A linear search that refusals_source() must agree with. The port decides if several limiters have
 * the host.
 */
static unsigned source_in_list(const struct gossip_config *config, const char *text, unsigned named)
{
	size_t host = (size_t)(strrchr(text, ':') - text);
	unsigned first = config->n_roster, exact = config->n_roster;

	for (unsigned i = 0; i < config->n_roster; i++) {
		char own[ADDRESS_TEXT_MAX];

		address_format(&config->roster[i].address, own, sizeof(own));
		if ((size_t)(strrchr(own, ':') - own) != host || strncmp(own, text, host) != 0)
			continue;
		if (i == named)
			return i;
		if (first == config->n_roster)
			first = i;
		if (strcmp(own, text) == 0)
			exact = i;
	}
	return exact < config->n_roster ? exact : first;
}

static void one_roster_of_sources(uint64_t seed)
{
	struct gossip_config config = {.n_roster = LIMITERS};
	struct refusals *refusals;
	struct prng prng;
	char text[ADDRESS_TEXT_MAX];

	prng_seed(&prng, seed);
	config.roster = test_calloc(LIMITERS, sizeof(*config.roster));
	for (unsigned i = 0; i < LIMITERS; i++) {
		write_address(seed % 2, 1 + i * 7 % HOSTS, 7000 + i / HOSTS, text, sizeof(text));
		set_address(&config.roster[i], text);
	}
	assert_int_equal(refusals_create(&config, &refusals), 0);
	for (unsigned k = 0; k < 2000; k++) {
		unsigned named = (unsigned)(prng_next(&prng) % (LIMITERS + 1)), found;
		struct peer_config from = {0};

		write_address(seed % 2 ^ prng_percent(&prng, 10),
			(unsigned)(1 + prng_next(&prng) % (HOSTS + 5)),
			(unsigned)(7000 + prng_next(&prng) % 5), text, sizeof(text));
		set_address(&from, text);
		found = refusals_source(refusals, &from.address, named);
		assert_int_equal(found, source_in_list(&config, text, named));
	}
	refusals_destroy(refusals);
	test_free(config.roster);
}

TEST(test_sources)
{
	for (uint64_t seed = 0; seed < ROUNDS(10); seed++)
		one_roster_of_sources(seed);
}

static uint64_t refused_since(struct refusals *refusals, uint64_t spoke_ns, uint64_t now_ns)
{
	refusals_note(refusals, 1, GOSSIP_FORGED, spoke_ns, now_ns);
	assert_int_equal(refusals_of(refusals, 1)->last_ns, now_ns);
	return refusals_of(refusals, 1)->since_ns;
}

/*
 * The time starts with the first rejected datagram after the limiter's last valid one, and again
 * after a long gap.
 */
TEST(test_refused_since)
{
	struct gossip_config config = {.n_roster = 2};
	struct refusals *refusals;

	config.roster = test_calloc(2, sizeof(*config.roster));
	set_address(&config.roster[0], "10.0.0.1:1");
	set_address(&config.roster[1], "10.0.0.2:1");
	assert_int_equal(refusals_create(&config, &refusals), 0);
	assert_null(refusal_name(refusals_of(refusals, 1)));
	assert_int_equal(refused_since(refusals, 0, 100 * SECOND_NS), 100 * SECOND_NS);
	assert_int_equal(refused_since(refusals, 0, 102 * SECOND_NS), 100 * SECOND_NS);
	assert_int_equal(
		refused_since(refusals, 101 * SECOND_NS, 103 * SECOND_NS), 103 * SECOND_NS);
	assert_int_equal(
		refused_since(refusals, 101 * SECOND_NS, 112 * SECOND_NS), 103 * SECOND_NS);
	assert_int_equal(
		refused_since(refusals, 101 * SECOND_NS, 122 * SECOND_NS), 122 * SECOND_NS);
	assert_string_equal(refusal_name(refusals_of(refusals, 1)), "forged");
	refusals_note(refusals, 1, REFUSED_SOURCE, 0, 123 * SECOND_NS);
	assert_string_equal(refusal_name(refusals_of(refusals, 1)), "wrong_source");
	assert_int_equal(refusals_of(refusals, 1)->n, 6);
	assert_int_equal(refusals_of(refusals, 0)->n, 0);
	refusals_destroy(refusals);
	test_free(config.roster);
}

/*
 * Stale datagrams, repeated ones and datagrams of another estimator do not count: keys are not
 * their problem.
 */
TEST(test_counted)
{
	assert_true(refusals_count(GOSSIP_FORGED) && refusals_count(GOSSIP_NO_KEY));
	assert_true(refusals_count(GOSSIP_UNSEALED) && refusals_count(GOSSIP_VERSION));
	assert_true(refusals_count(REFUSED_SOURCE) && refusals_count(GOSSIP_VERSION));
	assert_false(refusals_count(GOSSIP_ACCEPTED) || refusals_count(GOSSIP_MESSAGE));
	assert_false(refusals_count(GOSSIP_REPLAY) || refusals_count(GOSSIP_ESTIMATOR));
}
