/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys that a configuration names: read, checked against its roster, made into a keyring. No
 * copy of what was read stays. Any thread; see secret_file.h.
 */
#ifndef WEIR_SECRET_GROUP_KEYS_H
#define WEIR_SECRET_GROUP_KEYS_H

#include <sys/types.h>

#include "policy/complaint.h"
#include "gossip/keyring.h"
#include "group/roster.h"
#include "policy/config.h"

/*
 * From files of root or of that user (see struct secret_file). Returns 0, with NULL for gossip that
 * is plain, or a negative errno, reported.
 */
int group_keys_load(const struct gossip_config *gossip, uid_t user, const struct complaint_sink *to,
	struct keyring **out);

/* The limiters of a configuration, in its order. Returns 0 or a negative errno. */
int group_keys_roster(const struct gossip_config *gossip, struct roster **out);

/* Makes a key of a group in a file, or on standard output (path NULL). 0 or a negative errno. */
int group_keys_new(const char *path);

/* Makes the secret of an identity in a file, and prints its public key; or prints it again. */
int group_keys_new_identity(const char *path);
int group_keys_show_identity(const char *path);

#endif
