/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Why a store could not be opened, as an operator reads it: with what to do, where that is known.
 */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "ledger_store.h"

static void test_reasons(void **state)
{
	static const struct {
		int error;
		const char *words; /* with which it begins */
		const char *advice;
	} rows[] = {
		{-ENOENT, "it is not there: ", "weir --new-ledger"},
		{-EBUSY, "another process has it open", ""},
		{-EBADMSG, "it is damaged; ", "begins without memory"},
		{-ENODATA, "it is of an earlier version", "weir --name-ledger"},
		{-EPROTONOSUPPORT, "it is of a later version", "start that one"},
		{-ETIME, "it is not there, and the clock", "timedatectl"},
		{-EACCES, "Permission denied: ", "the user that weir runs as"},
		{-EPERM, "Permission denied: ", "the user that weir runs as"},
		{-EROFS, "Read-only file system: ", "mount it for writing"},
		{-ENOTDIR, "Not a directory, ", "mend the path"},
		{-ENOSPC, "No space left on device: ", "make room"},
		{-EDQUOT, "File too large ", "LimitFSIZE="},
		{-EFBIG, "File too large ", "LimitFSIZE="},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *reason = ledger_store_reason(rows[i].error);

		if (strncmp(reason, rows[i].words, strlen(rows[i].words)) != 0 ||
			!strstr(reason, rows[i].advice))
			fail_msg("error %d: \"%s\"", rows[i].error, reason);
	}
	/* Others are the system's words. */
	assert_string_equal(ledger_store_reason(-EIO), "Input/output error");
	assert_string_equal(ledger_store_reason(-ENOMEM), "Cannot allocate memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reasons)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
