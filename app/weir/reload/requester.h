/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Name of the user who requested a change.
 */
#ifndef WEIR_APP_REQUESTER_H
#define WEIR_APP_REQUESTER_H

#include <stdbool.h>

#include <sys/types.h>

#define REQUESTER_BYTES 64

/* Reads the user name alone; returns false if /etc/passwd has none. */
bool requester_user(uid_t uid, char name[REQUESTER_BYTES]);

/*
 * Writes "alice (uid 1000)", as in /etc/passwd, or "uid 1000". Other directories can take long to
 * answer. It reads a file, so only threads that can wait for a disk call it.
 */
void requester_name(uid_t uid, char name[REQUESTER_BYTES]);

#endif
