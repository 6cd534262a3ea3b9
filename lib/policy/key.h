/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Identity of a policy in messages and records: 128 bits of a BLAKE2b hash. Its input is the name,
 * with the period of a quota or the time unit of a hard limit. With another period or unit, the
 * ledger's numbers have another meaning, so their records belong to another account. An attacker
 * needs 2^64 attempts to find two names with one identity. Any thread.
 */
#ifndef WEIR_POLICY_KEY_H
#define WEIR_POLICY_KEY_H

#include <stdint.h>

#include "policy/policy.h"

struct policy_key {
	uint64_t id;    /* in every message and record; unique within a configuration */
	uint64_t check; /* in the ledger's messages: differs between two names with one id */
};

struct policy_key policy_key(const struct policy *policy);

#endif
