/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads the keys of a configuration, checks them against its roster, and makes a keyring. No other
 * copy of the secrets remains. Any thread; see secret_file.h.
 */
#ifndef WEIR_SECRET_GROUP_KEYS_H
#define WEIR_SECRET_GROUP_KEYS_H

#include <sys/types.h>

#include "policy/complaint.h"
#include "gossip/keyring.h"
#include "group/roster.h"
#include "policy/config.h"

/*
 * Loads the keys from files of root or of that user (see struct secret_file). Returns 0, with NULL
 * if gossip is unencrypted, or a negative errno after reporting it.
 */
int group_keys_load(const struct gossip_config *gossip, uid_t user, const struct complaint_sink *to,
	struct keyring **out);

/* Makes the roster of a configuration, in its order. Returns 0 or a negative errno. */
int group_keys_roster(const struct gossip_config *gossip, struct roster **out);

/*
 * Writes a new group key to a file, or to standard output (path NULL). Returns 0 or a negative
 * errno.
 */
int group_keys_new(const char *path);

/*
 * Writes a new identity secret to a file and prints its public key; or prints the public key of
 * one.
 */
int group_keys_new_identity(const char *path);
int group_keys_show_identity(const char *path);

#endif
