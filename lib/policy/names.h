/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Index of policies by name, with lookups in constant time. Immutable: create a new one when the
 * policies are replaced.
 */
#ifndef WEIR_POLICY_NAMES_H
#define WEIR_POLICY_NAMES_H

#include <stdint.h>

#include "policy/policy.h"

struct policy_names;

/*
 * Creates the index of n policies with different names. It does not copy the policies. Returns 0 or
 * -ENOMEM.
 */
int policy_names_create(const struct policy *policies, unsigned n, struct policy_names **out);
void policy_names_destroy(struct policy_names *names);

/* Returns the index of the policy with the name; n if there is none, or name is NULL. */
unsigned policy_names_find(const struct policy_names *names, const char *name);

/*
 * Identity of a policy in messages and records: 128 bits of a BLAKE2b hash. Its input is the name,
 * with the period of a quota or the time unit of a hard limit. With another period or unit, the
 * ledger's numbers have another meaning, so their records belong to another account. An attacker
 * needs 2^64 attempts to find two names with one identity.
 */
struct policy_key {
	uint64_t id;    /* in every message and record; unique within a configuration */
	uint64_t check; /* in the ledger's messages: differs between two names with one id */
};

struct policy_key policy_key(const struct policy *policy);

#endif
