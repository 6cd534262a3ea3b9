/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Names that come, get another number and go, compared with a plain list of them.
 */
#include "check.h"
#include "scope.h"

#include "base/name_table.h"
#include "base/prng.h"

END_POINTER(name_table_destroy, struct name_table *)

#define NAMES 500
#define TURNS 20000

static char names[NAMES][8];

static void set(struct name_table *table, uint32_t *list, unsigned i, uint32_t number)
{
	assert_int_equal(name_table_set(table, names[i], number), 0);
	list[i] = number;
}

static void expect_all(const struct name_table *table, const uint32_t *list)
{
	for (unsigned i = 0; i < NAMES; i++)
		assert_int_equal(name_table_find(table, names[i]), list[i]);
	assert_int_equal(name_table_find(table, ""), NAME_NONE);
	assert_int_equal(name_table_find(table, "nobody"), NAME_NONE);
}

TEST(like_a_list)
{
	uint32_t list[NAMES];
	struct name_table *table;
	struct prng prng;

	prng_seed(&prng, 1);
	memset(list, 0xff, sizeof(list));
	assert_int_equal(name_table_create(0, &table), 0);
	expect_all(table, list);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		unsigned i = prng_below(&prng, NAMES);

		set(table, list, i, prng_below(&prng, 3) ? prng_below(&prng, 100) : NAME_NONE);
		if (turn % 1000 == 0)
			expect_all(table, list);
	}
	expect_all(table, list);
	name_table_destroy(table);
	name_table_destroy(NULL);
}

/* They come and go for ever in a table that has room for a few: it ends each search. */
TEST(come_and_go)
{
	ENDED_BY(name_table_destroy_at) struct name_table *table;

	assert_int_equal(name_table_create(4, &table), 0);
	for (unsigned i = 0; i < TURNS; i++) {
		const char *name = names[i % NAMES];

		assert_int_equal(name_table_find(table, name), NAME_NONE);
		assert_int_equal(name_table_set(table, name, i), 0);
		assert_int_equal(name_table_find(table, name), i);
		assert_int_equal(name_table_set(table, name, NAME_NONE), 0);
	}
}

static int make_names(void **state)
{
	for (unsigned i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "p%u", i);
	return 0;
}

TEST_GROUP(make_names, NULL)
