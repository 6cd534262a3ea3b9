/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The store of a simulated node: the newest record of each kind and id.
 */
#include "world/disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void batch_free(struct disk_batch *batch)
{
	for (unsigned i = 0; i < batch->n; i++)
		free((void *)batch->records[i].at);
	free(batch->records);
	*batch = (struct disk_batch){0};
}

/* Replaces an older record of the same kind and id. The batch takes over the bytes. */
static int batch_put(struct disk_batch *batch, const struct disk_record *record)
{
	struct disk_record *records;

	for (unsigned i = 0; i < batch->n; i++) {
		struct disk_record *old = &batch->records[i];

		if (old->kind != record->kind || old->id != record->id)
			continue;
		free((void *)old->at);
		*old = *record;
		return 0;
	}
	records = reallocarray(batch->records, batch->n + 1, sizeof(*records));
	if (!records)
		return -ENOMEM;
	batch->records = records;
	batch->records[batch->n++] = *record;
	return 0;
}

int disk_write(struct disk *disk, unsigned kind, uint64_t id, const void *record, size_t len)
{
	struct disk_record put = {.kind = kind, .id = id, .len = len};
	void *bytes = record ? malloc(len + 1) : NULL;
	int ret;

	if (record && !bytes)
		return -ENOMEM;
	put.at = record ? memcpy(bytes, record, len) : NULL;
	ret = batch_put(&disk->written, &put);
	if (ret)
		free(bytes);
	return ret;
}

int disk_commit(struct disk *disk)
{
	struct disk_batch *written = &disk->written;
	int ret = 0;

	for (; written->n > 0 && ret == 0; written->n -= ret == 0)
		ret = batch_put(&disk->durable, &written->records[written->n - 1]);
	for (unsigned i = disk->durable.n; i-- > 0;)
		if (!disk->durable.records[i].at)
			disk->durable.records[i] = disk->durable.records[--disk->durable.n];
	disk_forget_written(disk);
	return ret;
}

int disk_copy(struct disk *to, const struct disk *from)
{
	int ret = 0;

	disk_free(to);
	for (unsigned i = 0; i < from->durable.n && ret == 0; i++) {
		const struct disk_record *record = &from->durable.records[i];

		ret = disk_write(to, record->kind, record->id, record->at, record->len);
	}
	return ret ? ret : disk_commit(to);
}

void disk_forget_written(struct disk *disk)
{
	batch_free(&disk->written);
}

void disk_free(struct disk *disk)
{
	batch_free(&disk->written);
	batch_free(&disk->durable);
}
