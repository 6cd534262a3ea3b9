/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The policies of this limiter, with their digests.
 */
#include <stdlib.h>
#include <string.h>

#include "agree/agree_private.h"
#include "base/hash.h"

static uint64_t mix_word(uint64_t word)
{
	return splitmix64_next(&word);
}

static struct agree_row row_of(
	const struct agree_policy *policy, uint32_t number, unsigned n_things)
{
	struct agree_row row = {.id = policy->id, .policy = number};

	row.digest = mix_word(policy->id);
	for (unsigned t = 0; t < n_things; t++) {
		row.digest = mix_word(row.digest ^ policy->values[t]);
		row.checks[t] = (uint16_t)mix_word(policy->values[t]);
	}
	return row;
}

static int compare_rows(const void *a, const void *b)
{
	uint64_t left = ((const struct agree_row *)a)->id;
	uint64_t right = ((const struct agree_row *)b)->id;

	return left < right ? -1 : left > right;
}

/* Places each policy in its leaf, in one pass over them; a leaf is small. */
static void place_rows(
	struct agree_rows *rows, const struct agree_policy *policies, unsigned n, unsigned n_things)
{
	unsigned at[LEAVES];

	for (unsigned i = 0; i < n; i++)
		rows->first[leaf_of(policies[i].id) + 1]++;
	for (unsigned leaf = 0; leaf < LEAVES; leaf++)
		rows->first[leaf + 1] += rows->first[leaf];
	memcpy(at, rows->first, sizeof(at));
	for (unsigned i = 0; i < n; i++)
		rows->rows[at[leaf_of(policies[i].id)]++] = row_of(&policies[i], i, n_things);
}

struct agree_rows *rows_create(const struct agree_policy *policies, unsigned n, unsigned n_things)
{
	struct agree_rows *rows = calloc(1, sizeof(*rows));

	if (rows)
		rows->rows = calloc((size_t)n + 1, sizeof(*rows->rows));
	if (!rows || !rows->rows) {
		free(rows);
		return NULL;
	}
	rows->n = n;
	place_rows(rows, policies, n, n_things);
	for (unsigned leaf = 0; leaf < LEAVES; leaf++) {
		unsigned first = rows->first[leaf], behind = rows->first[leaf + 1];

		qsort(rows->rows + first, behind - first, sizeof(*rows->rows), compare_rows);
		for (unsigned r = first; r < behind; r++)
			rows->leaves[leaf] += rows->rows[r].digest;
		rows->branches[leaf / BRANCHES] += rows->leaves[leaf];
		rows->root += rows->leaves[leaf];
	}
	return rows;
}

void rows_destroy(struct agree_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

const struct agree_row *rows_find(const struct agree_rows *rows, uint64_t id)
{
	unsigned leaf = leaf_of(id);

	for (unsigned r = rows->first[leaf]; r < rows->first[leaf + 1]; r++)
		if (rows->rows[r].id == id)
			return &rows->rows[r];
	return NULL;
}
