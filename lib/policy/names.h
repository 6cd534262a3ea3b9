/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Index of policies by name, with lookups in constant time. Immutable: create a new one when the
 * policies are replaced.
 */
#ifndef WEIR_POLICY_NAMES_H
#define WEIR_POLICY_NAMES_H

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

#endif
