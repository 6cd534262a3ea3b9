/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A member as the configuration has it, and the reverse. Any thread.
 */
#ifndef WEIR_APP_MEMBER_PEER_H
#define WEIR_APP_MEMBER_PEER_H

#include <stdint.h>

#include "members/member_entry.h"
#include "policy/config.h"

struct member_address member_address_of(const struct peer_config *peer);

/* Returns its public key, or NULL. */
const uint8_t *peer_key(const struct peer_config *peer);

struct peer_config peer_of_member(const struct member_entry *member);

#endif
