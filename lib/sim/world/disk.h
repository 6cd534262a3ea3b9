/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A node's store in the simulation: the newest record of each thing that it keeps, which outlives
 * its crashes. What is written is there when it has been committed, all at once or not at
 * all.
 */
#ifndef WEIR_SIM_DISK_H
#define WEIR_SIM_DISK_H

#include <stddef.h>
#include <stdint.h>

/* What a record is of: things of two kinds may have one id. */
struct disk_record {
	unsigned kind;
	uint64_t id;
	const void *at; /* NULL: it is to be removed */
	size_t len;
};

struct disk_batch {
	struct disk_record *records; /* whose bytes are its own */
	unsigned n;
};

/* Zeroed before use. */
struct disk {
	struct disk_batch durable, written;
};

/* Without a record (NULL) that of the id is removed. Returns 0 or -ENOMEM. */
int disk_write(struct disk *disk, unsigned kind, uint64_t id, const void *record, size_t len);

/* What has been written is durable from now on; 0 or -ENOMEM, and it is not. */
int disk_commit(struct disk *disk);

/* Copies the durable records to another disk and frees its previous ones. Returns 0 or -ENOMEM. */
int disk_copy(struct disk *to, const struct disk *from);

/* What has been written and not committed never was. */
void disk_forget_written(struct disk *disk);
void disk_free(struct disk *disk);

#endif
