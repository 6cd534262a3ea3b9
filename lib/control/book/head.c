/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The ledger of a message. Its head is the kind and the identity, big-endian.
 */
#include <errno.h>

#include "base/wire.h"
#include "book/book.h"

uint8_t *book_write_head(const struct book *book, uint8_t kind, uint8_t *at)
{
	*at++ = kind;
	return wire_put64(wire_put64(at, book->identity.high), book->identity.low);
}

/*
 * Finds the identity that all neighbours with one have sent; returns false as long as that is not
 * clear.
 */
static bool neighbours_agree(const struct book *book, struct book_identity *identity)
{
	*identity = (struct book_identity){0};
	for (unsigned e = 0; e < book->n_edges; e++) {
		const struct book_link *link = &book->links[e];

		if (!link->spoke)
			return false;
		if (!book_identity_known(link->says))
			continue;
		if (book_identity_known(*identity) && !book_identity_equal(*identity, link->says))
			return false;
		*identity = link->says;
	}
	return book_identity_known(*identity);
}

int book_read_head(
	struct book *book, unsigned edge, uint8_t kind, const uint8_t *message, size_t len)
{
	struct book_link *link = &book->links[edge];
	struct book_identity agreed;

	if (len < BOOK_HEAD || message[0] != kind)
		return -EBADMSG;
	link->spoke = true;
	wire_get64(wire_get64(message + 1, &link->says.high), &link->says.low);
	if (!book_identity_known(book->identity) && neighbours_agree(book, &agreed))
		book->identity = agreed;
	if (!book_identity_known(book->identity) || !book_identity_known(link->says))
		return -ESTALE;
	if (book_identity_equal(book->identity, link->says))
		return 0;
	link->foreign++;
	return -ESTALE;
}

void book_invalid(struct book *book, unsigned edge)
{
	book->links[edge].invalid++;
}
