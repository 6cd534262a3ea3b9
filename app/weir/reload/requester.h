/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whoever has asked for a change, by name.
 */
#ifndef WEIR_APP_REQUESTER_H
#define WEIR_APP_REQUESTER_H

#include <stdbool.h>

#include <sys/types.h>

#define REQUESTER_BYTES 64

/* The name alone; false: it has none there. */
bool requester_user(uid_t uid, char name[REQUESTER_BYTES]);

/*
 * "alice (uid 1000)", as /etc/passwd has it, or "uid 1000": directories elsewhere may take long to
 * answer. It reads a file, and so is for threads that may wait for a disk.
 */
void requester_name(uid_t uid, char name[REQUESTER_BYTES]);

#endif
