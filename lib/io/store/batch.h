/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Records that are to become durable together, in the order in which they were put: of two with the
 * same kind and id the later one counts. One without bytes (at: NULL) removes that of its id. All
 * zero is an empty batch. One thread at a time.
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
	const void *at; /* of any alignment; NULL: none */
	size_t len;
};

/* 0 or -ENOMEM, and then the batch is what it was. */
int batch_put(struct batch *batch, uint8_t kind, uint64_t id, const void *record, size_t len);

/* The record at *offset, from 0, which becomes that of the next. Returns 0 after the last. */
int batch_next(const struct batch *batch, size_t *offset, struct batch_record *record);

/* Empty again; the memory is kept for as many records as there were. */
void batch_clear(struct batch *batch);
void batch_free(struct batch *batch);

#endif
