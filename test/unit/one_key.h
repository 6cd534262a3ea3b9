/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of a limiter whose group has one key or none, and no identities.
 */
#ifndef WEIR_TEST_ONE_KEY_H
#define WEIR_TEST_ONE_KEY_H

#include "check.h"

#include "gossip/gossip.h"

static inline struct keyring *one_key(
	const struct roster *roster, unsigned self, const uint8_t (*key)[DATAGRAM_KEY])
{
	struct keyring_params params = {.roster = roster, .self = self, .n_keys = 1, .keys = key};
	struct keyring *ring = NULL;

	if (key)
		assert_int_equal(keyring_create(&params, &ring), 0);
	return ring;
}

/* Destroys a gossip with its own keys. */
static inline void end_gossip_and_keys(struct gossip *gossip)
{
	struct keyring *ring = gossip ? gossip_rekey(gossip, NULL) : NULL;

	gossip_destroy(gossip);
	keyring_destroy(ring);
}

#endif
