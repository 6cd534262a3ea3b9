/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Another limit for a policy that runs, judged as that of its configuration. Any thread.
 */
#ifndef WEIR_CONFIG_TERMS_H
#define WEIR_CONFIG_TERMS_H

#include <stddef.h>
#include <stdio.h>

#include "policy/policy.h"

/*
 * Reads `{"limit": "5Gbit/s"}`, with a "burst" or without: then it is the policy's, where that has
 * another than the usual one, or what is usual for the limit. 0; -EINVAL, with each thing that is
 * wrong on err, a line each, in the form of config_load()'s; or -ENOMEM.
 */
int config_parse_terms(const char *text, size_t len, const struct policy *policy,
	unsigned n_limiters, FILE *err, struct limit_terms *out);

#endif
