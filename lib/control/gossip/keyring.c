/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of one limiter: one for each other limiter of the group, made of the group's key and
 * both names.
 */
#include "gossip/keyring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/wire.h"

#define KINDS (2 * KEYRING_GROUP_KEYS) /* for each group key: without identities, and with them */

/* Each hashed text begins with one of these, so no hash ever has two meanings. */
static const char name_label[] = "weir gossip 2 name", pair_label[] = "weir gossip 2 pair";

struct keyring {
	unsigned n_keys, n; /* group keys; limiters */
	bool identities, required;
	uint32_t names[KINDS];           /* 0: there is none of this kind */
	uint8_t (*groups)[DATAGRAM_KEY]; /* KEYRING_GROUP_KEYS, all secrets by one allocation */
	uint8_t (*pairs)[KINDS][DATAGRAM_KEY]; /* n */
};

static uint32_t hash_name(const uint8_t key[DATAGRAM_KEY], bool identity)
{
	crypto_generichash_state state;
	uint8_t kind = identity, hash[crypto_generichash_BYTES_MIN];
	uint32_t name;

	crypto_generichash_init(&state, key, DATAGRAM_KEY, sizeof(hash));
	crypto_generichash_update(&state, (const uint8_t *)name_label, sizeof(name_label));
	crypto_generichash_update(&state, &kind, sizeof(kind));
	crypto_generichash_final(&state, hash, sizeof(hash));
	sodium_memzero(&state, sizeof(state));
	name = read_be32(hash);
	return name ? name : 1;
}

/* Inputs of both limiters of a pair to its key, in an order that is the same for both. */
struct pair_terms {
	uint32_t low, high;
	const uint8_t *low_public, *high_public, *shared; /* NULL: without identities */
};

static void hash_pair(const uint8_t group[DATAGRAM_KEY], const struct pair_terms *terms,
	uint8_t key[DATAGRAM_KEY])
{
	crypto_generichash_state state;
	uint8_t ids[9];

	*wire_put32(wire_put32(ids, terms->low), terms->high) = terms->shared != NULL;
	crypto_generichash_init(&state, group, DATAGRAM_KEY, DATAGRAM_KEY);
	crypto_generichash_update(&state, (const uint8_t *)pair_label, sizeof(pair_label));
	crypto_generichash_update(&state, ids, sizeof(ids));
	if (terms->shared) {
		crypto_generichash_update(&state, terms->low_public, DATAGRAM_KEY);
		crypto_generichash_update(&state, terms->high_public, DATAGRAM_KEY);
		crypto_generichash_update(&state, terms->shared, DATAGRAM_KEY);
	}
	crypto_generichash_final(&state, key, DATAGRAM_KEY);
	sodium_memzero(&state, sizeof(state));
}

/* Makes all keys with limiter i. Returns 0, or -EINVAL: its public key gives no secret. */
static int make_pair(struct keyring *ring, const struct keyring_params *p, unsigned i)
{
	const struct roster *roster = p->roster;
	bool first = roster->ids[p->self] < roster->ids[i];
	unsigned low = first ? p->self : i, high = first ? i : p->self;
	struct pair_terms terms = {.low = roster->ids[low], .high = roster->ids[high]};
	uint8_t shared[crypto_scalarmult_BYTES];

	for (unsigned k = 0; k < ring->n_keys; k++)
		hash_pair(ring->groups[k], &terms, ring->pairs[i][2 * k]);
	if (!ring->identities)
		return 0;
	if (crypto_scalarmult(shared, p->secret, p->publics[i]))
		return -EINVAL;
	terms.low_public = p->publics[low];
	terms.high_public = p->publics[high];
	terms.shared = shared;
	for (unsigned k = 0; k < ring->n_keys; k++)
		hash_pair(ring->groups[k], &terms, ring->pairs[i][2 * k + 1]);
	sodium_memzero(shared, sizeof(shared));
	return 0;
}

static int name_keys(struct keyring *ring)
{
	for (unsigned k = 0; k < ring->n_keys; k++) {
		if (!ring->required)
			ring->names[2 * k] = hash_name(ring->groups[k], false);
		if (ring->identities)
			ring->names[2 * k + 1] = hash_name(ring->groups[k], true);
	}
	for (unsigned a = 0; a < KINDS; a++)
		for (unsigned b = 0; b < a; b++)
			if (ring->names[a] && ring->names[a] == ring->names[b])
				return -EEXIST;
	return 0;
}

static bool keyring_params_valid(const struct keyring_params *p)
{
	uint8_t own[crypto_scalarmult_BYTES];

	if (!p->roster || p->self >= p->roster->n || p->n_keys < 1 ||
		p->n_keys > KEYRING_GROUP_KEYS || !p->keys || !p->secret != !p->publics)
		return false;
	return !p->secret || (crypto_scalarmult_base(own, p->secret) == 0 &&
				     memcmp(own, p->publics[p->self], sizeof(own)) == 0);
}

static int keyring_fill(struct keyring *ring, const struct keyring_params *p)
{
	int ret = 0;

	ring->groups = sodium_allocarray(
		KEYRING_GROUP_KEYS + (size_t)KINDS * ring->n, DATAGRAM_KEY);
	if (!ring->groups)
		return -ENOMEM;
	ring->pairs = (uint8_t(*)[KINDS][DATAGRAM_KEY])(ring->groups + KEYRING_GROUP_KEYS);
	memcpy(ring->groups, p->keys, p->n_keys * sizeof(*p->keys));
	ret = name_keys(ring);
	for (unsigned i = 0; ret == 0 && i < ring->n; i++)
		if (i != p->self)
			ret = make_pair(ring, p, i);
	return ret;
}

int keyring_create(const struct keyring_params *p, struct keyring **out)
{
	struct keyring *ring;
	int ret;

	if (!keyring_params_valid(p))
		return -EINVAL;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->n_keys = p->n_keys;
	ring->n = p->roster->n;
	ring->identities = p->secret != NULL;
	ring->required = ring->identities && !p->identities_optional;
	ret = keyring_fill(ring, p);
	if (ret) {
		keyring_destroy(ring);
		return ret;
	}
	*out = ring;
	return 0;
}

void keyring_destroy(struct keyring *ring)
{
	if (!ring)
		return;
	sodium_free(ring->groups);
	free(ring);
}

bool keyring_has_identities(const struct keyring *ring)
{
	return ring && ring->identities;
}

bool keyring_requires_identities(const struct keyring *ring)
{
	return ring && ring->required;
}

uint32_t keyring_name(const struct keyring *ring, bool identity)
{
	return ring->names[ring->identities && (ring->required || identity)];
}

uint32_t keyring_also(const struct keyring *ring)
{
	return ring->names[2 + ring->identities];
}

static unsigned find_kind(const struct keyring *ring, uint32_t name)
{
	unsigned kind = 0;

	while (kind < KINDS && (ring->names[kind] == 0 || ring->names[kind] != name))
		kind++;
	return kind;
}

const uint8_t *keyring_find(const struct keyring *ring, unsigned i, uint32_t name)
{
	unsigned kind = find_kind(ring, name);

	return kind < KINDS && i < ring->n ? ring->pairs[i][kind] : NULL;
}

bool keyring_is_identity(const struct keyring *ring, uint32_t name)
{
	unsigned kind = find_kind(ring, name);

	return kind < KINDS && kind % 2;
}

const uint8_t *keyring_group(const struct keyring *ring, unsigned i)
{
	return i < ring->n_keys ? ring->groups[i] : NULL;
}

static_assert(crypto_scalarmult_BYTES == DATAGRAM_KEY, "X25519");
static_assert(crypto_scalarmult_SCALARBYTES == DATAGRAM_KEY, "X25519");
static_assert(crypto_generichash_KEYBYTES == DATAGRAM_KEY, "BLAKE2b");
