/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The contents of a store that is opened, and the messages for operators if it cannot be opened,
 * with advice for some causes.
 */
#include "check.h"
#include "scope.h"

#include <poll.h>

#include "ledger_store.h"
#include "store/store.h"

END_POINTER(store_close, struct store *)

#define PATIENCE_MS 60000
#define KIND_MOST   100 /* records, more than the initial allocation */

static char top[32], directory[64];

/* Writes records of each kind, each of another length and content. */
static void put_records(unsigned rates, unsigned units)
{
	ENDED_BY(store_close_at) struct store *store;
	struct pollfd fd = {.events = POLLIN};
	uint64_t epoch;

	assert_int_equal(store_create(directory, (struct store_identity){3, 5}), 0);
	assert_int_equal(store_open(directory, &store, &epoch), 0);
	for (unsigned i = 0; i < rates + units; i++) {
		bool is_rate = i < rates;
		uint8_t record[2 * KIND_MOST];

		memset(record, (int)i + 1, sizeof(record));
		assert_int_equal(store_put(store, is_rate ? LIMITER_RATES : LIMITER_UNITS, 1000 + i,
					 record, 1 + i),
			0);
	}
	assert_int_equal(store_commit(store), 0);
	fd.fd = store_fd(store);
	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	assert_int_equal(store_result(store), 0);
}

static void expect_record(const struct limiter_record *record, unsigned rates)
{
	uint8_t expected[2 * KIND_MOST];
	unsigned i = record->id - 1000;

	assert_int_equal(record->kind, i < rates ? LIMITER_RATES : LIMITER_UNITS);
	assert_int_equal(record->len, 1 + i);
	memset(expected, (int)i + 1, sizeof(expected));
	assert_memory_equal(record->at, expected, record->len);
}

/* All records of both kinds are read once, until they are freed. */
TEST(test_records)
{
	static const unsigned rows[][2] = {{1, 0}, {0, 1}, {16, 1}, {KIND_MOST, KIND_MOST}};

	for (size_t row = 0; row < COUNT(rows); row++) {
		unsigned n = rows[row][0] + rows[row][1];
		bool seen[2 * KIND_MOST] = {0};
		struct ledger_store opened;

		snprintf(directory, sizeof(directory), "%s/%zu", top, row);
		put_records(rows[row][0], rows[row][1]);
		assert_int_equal(ledger_store_open(directory, false, &opened), 0);
		assert_int_equal(opened.epoch, 2);
		assert_int_equal(opened.identity.high, 3);
		assert_int_equal(opened.identity.low, 5);
		assert_false(opened.recovering);
		assert_int_equal(opened.n_records, n);
		for (unsigned i = 0; i < n; i++) {
			assert_in_range(opened.records[i].id, 1000, 1000 + n - 1);
			assert_false(seen[opened.records[i].id - 1000]);
			seen[opened.records[i].id - 1000] = true;
			expect_record(&opened.records[i], rows[row][0]);
		}
		ledger_store_forget(&opened);
		assert_int_equal(opened.n_records, 0);
		assert_null(opened.records);
		assert_non_null(opened.store);
		ledger_store_close(&opened);
		assert_null(opened.store);
	}
}

/* A missing store is created on request, and stays marked as recovering. */
TEST(test_none)
{
	static const struct ledger_store closed;
	struct ledger_store opened, other;

	snprintf(directory, sizeof(directory), "%s/none", top);
	memset(&opened, 0xff, sizeof(opened));
	assert_int_equal(ledger_store_open(directory, false, &opened), -ENOENT);
	assert_memory_equal(&opened, &closed, sizeof(opened));
	for (unsigned made = 0; made < 2; made++) {
		assert_int_equal(ledger_store_open(directory, made == 0, &opened), 0);
		assert_true(opened.recovering);
		assert_false(book_identity_known(opened.identity));
		assert_int_equal(opened.n_records, 0);
		assert_int_equal(ledger_store_open(directory, true, &other), -EBUSY);
		assert_memory_equal(&other, &closed, sizeof(other));
		ledger_store_close(&other);
		ledger_store_close(&opened);
	}
}

TEST(test_reasons)
{
	static const struct {
		int error;
		const char *words; /* its beginning */
		const char *advice;
	} rows[] = {
		{-ENOENT, "it is not there: ", "add the IDENTITY that weirctl ledger shows"},
		{-EBUSY, "another process has it open", ""},
		{-EBADMSG, "it is damaged; ", "begins without memory"},
		{-ENODATA, "it is of an earlier version",
			"weir --new-ledger IDENTITY at each other"},
		{-EPROTONOSUPPORT, "it is of a later version", "start that one"},
		{-EILSEQ, "it is older than its sentinel", "weir --accept-ledger"},
		{-EXDEV, "it belongs to another machine", "weir --accept-ledger"},
		{-ESTALE, "another process has changed", "put them back"},
		{-EMEDIUMTYPE, "one of its files is a link", "ls -la"},
		{-ETIME, "it is not there, and the clock", "timedatectl"},
		{-EACCES, "Permission denied: ", "the user that weir runs as"},
		{-EPERM, "Permission denied: ", "the user that weir runs as"},
		{-EROFS, "Read-only file system: ", "mount it for writing"},
		{-ENOTDIR, "Not a directory, ", "correct the path"},
		{-ENOSPC, "No space left on device: ", "make room"},
		{-EDQUOT, "File too large ", "LimitFSIZE="},
		{-EFBIG, "File too large ", "LimitFSIZE="},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *reason = ledger_store_reason(rows[i].error);

		if (strncmp(reason, rows[i].words, strlen(rows[i].words)) != 0 ||
			!strstr(reason, rows[i].advice))
			fail_msg("error %d: \"%s\"", rows[i].error, reason);
	}
	/* Other errors use the system's text. */
	assert_string_equal(ledger_store_reason(-EIO), "Input/output error");
	assert_string_equal(ledger_store_reason(-ENOMEM), "Cannot allocate memory");
}

static int begin(void **state)
{
	strcpy(top, "/tmp/weir-ledger-XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command);
}

TEST_GROUP(begin, end)
