/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of one limiter: one for each other limiter of the group, made of the group's key and
 * both names. A holder of the group's key can make each of them. With identities, every limiter has
 * an X25519 key pair, and all rosters have its public part. Then each key also contains the secret
 * that only its two limiters can compute, so no limiter can impersonate another. All keys are
 * computed here, once: a datagram costs nothing more.
 *
 * A limiter holds up to two group keys: the first seals, either opens. A datagram names its key, so
 * a group can change its key while it runs.
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
	/* X25519: our secret key, and the public key of each limiter of the roster. NULL: none. */
	const uint8_t *secret;
	const uint8_t (*publics)[DATAGRAM_KEY];
	/* With identities: limiters without them are also accepted, while a group gets them. */
	bool identities_optional;
};

struct keyring;

/*
 * Returns 0; -EINVAL (invalid numbers or public key, or ours does not match our secret); -EEXIST
 * (two group keys are the same) or -ENOMEM. The parameters are not needed any more. It costs about
 * 1 us a limiter and group key, and with identities 40 us a limiter.
 */
int keyring_create(const struct keyring_params *params, struct keyring **out);
void keyring_destroy(struct keyring *keyring);

/* Return true if there are identities, and if limiters without one are rejected. NULL has none. */
bool keyring_has_identities(const struct keyring *keyring);
bool keyring_requires_identities(const struct keyring *keyring);

/*
 * Returns the name, never 0, of the key that seals datagrams to a limiter; identity: the limiter
 * has reported that it opens datagrams with identities.
 */
uint32_t keyring_name(const struct keyring *keyring, bool identity);

/* Returns the name of the second group key, with identities if there are any, or 0. */
uint32_t keyring_also(const struct keyring *keyring);

/* Returns the key of that name that we share with limiter i of the roster, or NULL. */
const uint8_t *keyring_find(const struct keyring *keyring, unsigned i, uint32_t name);

/* Returns true if the key of that name is made with identities. */
bool keyring_is_identity(const struct keyring *keyring, uint32_t name);

/* Returns the group's key i, the first of which seals; NULL: there is none. */
const uint8_t *keyring_group(const struct keyring *keyring, unsigned i);

#endif
