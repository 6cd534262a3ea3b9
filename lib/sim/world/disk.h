/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter's store in the simulation: the newest record of each thing that it keeps, which
 * outlives its crashes. What is written is there when it has been committed, all at once or not at
 * all.
 */
#ifndef WEIR_SIM_DISK_H
#define WEIR_SIM_DISK_H

#include "limiter/limiter.h"

struct disk_batch {
	struct limiter_record *records; /* whose bytes are its own */
	unsigned n;
};

/* Zeroed before use. */
struct disk {
	struct disk_batch durable, written;
};

/* A limiter_write: `disk` is a struct disk. 0 or -ENOMEM. */
int disk_write(
	void *disk, enum limiter_record_kind kind, uint32_t id, const void *record, size_t len);

/* What has been written is durable from now on; 0 or -ENOMEM, and it is not. */
int disk_commit(struct disk *disk);

/* What has been written and not committed never was. */
void disk_forget_written(struct disk *disk);
void disk_free(struct disk *disk);

#endif
