/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of one limiter: with each other limiter of the group one that nobody else has but those
 * two, made of the group's key and both their names. Whoever has the group's key can make each of
 * them; but where every limiter has an identity (an X25519 key pair, of which the public part
 * stands in everybody's roster), the secret that only these two can compute goes into it as well,
 * and then no limiter can speak as another. All of it is computed here, once: a datagram costs
 * nothing more.
 *
 * Up to two group keys are held at a time: the first seals, either opens, and a datagram says by
 * which, so that a group changes its key while it runs.
 *
 * The keys lie in memory that is not swapped, not dumped, and wiped when it is freed, as far as the
 * system lets libsodium do so. Read-only once made; any thread.
 */
#ifndef WEIR_GOSSIP_KEYRING_H
#define WEIR_GOSSIP_KEYRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gossip/datagram.h"
#include "group/roster.h"

#define KEYRING_GROUP_KEYS 2

struct keyring_params {
	const struct roster *roster;
	unsigned self; /* our index in it */
	unsigned n_keys;
	const uint8_t (*keys)[DATAGRAM_KEY]; /* n_keys, 1 or 2: the group's; the first seals */
	/* X25519: our secret key, and of each limiter of the roster its public one. NULL: none. */
	const uint8_t *secret;
	const uint8_t (*publics)[DATAGRAM_KEY];
	/* With identities: limiters without them are spoken to as well, while a group gets them. */
	bool identities_optional;
};

struct keyring;

/*
 * Returns 0; -EINVAL (numbers; or a public key that is none, or not ours by our secret); -EEXIST
 * (two group keys are the same) or -ENOMEM. What it is made of is not needed any more. It costs
 * about 1 us a limiter and group key, and with identities 40 us a limiter.
 */
int keyring_create(const struct keyring_params *params, struct keyring **out);
void keyring_destroy(struct keyring *keyring);

/* Whether there are identities, and whether whoever has none is refused. NULL has none. */
bool keyring_has_identities(const struct keyring *keyring);
bool keyring_requires_identities(const struct keyring *keyring);

/*
 * The name, never 0, of the key that seals datagrams to a limiter; identity: with our identities,
 * as one that opens such datagrams has said.
 */
uint32_t keyring_name(const struct keyring *keyring, bool identity);

/* The name of the second group key as keyring_name() has them, or 0. */
uint32_t keyring_also(const struct keyring *keyring);

/* The key of that name that we share with limiter i of the roster, or NULL. */
const uint8_t *keyring_find(const struct keyring *keyring, unsigned i, uint32_t name);

/* Whether a key of that name is made with identities. */
bool keyring_is_identity(const struct keyring *keyring, uint32_t name);

/* The group's key i, the first of which seals; NULL: there is none. */
const uint8_t *keyring_group(const struct keyring *keyring, unsigned i);

#endif
