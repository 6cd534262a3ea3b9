/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Another limit for a policy that runs, with the checks of its configuration. Any thread.
 */
#ifndef WEIR_CONFIG_TERMS_H
#define WEIR_CONFIG_TERMS_H

#include <stddef.h>
#include <stdio.h>

#include "json/read.h"
#include "policy/policy.h"

/*
 * Reads `{"limit": "5Gbit/s"}`, with or without a "burst". Without one, the burst is the policy's if
 * its configuration has one, or otherwise the default for the limit. Returns 0; -EINVAL, with each
 * error on err, a line each, such as `policy "video": limit: "5": expected ...`; or -ENOMEM.
 */
int config_parse_terms(const char *text, size_t len, const struct policy *policy,
	unsigned n_limiters, FILE *err, struct limit_terms *out);

/*
 * Reads the keys "limit" and "burst" of an object, `value`, in a document of another kind. `path` is
 * its place. `named`: the policy's configuration has a burst. Reports each error to the reader.
 */
void config_read_terms(struct reader *reader, const struct json_path *path, json_t *value,
	const struct policy *policy, unsigned n_limiters, bool named, struct limit_terms *out);

#endif
