/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Overrides: what a list does at its ends, and what comes back from the disk.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "overrides.h"

static struct override made(const char *policy, int64_t until)
{
	struct override override = {.until = until, .uid = 7};

	snprintf(override.policy, sizeof(override.policy), "%s", policy);
	snprintf(override.terms, sizeof(override.terms), "{\"limit\":\"5Mbit/s\"}");
	return override;
}

static void put(struct overrides *overrides, const char *policy, int64_t until)
{
	const struct override override = made(policy, until);

	assert_int_equal(overrides_put(overrides, &override), 0);
}

static void test_list(void **state)
{
	struct overrides overrides = {0};
	struct override more;
	char name[16];

	(void)state;
	put(&overrides, "a", 100);
	put(&overrides, "b", 200);
	put(&overrides, "a", 300); /* in the place of the first */
	assert_int_equal(overrides.n, 2);
	assert_int_equal(overrides_find(&overrides, "a")->until, 300);
	assert_null(overrides_find(&overrides, "c"));
	assert_false(overrides_end(&overrides, 199));
	assert_true(overrides_end(&overrides, 200)); /* just at its time */
	assert_null(overrides_find(&overrides, "b"));
	assert_true(overrides_drop(&overrides, "a"));
	assert_false(overrides_drop(&overrides, "a"));
	for (unsigned i = 0; i < OVERRIDES_MOST; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		put(&overrides, name, 100);
	}
	more = made("more", 100);
	assert_int_equal(overrides_put(&overrides, &more), -ENOSPC);
	put(&overrides, "p3", 500);
	assert_true(overrides_end(&overrides, 499));
	assert_int_equal(overrides.n, 1);
}

static void write_text(const char *folder, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/overrides.json", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_disk(void **state)
{
	static const char *const damaged[] = {"", "{", "[]", "{\"overrides\": 3}",
		"{\"overrides\": [{\"policy\": \"a\"}]}",
		("{\"overrides\": [{\"policy\": \"a\", \"terms\": \"{}\", \"until\": \"x\", "
		 "\"uid\": 1}]}")};
	char top[] = "/tmp/weir-overrides-XXXXXX", folder[64], command[128];
	struct overrides overrides = {0}, back = {.n = 3};

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(folder, sizeof(folder), "%s/store", top);
	assert_int_equal(overrides_load(folder, &back), 0); /* there is none yet */
	assert_int_equal(back.n, 0);
	put(&overrides, "a", INT64_C(1) << 40);
	put(&overrides, "b", 200);
	assert_int_equal(overrides_save(folder, &overrides), 0); /* which makes the folder */
	assert_int_equal(overrides_load(folder, &back), 0);
	assert_int_equal(back.n, 2);
	assert_int_equal(overrides_find(&back, "a")->until, INT64_C(1) << 40);
	assert_int_equal(overrides_find(&back, "b")->uid, 7);
	assert_string_equal(overrides_find(&back, "b")->terms, "{\"limit\":\"5Mbit/s\"}");
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
		write_text(folder, damaged[i]);
		assert_int_equal(overrides_load(folder, &back), -EBADMSG);
	}
	assert_int_equal(overrides_save("/proc/none", &overrides), -ENOENT);
	snprintf(command, sizeof(command), "rm -r %s", top);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
