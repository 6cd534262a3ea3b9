/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Exports a classifier without pointers, in the format of lines_format.h.
 */
#include "classify/lines.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "classify/fib4_private.h"
#include "classify/tables.h"

/* These are copied without conversion. */
static_assert(sizeof(struct classify_line) == 64, "a line is a cache line");
static_assert(sizeof(struct lines_header) == 64, "the header is a line");
static_assert(sizeof(struct lines_few) == 128, "few ranges are two lines");
static_assert(sizeof(struct lines_node) == 32, "two nodes are a line");
static_assert(
	sizeof(struct lines_bucket) == sizeof(struct lpm6_bucket) &&
		offsetof(struct lines_bucket, start) == offsetof(struct lpm6_bucket, answer) &&
		offsetof(struct lines_bucket, further) == offsetof(struct lpm6_bucket, further),
	"a bucket is the same");
static_assert(sizeof(struct lines_rule) == sizeof(struct rule) &&
		      offsetof(struct lines_rule, policy) == offsetof(struct rule, policy) &&
		      offsetof(struct lines_rule, next) == offsetof(struct rule, next) &&
		      offsetof(struct lines_rule, src_first) == offsetof(struct rule, src_port) &&
		      offsetof(struct lines_rule, dst_first) == offsetof(struct rule, dst_port) &&
		      offsetof(struct lines_rule, src) == offsetof(struct rule, src) &&
		      offsetof(struct lines_rule, src_mask) == offsetof(struct rule, src_mask),
	"a rule is the same");
static_assert(LINES_NONE == CLASSIFY_NONE && LINES_CHAIN == START_CHAIN, "starts are the same");
static_assert(LINES_FURTHER == FIB4_FURTHER && LINES_TABLE == FIB4_TABLE &&
		      LINES_PLACE == FIB4_PLACE && LINES_UNIT_WORDS == FIB4_UNIT_WORDS,
	"entries are the same");
static_assert(LINES_FEW == FIB4_FEW, "few are as many");
static_assert(LINES_NODES * 2 == 1 << LPM6_STEPS_MAX, "two nodes are a line");
static_assert(
	LINES_SLOTS == LPM6_SLOTS && LINES_FURTHER_MAX == LPM6_FURTHER_MAX, "buckets are as long");

/* Writes parts one after the other, or only counts their lines. */
struct lines_writer {
	struct classify_line *lines; /* NULL: count */
	size_t n;
};

/* Appends a part. Returns its first line. */
static __u32 put_part(struct lines_writer *writer, const void *part, size_t bytes)
{
	const size_t first = writer->n;

	writer->n += (bytes + sizeof(*writer->lines) - 1) / sizeof(*writer->lines);
	if (writer->lines == NULL || bytes == 0)
		return (__u32)first;
	memset(&writer->lines[writer->n - 1], 0, sizeof(*writer->lines));
	memcpy(&writer->lines[first], part, bytes);
	return (__u32)first;
}

/*
 * Appends few ranges. Unused ranges begin at the last address, with the answer of the last range.
 */
static __u32 put_few(struct lines_writer *writer, const struct fib4 *fib)
{
	struct lines_few few;
	uint32_t start = 0;

	for (unsigned i = 0; i < FIB4_FEW; i++) {
		start ^= i < fib->n_few ? fib->few[i].change : 0;
		few.start[i] = start;
		few.first[i] = i < fib->n_few
				       ? ((uint32_t)fib->few[i].before ^ UINT32_C(1) << 31) + 1
				       : UINT32_MAX;
	}
	few.first[0] = 0;
	return put_part(writer, &few, sizeof(few));
}

static __u32 put_nodes(struct lines_writer *writer, const struct lpm6 *lpm)
{
	struct lines_node nodes[1 << LPM6_STEPS_MAX];

	for (unsigned i = 0; i < 1 << LPM6_STEPS_MAX; i++) {
		const struct lpm6_node *node = &lpm->nodes[i];

		nodes[i] = (struct lines_node){
			.mask = {node->mask.word[0], node->mask.word[1]},
			.first = node->first,
			.n_buckets = node->n_buckets,
		};
	}
	return put_part(writer, nodes, sizeof(nodes));
}

static struct lines_table put_table(struct lines_writer *writer, const struct table *table)
{
	struct lines_table lines = {.root4 = table->root4, .root6 = table->root6};

	for (enum direction way = DIRECTION_A_TO_B; way <= DIRECTION_B_TO_A; way++)
		lines.directions |= (__u8)(table_applies(table, way) << way);
	if (table->v4 != NULL && table->v4->n_few > 0) {
		lines.few = 1;
		lines.v4 = put_few(writer, table->v4);
	} else if (table->v4 != NULL) {
		lines.v4 = put_part(writer, table->v4->entries,
			table->v4->n_units * FIB4_UNIT_WORDS * sizeof(uint32_t));
	}
	if (table->v6 != NULL) {
		lines.steps = (__u8)table->v6->n_steps;
		lines.v6 = put_nodes(writer, table->v6);
		put_part(writer, table->v6->buckets,
			table->v6->n_buckets * sizeof(struct lpm6_bucket));
	}
	return lines;
}

/* Appends the rules, from the first to the last that a search can reach. */
static void put_rules(struct lines_writer *writer, const struct classifier *classifier,
	struct lines_header *header)
{
	uint32_t first = 0, end = classifier->n_rules;

	while (first < end && rule_asks_nothing(&classifier->rules[first]))
		first++;
	while (first < end && rule_asks_nothing(&classifier->rules[end - 1]))
		end--;
	header->first_rule = first;
	header->rules = put_part(
		writer, &classifier->rules[first], (size_t)(end - first) * sizeof(struct rule));
}

/* Writes or counts all parts. The header is first, and is filled in last. */
static void put_lines(struct lines_writer *writer, const struct classifier *classifier)
{
	struct lines_header header = {
		.version = LINES_VERSION, .any = classifier->any, .drops = classifier->drops};

	put_part(writer, &header, sizeof(header));
	header.dst = put_table(writer, &classifier->dst);
	header.src = put_table(writer, &classifier->src);
	if (classifier->by_vlan != NULL)
		header.by_vlan = put_part(
			writer, classifier->by_vlan, VLANS * sizeof(*classifier->by_vlan));
	put_rules(writer, classifier, &header);
	if (writer->lines != NULL)
		memcpy(writer->lines, &header, sizeof(header));
}

size_t classifier_lines_count(const struct classifier *classifier)
{
	struct lines_writer writer = {0};

	put_lines(&writer, classifier);
	return writer.n;
}

int classifier_lines_write(
	const struct classifier *classifier, struct classify_line *lines, size_t n)
{
	const size_t needed = classifier_lines_count(classifier);
	struct lines_writer writer = {.lines = lines};

	if (needed > UINT32_MAX)
		return -E2BIG;
	if (n < needed)
		return -ENOSPC;
	put_lines(&writer, classifier);
	return 0;
}
