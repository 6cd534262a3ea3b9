/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The messages of loans, big-endian.
 */
#include "loan/loan_message.h"

#include <assert.h>
#include <errno.h>

#include "base/wire.h"

#define HEAD          20
#define REQUEST_ENTRY 24
#define OFFER_ENTRY   32

static_assert(HEAD + LOAN_POLICIES * OFFER_ENTRY <= LOAN_MESSAGE_MAX, "the longest message fits");

unsigned loan_message_policies(size_t room)
{
	size_t n = room > HEAD ? (room - HEAD) / OFFER_ENTRY : 0;

	return n < LOAN_POLICIES ? (unsigned)n : LOAN_POLICIES;
}

size_t loan_message_write(const struct loan_message *message, uint8_t *buf)
{
	uint8_t *at = buf + 2;

	buf[0] = LOAN_MESSAGE;
	buf[1] = (uint8_t)message->kind;
	at = wire_put16(at, (uint16_t)message->n);
	at = wire_put32(at, message->session);
	at = wire_put32(at, message->number);
	at = wire_put32(at, message->round_us);
	at = wire_put32(at, message->wait_us);
	for (unsigned i = 0; i < message->n; i++) {
		const struct loan_entry *entry = &message->entries[i];

		at = wire_put64(at, entry->policy);
		at = wire_put64(at, entry->taken.bytes);
		at = wire_put64(at, entry->taken.room);
		if (message->kind == LOAN_OFFER)
			at = wire_put64(at, entry->taken.rate);
	}
	return (size_t)(at - buf);
}

int loan_message_read(struct loan_message *message, const uint8_t *at, size_t len)
{
	size_t size;

	if (len < HEAD || at[0] != LOAN_MESSAGE || at[1] < LOAN_REQUEST || at[1] > LOAN_OFFER)
		return -EINVAL;
	message->kind = (enum loan_kind)at[1];
	message->n = read_be16(at + 2);
	message->session = read_be32(at + 4);
	message->number = read_be32(at + 8);
	message->round_us = read_be32(at + 12);
	message->wait_us = read_be32(at + 16);
	size = message->kind == LOAN_REQUEST ? REQUEST_ENTRY : OFFER_ENTRY;
	if (message->n > LOAN_POLICIES || len != HEAD + message->n * size)
		return -EINVAL;
	at += HEAD;
	for (unsigned i = 0; i < message->n; i++, at += size) {
		struct loan_entry *entry = &message->entries[i];

		entry->policy = read_be64(at);
		entry->taken = (struct loan_taken){read_be64(at + 8), read_be64(at + 16), 0};
		if (message->kind == LOAN_OFFER)
			entry->taken.rate = read_be64(at + 24);
	}
	return 0;
}
