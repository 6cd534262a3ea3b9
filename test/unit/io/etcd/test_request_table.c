/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Requests found by quota name: one for each name, for any number of names, at a stable address.
 */
#include "check.h"
#include "scope.h"

#include "etcd/request_table.h"

#define MANY 1000

static const char *name_of(unsigned i, char name[ETCD_NAME_MAX])
{
	snprintf(name, ETCD_NAME_MAX, "budget-%u", i);
	return name;
}

TEST(test_many)
{
	ENDED_BY(asks_free) struct asks asks = {0};
	struct ask *at[MANY];
	char name[ETCD_NAME_MAX];

	for (unsigned i = 0; i < MANY; i++) {
		at[i] = asks_find(&asks, name_of(i, name));
		assert_non_null(at[i]);
		assert_string_equal(at[i]->draw.budget, name);
		assert_false(at[i]->busy);
		assert_int_equal(asks.n, i + 1);
		/* At most as many names as chains; chains double. */
		assert_true(asks.n <= asks.n_chains && asks.n_chains >= 16);
		assert_true(i < 16 || asks.n_chains < 2 * asks.n);
		assert_int_equal(asks.n_chains & (asks.n_chains - 1), 0);
		at[i]->draw.units = i;
	}
	for (unsigned i = 0; i < MANY; i++) {
		assert_ptr_equal(asks_find(&asks, name_of(i, name)), at[i]);
		assert_int_equal(at[i]->draw.units, i);
	}
	assert_int_equal(asks.n, MANY);
	assert_int_equal(asks.n_chains, 1024);
}

/* The number of chains is right from the first name on. */
TEST(test_first)
{
	ENDED_BY(asks_free) struct asks asks = {0};
	char name[ETCD_NAME_MAX];

	asks_free(&asks);
	for (unsigned i = 0; i < 17; i++) {
		assert_non_null(asks_find(&asks, name_of(i, name)));
		assert_int_equal(asks.n_chains, i < 16 ? 16 : 32);
	}
}

TEST(test_longest)
{
	ENDED_BY(asks_free) struct asks asks = {0};
	char name[ETCD_NAME_MAX];
	struct ask *ask;

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ask = asks_find(&asks, name);
	assert_non_null(ask);
	assert_string_equal(ask->draw.budget, name);
	assert_ptr_equal(asks_find(&asks, name), ask);
	name[sizeof(name) - 2] = 'y';
	assert_ptr_not_equal(asks_find(&asks, name), ask);
}
