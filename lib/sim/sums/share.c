/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Body of a datagram of these estimators, after its fixed part (gossip/datagram.h).
 */
#include "sums/share.h"

#include <string.h>

#include "base/wire.h"

/* Returns the place of so many bytes and moves the cursor past them; NULL: they do not fit. */
static uint8_t *cursor_pass(struct cursor *cursor, size_t bytes)
{
	uint8_t *at = cursor->at;

	if (cursor->failed || cursor_left(cursor) < bytes) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += bytes;
	return at;
}

double share_narrow(double number)
{
	return (double)(float)number;
}

void sums_write_round(struct cursor *cursor, const struct sums_round *round)
{
	uint8_t *at = cursor_pass(cursor, 8);

	if (at)
		wire_put32(wire_put32(at, round->generation), round->sequence);
}

void sums_read_round(struct cursor *cursor, struct sums_round *round)
{
	const uint8_t *at = cursor_pass(cursor, 8);

	*round = (struct sums_round){0};
	if (at)
		*round = (struct sums_round){read_be32(at), read_be32(at + 4)};
}

static uint8_t *put_number(uint8_t *at, double number, bool total)
{
	float narrow = (float)number;
	uint32_t bits;

	if (total)
		return wire_put_double(at, number);
	memcpy(&bits, &narrow, sizeof(bits));
	return wire_put32(at, bits);
}

static double get_number(const uint8_t *at, bool total)
{
	uint32_t bits = read_be32(at);
	double number;
	float narrow;

	memcpy(&narrow, &bits, sizeof(narrow));
	if (!total)
		return (double)narrow;
	wire_get_double(at, &number);
	return number;
}

void sums_write_share(struct cursor *cursor, const struct sums_share *share, bool total)
{
	uint8_t *at = cursor_pass(cursor, total ? TOTAL_BYTES : SHARE_BYTES);

	if (!at)
		return;
	at = put_number(wire_put64(at, share->policy), share->push, total);
	put_number(put_number(at, share->demand, total), share->weight, total);
}

void sums_read_share(struct cursor *cursor, struct sums_share *share, bool total)
{
	size_t bytes = total ? 8 : 4;
	const uint8_t *at = cursor_pass(cursor, 8 + 3 * bytes);

	*share = (struct sums_share){0};
	if (!at)
		return;
	share->policy = read_be64(at);
	share->push = get_number(at + 8, total);
	share->demand = get_number(at + 8 + bytes, total);
	share->weight = get_number(at + 8 + 2 * bytes, total);
}
