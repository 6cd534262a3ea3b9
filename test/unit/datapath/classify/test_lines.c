/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The representation of a classifier in lines, for the XDP program: its size, its place and all its
 * parts. The test of the XDP program checks that searches in it find the same policies as the
 * workers.
 */
#include "classify_world.h"
#include "scope.h"

#include "classify/lines.h"

#define BEHIND 8 /* lines after the classifier */

struct written {
	struct classifier *classifier;
	struct classify_line *lines;
	size_t n;
};

/* Writes the classifier of the rows, with lines of 0xa5 after it. */
static struct written write_rows(const struct row *rows, unsigned n_rows)
{
	struct policy policies[64] = {0};
	struct written written = {0};

	for (unsigned i = 0; i < n_rows; i++)
		policies[i] = make_policy(&rows[i]);
	assert_int_equal(classifier_create(policies, n_rows, -1, &written.classifier), 0);
	written.n = classifier_lines_count(written.classifier);
	written.lines = malloc((written.n + BEHIND) * sizeof(*written.lines));
	assert_non_null(written.lines);
	memset(written.lines, 0xa5, (written.n + BEHIND) * sizeof(*written.lines));
	assert_int_equal(
		classifier_lines_write(written.classifier, written.lines, written.n + BEHIND), 0);
	return written;
}

static void free_written(struct written *written)
{
	free(written->lines);
	classifier_destroy(written->classifier);
}

static const struct lines_header *header_of(const struct written *written)
{
	return (const struct lines_header *)written->lines;
}

TEST(test_nothing)
{
	ENDED_BY(free_written) struct written written = write_rows(NULL, 0);

	assert_int_equal(written.n, 1);
	assert_int_equal(header_of(&written)->version, LINES_VERSION);
	assert_int_equal(header_of(&written)->any, LINES_NONE);
	assert_int_equal(header_of(&written)->dst.directions, 0);
	assert_int_equal(header_of(&written)->src.directions, 0);
}

/* Every kind of part: two families, few ranges and many, VLANs, and rules among answers. */
static const struct row all_parts[] = {
	{.dst = "10.0.0.0/8"},
	{.dst = "10.1.0.0/16"},
	{.dst = "10.1.1.0/24", .proto = 6},
	{.dst = "10.1.2.0/24", .proto = 6},
	{.dst = "10.1.3.0/24"},
	{.dst = "10.1.5.0/24"},
	{.dst = "10.1.7.0/24"},
	{.dst = "10.1.9.0/24"},
	{.dst = "10.1.11.0/24"},
	{.dst = "10.1.13.0/24"},
	{.src = "10.0.0.0/8", .direction = DIRECTION_A_TO_B},
	{.src = "2001:db8::/32", .direction = DIRECTION_A_TO_B},
	{.vlan = NAMED(7)},
	{.used = true},
};

/* Parts lie one after the other without gaps. */
TEST(test_parts)
{
	ENDED_BY(free_written) struct written written = write_rows(all_parts, COUNT(all_parts));
	const struct lines_header *header = header_of(&written);

	assert_int_equal(header->dst.v4, 1);
	assert_int_equal(header->dst.few, 0);
	assert_int_equal(header->dst.v6, 0);
	assert_int_equal(header->dst.directions, 1 << DIRECTION_A_TO_B | 1 << DIRECTION_B_TO_A);
	assert_true(header->src.v4 > 65536 / 16);
	assert_int_equal(header->src.few, 1);
	assert_int_equal(header->src.v6, header->src.v4 + 2);
	assert_int_equal(header->src.steps, 1);
	assert_int_equal(header->src.directions, 1 << DIRECTION_A_TO_B);
	assert_int_equal(header->by_vlan, header->src.v6 + LINES_NODES + 2);
	assert_int_equal(header->rules, header->by_vlan + 4096 / 16);
	assert_int_equal(written.n, header->rules + 2);
	assert_int_equal(((uint32_t *)&written.lines[header->by_vlan])[7], 12);
	assert_int_equal(((uint32_t *)&written.lines[header->by_vlan])[8], 13);
}

/* Only rules from the first with a condition to the last are written. Others are answers. */
TEST(test_rules)
{
	ENDED_BY(free_written) struct written written = write_rows(all_parts, COUNT(all_parts));
	const struct lines_header *header = header_of(&written);
	const struct lines_rule *rule = (const void *)&written.lines[header->rules];

	assert_int_equal(rule[0].policy, 2);
	assert_int_equal(rule[1].policy, 3);
	assert_int_equal(rule[0].next, 1);
}

/* Few ranges: their first addresses, and none after the last one. */
TEST(test_few)
{
	ENDED_BY(free_written) struct written written = write_rows(all_parts, COUNT(all_parts));
	const struct lines_few *few = (const void *)&written.lines[header_of(&written)->src.v4];

	assert_int_equal(few->first[0], 0);
	assert_int_equal(few->first[1], 0x0a000000);
	assert_int_equal(few->first[2], 0x0b000000);
	for (unsigned i = 3; i < LINES_FEW; i++)
		assert_int_equal(few->first[i], UINT32_MAX);
	assert_int_equal(few->start[0], header_of(&written)->src.root4);
	assert_int_equal(few->start[2], few->start[0]);
	assert_int_not_equal(few->start[1], few->start[0]);
}

TEST(test_no_room)
{
	ENDED_BY(free_written) struct written written = write_rows(all_parts, COUNT(all_parts));

	memset(written.lines, 0x5a, sizeof(*written.lines));
	assert_int_equal(
		classifier_lines_write(written.classifier, written.lines, written.n - 1), -ENOSPC);
	assert_int_equal(written.lines[0].word[0], 0x5a5a5a5a5a5a5a5a);
	assert_int_equal(classifier_lines_write(written.classifier, written.lines, written.n), 0);
}

/* Every line is written completely, and no line after them. */
TEST(test_extent)
{
	ENDED_BY(free_written) struct written first = write_rows(all_parts, COUNT(all_parts));
	ENDED_BY(free_at) struct classify_line *again = malloc(first.n * sizeof(*again));

	assert_non_null(again);
	memset(again, 0xff, first.n * sizeof(*again));
	assert_int_equal(classifier_lines_write(first.classifier, again, first.n), 0);
	assert_memory_equal(again, first.lines, first.n * sizeof(*again));
	for (unsigned i = 0; i < BEHIND; i++)
		for (unsigned word = 0; word < COUNT(again->word); word++)
			assert_int_equal(first.lines[first.n + i].word[word], 0xa5a5a5a5a5a5a5a5);
}

TEST_GROUP(start_eal, stop_eal)
