/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"
#include "scope.h"

#include "world/disk.h"

enum { RATES = 1, UNITS = 2 }; /* kinds of records */

/* The text in a record, or NULL if there is no record. */
static const char *find_durable_text(const struct disk *disk, unsigned kind, uint32_t id)
{
	const struct disk_batch *batch = &disk->durable;

	for (unsigned i = 0; i < batch->n; i++)
		if (batch->records[i].kind == kind && batch->records[i].id == id)
			return batch->records[i].at;
	return NULL;
}

static void put_disk_text(struct disk *disk, unsigned kind, uint64_t id, const char *text)
{
	assert_int_equal(disk_write(disk, kind, id, text, strlen(text) + 1), 0);
}

TEST(test_commit)
{
	ENDED_BY(disk_free) struct disk disk = {0};

	put_disk_text(&disk, RATES, 1, "one");
	put_disk_text(&disk, UNITS, 1, "units");
	assert_null(find_durable_text(&disk, RATES, 1));
	assert_int_equal(disk_commit(&disk), 0);
	assert_string_equal(find_durable_text(&disk, RATES, 1), "one");
	assert_string_equal(find_durable_text(&disk, UNITS, 1), "units");
	put_disk_text(&disk, RATES, 2, "two");
	put_disk_text(&disk, RATES, 1, "newer");
	assert_int_equal(disk_commit(&disk), 0);
	assert_int_equal(disk.durable.n, 3);
	assert_string_equal(find_durable_text(&disk, RATES, 1), "newer");
	assert_string_equal(find_durable_text(&disk, RATES, 2), "two");
}

/* A record written twice before a commit is stored once, with its last contents. */
TEST(test_twice)
{
	ENDED_BY(disk_free) struct disk disk = {0};

	put_disk_text(&disk, RATES, 1, "old");
	put_disk_text(&disk, RATES, 1, "new");
	assert_int_equal(disk_commit(&disk), 0);
	assert_int_equal(disk.durable.n, 1);
	assert_string_equal(find_durable_text(&disk, RATES, 1), "new");
}

TEST(test_crash)
{
	ENDED_BY(disk_free) struct disk disk = {0};

	put_disk_text(&disk, RATES, 1, "kept");
	assert_int_equal(disk_commit(&disk), 0);
	put_disk_text(&disk, RATES, 1, "lost");
	put_disk_text(&disk, RATES, 2, "lost");
	disk_forget_written(&disk);
	assert_int_equal(disk_commit(&disk), 0);
	assert_int_equal(disk.durable.n, 1);
	assert_string_equal(find_durable_text(&disk, RATES, 1), "kept");
}
