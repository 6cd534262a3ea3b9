/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that an operator has set in place of configured ones until a time, and their file. Any
 * thread; one at a time for each list.
 */
#ifndef WEIR_APP_OVERRIDES_H
#define WEIR_APP_OVERRIDES_H

#include <stdint.h>
#include <sys/types.h>

#include "policy/policy.h"
#include "policy/units.h"

/* Most overrides at one time: more belong into the configuration. */
#define OVERRIDES_MOST 64

struct override {
	char policy[CONFIG_NAME_MAX];
	char terms[3 * UNITS_TEXT_MAX]; /* format of config_parse_terms() */
	int64_t until;                  /* Unix time */
	uid_t uid;                      /* user who set it */
};

struct overrides {
	unsigned n;
	struct override list[OVERRIDES_MOST];
};

/* Returns the override of a policy, or NULL. */
const struct override *overrides_find(const struct overrides *overrides, const char *policy);

/* Adds an override, or replaces that of the same policy. Returns 0 or -ENOSPC. */
int overrides_put(struct overrides *overrides, const struct override *override);

/*
 * Removes the override of a policy; overrides_end() removes all whose time is over. Returns true if
 * there was any.
 */
bool overrides_drop(struct overrides *overrides, const char *policy);
bool overrides_end(struct overrides *overrides, int64_t unix_s);

/*
 * Load the list from its file in a directory, and save it there. After a power failure the file has
 * the old or the new list. A missing file is an empty list, also if `directory` is not a directory
 * (ENOTDIR). Returns 0, -EBADMSG (invalid file), or another negative errno. Waits for the disk.
 */
int overrides_load(const char *directory, struct overrides *overrides);
int overrides_save(const char *directory, const struct overrides *overrides);

#endif
