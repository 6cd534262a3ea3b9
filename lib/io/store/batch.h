/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A batch of records that become durable together, in the order of batch_put(). If two have the
 * same kind and id, the later one counts. A record without bytes (at: NULL) removes the stored
 * record of that kind and id. An all-zero struct is an empty batch. One thread at a time.
 */
#ifndef WEIR_STORE_BATCH_H
#define WEIR_STORE_BATCH_H

#include <stddef.h>
#include <stdint.h>

struct batch {
	uint8_t *bytes; /* each record after its header */
	size_t len, room;
};

struct batch_record {
	uint8_t kind;
	uint64_t id;
	const void *at; /* any alignment; NULL: none */
	size_t len;
};

/* Appends a record. Returns 0, or -ENOMEM with the batch unchanged. */
int batch_put(struct batch *batch, uint8_t kind, uint64_t id, const void *record, size_t len);

/*
 * Reads the record at *offset (initially 0), and advances *offset. Returns 1, or 0 after the last.
 */
int batch_next(const struct batch *batch, size_t *offset, struct batch_record *record);

/* Empties the batch, and keeps its memory for later records. */
void batch_clear(struct batch *batch);
void batch_free(struct batch *batch);

#endif
