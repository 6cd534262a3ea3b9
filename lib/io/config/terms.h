/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Another limit for a policy that runs, with the checks of its configuration. Any thread.
 */
#ifndef WEIR_CONFIG_TERMS_H
#define WEIR_CONFIG_TERMS_H

#include <stddef.h>
#include <stdio.h>

#include "policy/policy.h"

/*
 * Reads `{"limit": "5Gbit/s"}`, with or without a "burst". Without one, the burst is the policy's if
 * its configuration has one, or otherwise the default for the limit. Returns 0; -EINVAL, with each
 * error on err, a line each, such as `policy "video": limit: "5": expected ...`; or -ENOMEM.
 */
int config_parse_terms(const char *text, size_t len, const struct policy *policy,
	unsigned n_limiters, FILE *err, struct limit_terms *out);

#endif
