/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The sentinel of a store: a file next to the store's directory with the number of commits and the
 * random word of the newest start. A store restored from an older copy has fewer commits than its
 * sentinel, or another word.
 *
 *     slot 0 at 0, slot 1 at 4096: version, sequence, commits, word, checksum (8 bytes each)
 *
 * Writes alternate between the slots, and the valid slot with the higher sequence counts. So a
 * crash leaves the new content or the previous one. A write comes after the commit that it counts,
 * so the sentinel never has more than the store. One thread at a time. Errors are negative errnos.
 */
#ifndef WEIR_STORE_SENTINEL_H
#define WEIR_STORE_SENTINEL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* The machine that a store belongs to. */

/*
 * Sets a hash of /etc/machine-id, which does not reveal the ID, or 0 if this machine has none, such
 * as some containers. Returns 0, or the negative errno of opening it. Any thread; it reads a file.
 */
int store_machine(uint64_t *machine);

struct sentinel {
	char path[PATH_MAX];
	uint64_t sequence;      /* number of the last write; 0: there is no valid slot */
	uint64_t commits, word; /* content of the valid slot */
};

/*
 * Sets the path of the sentinel of a directory, and reads the file if there is one. Returns 0, also
 * without a file, or an error.
 */
int sentinel_read(struct sentinel *sentinel, const char *directory);

/*
 * Writes the next slot. Returns 0 or an error. The content is durable if `sync`; the name of a new
 * file always, unless its directory cannot be opened.
 */
int sentinel_write(struct sentinel *sentinel, uint64_t commits, uint64_t word, bool sync);

/* Removes it durably, for a store that is new. Returns 0 if there is none. */
int sentinel_remove(const char *directory);

#endif
