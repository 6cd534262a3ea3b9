/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A ledger's identity: its text for people, and how a book without one learns it.
 */
#include "check.h"

#include "book/book.h"

#define KIND 7

TEST(test_written)
{
	static const struct {
		struct book_identity identity;
		const char *text;
	} rows[] = {
		{{UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210)},
			"0123456789abcdeffedcba9876543210"},
		{{0, 1}, "00000000000000000000000000000001"},
		{{1, 0}, "00000000000000010000000000000000"},
		{{UINT64_MAX, UINT64_MAX}, "ffffffffffffffffffffffffffffffff"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct book_identity read = {0};
		char text[BOOK_IDENTITY_TEXT];

		book_identity_write(rows[i].identity, text);
		assert_string_equal(text, rows[i].text);
		assert_true(book_identity_read(text, &read));
		assert_true(book_identity_equal(read, rows[i].identity));
	}
}

TEST(test_typed)
{
	static const char *const bad[] = {"", "0", "0000000000000000000000000000001",
		"000000000000000000000000000000001", "00000000000000000000000000000000",
		"0000000000000000000000000000000g", "g0000000000000000000000000000001",
		"000000000000000G0000000000000001", "0x000000000000000000000000000001",
		" 0000000000000000000000000000001", "0000000000000001 000000000000000"};
	struct book_identity identity;

	assert_true(book_identity_read("0123456789abcdefABCDEFabcdef0019", &identity));
	assert_int_equal(identity.high, UINT64_C(0x0123456789abcdef));
	assert_int_equal(identity.low, UINT64_C(0xabcdefabcdef0019));
	for (size_t i = 0; i < COUNT(bad); i++)
		if (book_identity_read(bad[i], &identity))
			fail_msg("\"%s\" is taken", bad[i]);
}

TEST(test_compared)
{
	assert_false(book_identity_known((struct book_identity){0, 0}));
	assert_true(book_identity_known((struct book_identity){0, 1}));
	assert_true(book_identity_known((struct book_identity){1, 0}));
	assert_false(
		book_identity_equal((struct book_identity){1, 2}, (struct book_identity){1, 3}));
	assert_false(
		book_identity_equal((struct book_identity){1, 2}, (struct book_identity){3, 2}));
	assert_true(
		book_identity_equal((struct book_identity){1, 2}, (struct book_identity){1, 2}));
}

/* Reads a neighbour's message with this identity. */
static int hear_identity(struct book *book, unsigned edge, struct book_identity says)
{
	const struct book other = {.identity = says};
	uint8_t message[BOOK_HEAD];

	assert_ptr_equal(book_write_head(&other, KIND, message), message + sizeof(message));
	return book_read_head(book, edge, KIND, message, sizeof(message));
}

/*
 * A book without an identity takes the one that all neighbours with an identity have sent, once
 * each neighbour has sent. It then rejects messages with another one.
 */
TEST(test_heard)
{
	static const struct {
		struct book_identity says[3], is;
		int ret[3];
	} rows[] = {
		{{{1, 2}, {1, 2}, {1, 2}}, {1, 2}, {-ESTALE, -ESTALE, 0}},
		{{{1, 2}, {0, 0}, {1, 2}}, {1, 2}, {-ESTALE, -ESTALE, 0}},
		{{{0, 0}, {0, 0}, {1, 2}}, {1, 2}, {-ESTALE, -ESTALE, 0}},
		{{{1, 2}, {1, 2}, {0, 0}}, {1, 2}, {-ESTALE, -ESTALE, -ESTALE}},
		{{{1, 2}, {1, 3}, {1, 2}}, {0, 0}, {-ESTALE, -ESTALE, -ESTALE}},
		{{{1, 2}, {0, 0}, {3, 2}}, {0, 0}, {-ESTALE, -ESTALE, -ESTALE}},
		{{{0, 0}, {0, 0}, {0, 0}}, {0, 0}, {-ESTALE, -ESTALE, -ESTALE}},
	};
	const struct book_identity another = {5, 5};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct book_link links[3] = {0};
		struct book book = {.links = links, .n_edges = 3};
		for (unsigned e = 0; e < 3; e++)
			if (hear_identity(&book, e, rows[i].says[e]) != rows[i].ret[e])
				fail_msg("row %zu: what neighbour %u says", i, e);
		if (!book_identity_equal(book.identity, rows[i].is))
			fail_msg("row %zu: another identity", i);
		if (!book_identity_known(rows[i].is))
			continue;
		assert_int_equal(hear_identity(&book, 1, another), -ESTALE);
		assert_int_equal(links[1].foreign, 1);
		assert_int_equal(links[0].foreign + links[2].foreign, 0);
	}
}
