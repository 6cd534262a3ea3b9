/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A batch of records that become durable together, in the order of batch_put().
 */
#include "store/db.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 4096

struct header {
	uint64_t id;
	uint32_t len;
	uint8_t kind;
	bool removes;
};

static int batch_reserve(struct batch *batch, size_t more)
{
	size_t room = batch->room ? batch->room : FIRST_ROOM;
	uint8_t *bytes;

	if (more <= batch->room - batch->len)
		return 0;
	while (room - batch->len < more)
		room *= 2;
	bytes = realloc(batch->bytes, room);
	if (!bytes)
		return -ENOMEM;
	batch->bytes = bytes;
	batch->room = room;
	return 0;
}

int batch_put(struct batch *batch, uint8_t kind, uint64_t id, const void *record, size_t len)
{
	struct header header = {.id = id, .len = (uint32_t)len, .kind = kind, .removes = !record};

	if (len > UINT32_MAX || batch_reserve(batch, sizeof(header) + len))
		return -ENOMEM;
	memcpy(batch->bytes + batch->len, &header, sizeof(header));
	if (len)
		memcpy(batch->bytes + batch->len + sizeof(header), record, len);
	batch->len += sizeof(header) + len;
	return 0;
}

int batch_next(const struct batch *batch, size_t *offset, struct batch_record *record)
{
	struct header header;

	if (*offset == batch->len)
		return 0;
	memcpy(&header, batch->bytes + *offset, sizeof(header));
	record->kind = header.kind;
	record->id = header.id;
	record->len = header.len;
	record->at = header.removes ? NULL : batch->bytes + *offset + sizeof(header);
	*offset += sizeof(header) + header.len;
	return 1;
}

void batch_clear(struct batch *batch)
{
	batch->len = 0;
}

void batch_free(struct batch *batch)
{
	free(batch->bytes);
	*batch = (struct batch){0};
}
