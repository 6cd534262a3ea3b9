/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that an operator has put in the place of configured ones until a time, and the file that
 * they are kept in. Any thread, one at a list.
 */
#ifndef WEIR_APP_OVERRIDES_H
#define WEIR_APP_OVERRIDES_H

#include <stdint.h>
#include <sys/types.h>

#include "policy/policy.h"
#include "policy/units.h"

/* At one time: what is more is a configuration of its own. */
#define OVERRIDES_MOST 64

struct override {
	char policy[CONFIG_NAME_MAX];
	char terms[3 * UNITS_TEXT_MAX]; /* as config_parse_terms() reads them */
	int64_t until;                  /* Unix time */
	uid_t uid;                      /* who gave it */
};

struct overrides {
	unsigned n;
	struct override list[OVERRIDES_MOST];
};

/* The one of a policy, or NULL. */
const struct override *overrides_find(const struct overrides *overrides, const char *policy);

/* In the place of one of that policy. 0, or -ENOSPC. */
int overrides_put(struct overrides *overrides, const struct override *override);

/* Takes out that of a policy; and those that have ended. Whether there was any. */
bool overrides_drop(struct overrides *overrides, const char *policy);
bool overrides_end(struct overrides *overrides, int64_t unix_s);

/*
 * From the file of a directory, and to it: as it was before or as it is to be, whenever power
 * fails. A file that is not there is an empty list. 0; -EBADMSG: it is none of these; or a negative
 * errno. It waits for the disk.
 */
int overrides_load(const char *directory, struct overrides *overrides);
int overrides_save(const char *directory, const struct overrides *overrides);

#endif
