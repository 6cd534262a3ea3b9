/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The store of a simulated node: the newest record of each kind and id. It survives crashes of the
 * node. Written records become durable together, by disk_commit().
 */
#ifndef WEIR_SIM_DISK_H
#define WEIR_SIM_DISK_H

#include <stddef.h>
#include <stdint.h>

/* A record. Records of two kinds can have the same id. */
struct disk_record {
	unsigned kind;
	uint64_t id;
	const void *at; /* NULL: remove the record */
	size_t len;
};

struct disk_batch {
	struct disk_record *records; /* the bytes belong to the batch */
	unsigned n;
};

/* Zeroed before use. */
struct disk {
	struct disk_batch durable, written;
};

/* Writes a record; NULL removes the one of that kind and id. Returns 0 or -ENOMEM. */
int disk_write(struct disk *disk, unsigned kind, uint64_t id, const void *record, size_t len);

/*
 * Makes all written records durable. Returns 0, or -ENOMEM: then only some of them are, and the
 * others are lost.
 */
int disk_commit(struct disk *disk);

/* Copies the durable records to another disk and frees its previous ones. Returns 0 or -ENOMEM. */
int disk_copy(struct disk *to, const struct disk *from);

/* Discards all records that were written and not committed. */
void disk_forget_written(struct disk *disk);
void disk_free(struct disk *disk);

#endif
