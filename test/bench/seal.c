/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of sealing and opening a datagram with the key of a pair, and of computing the keys of a
 * whole roster at a start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "gossip/keyring.h"

#define ROUNDS 400
#define BATCH  500
#define PEERS  100
#define BODIES 2

static const uint8_t group_key[DATAGRAM_KEY] = "the key of a group that is timed";

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Returns nanoseconds for one datagram, sealed and opened, each to another limiter. */
static double time_batch(const struct keyring *ring, size_t body)
{
	uint8_t buf[DATAGRAM_MAX];
	struct datagram_header header = {.version = DATAGRAM_VERSION,
		.flags = DATAGRAM_SEALED,
		.key = keyring_name(ring, true)};
	double began = now_ns();

	for (unsigned i = 0; i < BATCH; i++) {
		struct cursor cursor = {.at = buf, .end = buf + sizeof(buf)};
		unsigned to = 1 + i % (PEERS - 1);
		const uint8_t *key;
		size_t len;

		header.counter = i;
		header.random = randombytes_random();
		datagram_write_header(&cursor, &header);
		memset(cursor.at, (int)i, body);
		key = keyring_find(ring, to, header.key);
		len = datagram_seal(buf, (size_t)(cursor.at - buf) + body, key);
		if (datagram_open(buf, len, key) < 0)
			abort();
	}
	return (now_ns() - began) / BATCH;
}

static double median_of(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare_doubles);
	return values[ROUNDS / 2];
}

static double time_keyring(const struct roster *roster, const struct keyring_params *params)
{
	double began = now_ns();
	struct keyring *ring;

	if (keyring_create(params, &ring))
		abort();
	keyring_destroy(ring);
	return (now_ns() - began) / 1e3 / roster->n;
}

int main(void)
{
	static const size_t bodies[BODIES] = {38, 1100};
	static uint8_t publics[PEERS][DATAGRAM_KEY];
	static double took[ROUNDS];
	uint8_t secret[DATAGRAM_KEY];
	struct roster *roster;
	struct keyring_params params = {.n_keys = 1, .keys = &group_key};
	struct keyring *ring;
	uint32_t ids[PEERS];
	double plain;

	if (sodium_init() < 0)
		return 1;
	for (unsigned i = 0; i < PEERS; i++) {
		ids[i] = i;
		randombytes_buf(secret, sizeof(secret));
		crypto_scalarmult_base(publics[i], secret);
	}
	crypto_scalarmult_base(publics[0], secret);
	if (roster_create(ids, PEERS, &roster))
		return 1;
	params.roster = roster;
	plain = time_keyring(roster, &params);
	params.secret = secret;
	params.publics = publics;
	printf("keys at a start: %.2f us a limiter, with identities %.1f us\n", plain,
		time_keyring(roster, &params));
	if (keyring_create(&params, &ring))
		return 1;
	for (unsigned b = 0; b < BODIES; b++) {
		for (unsigned i = 0; i < ROUNDS; i++)
			took[i] = time_batch(ring, bodies[b]);
		printf("body of %zu bytes, sealed and opened: %.0f ns\n", bodies[b],
			median_of(took));
	}
	keyring_destroy(ring);
	roster_destroy(roster);
	return 0;
}
