/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The gossip datagram, format 4.
 */
#include "gossip/datagram.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "base/wire.h"

/* Sender, epoch, counter and random bits. */
#define NONCE_FROM 4
#define NONCE_LEN  24

static void cursor_put(struct cursor *cursor, uint64_t value, size_t bytes)
{
	if (cursor->failed || cursor_left(cursor) < bytes) {
		cursor->failed = true;
		return;
	}
	for (size_t i = bytes; i-- > 0; value >>= 8)
		cursor->at[i] = (uint8_t)value;
	cursor->at += bytes;
}

static uint64_t cursor_get(struct cursor *cursor, size_t bytes)
{
	uint64_t value = 0;

	if (cursor->failed || cursor_left(cursor) < bytes) {
		cursor->failed = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | cursor->at[i];
	cursor->at += bytes;
	return value;
}

/* Four bytes: most of a datagram is made of them. */
static void cursor_put_u32(struct cursor *cursor, uint32_t value)
{
	if (cursor->failed || cursor_left(cursor) < 4) {
		cursor->failed = true;
		return;
	}
	cursor->at = wire_put32(cursor->at, value);
}

static uint32_t cursor_get_u32(struct cursor *cursor)
{
	uint32_t value;

	if (cursor->failed || cursor_left(cursor) < 4) {
		cursor->failed = true;
		return 0;
	}
	value = read_be32(cursor->at);
	cursor->at += 4;
	return value;
}

static void put_float(struct cursor *cursor, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	cursor_put_u32(cursor, bits);
}

static float get_float(struct cursor *cursor)
{
	uint32_t bits = cursor_get_u32(cursor);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void datagram_write_header(struct cursor *cursor, const struct datagram_header *header)
{
	cursor_put(cursor, header->version, 1);
	cursor_put(cursor, header->flags, 1);
	cursor_put(cursor, header->newest, 1);
	cursor_put(cursor, header->oldest, 1);
	cursor_put_u32(cursor, header->sender);
	cursor_put(cursor, header->epoch, 8);
	cursor_put(cursor, header->counter, 8);
	cursor_put_u32(cursor, header->random);
	cursor_put_u32(cursor, header->key);
}

void datagram_read_header(struct cursor *cursor, struct datagram_header *header)
{
	*header = (struct datagram_header){.version = (uint8_t)cursor_get(cursor, 1)};
	header->flags = (uint8_t)cursor_get(cursor, 1);
	header->newest = (uint8_t)cursor_get(cursor, 1);
	header->oldest = (uint8_t)cursor_get(cursor, 1);
	header->sender = cursor_get_u32(cursor);
	header->epoch = cursor_get(cursor, 8);
	header->counter = cursor_get(cursor, 8);
	header->random = cursor_get_u32(cursor);
	header->key = cursor_get_u32(cursor);
}

void datagram_write_body(struct cursor *cursor, const struct datagram_body *body)
{
	cursor_put_u32(cursor, body->receiver);
	cursor_put(cursor, body->echo_epoch, 8);
	cursor_put_u32(cursor, body->echo_tick);
	cursor_put_u32(cursor, body->tick);
	cursor_put(cursor, body->n_records, 2);
}

void datagram_read_body(struct cursor *cursor, struct datagram_body *body)
{
	body->receiver = cursor_get_u32(cursor);
	body->echo_epoch = cursor_get(cursor, 8);
	body->echo_tick = cursor_get_u32(cursor);
	body->tick = cursor_get_u32(cursor);
	body->n_records = (uint16_t)cursor_get(cursor, 2);
}

void datagram_write_section(struct cursor *cursor, const struct datagram_section *section)
{
	cursor_put_u32(cursor, section->origin);
	cursor_put(cursor, section->epoch, 8);
	cursor_put_u32(cursor, section->tick);
	cursor_put(cursor, section->n_records, 2);
}

void datagram_read_section(struct cursor *cursor, struct datagram_section *section)
{
	section->origin = cursor_get_u32(cursor);
	section->epoch = cursor_get(cursor, 8);
	section->tick = cursor_get_u32(cursor);
	section->n_records = (uint16_t)cursor_get(cursor, 2);
}

void datagram_write_record(struct cursor *cursor, const struct datagram_record *record)
{
	cursor_put(cursor, record->policy, 8);
	cursor_put_u32(cursor, record->version);
	put_float(cursor, record->demand);
	put_float(cursor, record->weight);
}

void datagram_read_record(struct cursor *cursor, struct datagram_record *record)
{
	record->policy = cursor_get(cursor, 8);
	record->version = cursor_get_u32(cursor);
	record->demand = get_float(cursor);
	record->weight = get_float(cursor);
}

void datagram_write_edge(struct cursor *cursor, const struct datagram_edge *edge, uint8_t version)
{
	unsigned flags = (edge->asks ? DATAGRAM_ASKS : 0) | (edge->holds ? DATAGRAM_HOLDS : 0);

	if (version < DATAGRAM_REPORTS) {
		cursor_put(cursor, edge->link, 1);
		return;
	}
	cursor_put(cursor, edge->link | flags, 1);
	cursor_put_u32(cursor, edge->sequence);
	cursor_put(cursor, edge->received.generation, 1);
	cursor_put_u32(cursor, edge->received.newest);
	cursor_put(cursor, edge->received.window, 8);
}

void datagram_read_edge(struct cursor *cursor, struct datagram_edge *edge, uint8_t version)
{
	*edge = (struct datagram_edge){.link = (unsigned)cursor_get(cursor, 1)};
	if (version < DATAGRAM_REPORTS)
		return;
	edge->asks = edge->link & DATAGRAM_ASKS;
	edge->holds = edge->link & DATAGRAM_HOLDS;
	edge->link &= ~(unsigned)(DATAGRAM_ASKS | DATAGRAM_HOLDS);
	edge->sequence = cursor_get_u32(cursor);
	edge->received.generation = (uint8_t)cursor_get(cursor, 1);
	edge->received.newest = cursor_get_u32(cursor);
	edge->received.window = cursor_get(cursor, 8);
}

void datagram_write_sum(struct cursor *cursor, const struct datagram_sum *sum)
{
	cursor_put(cursor, sum->policy, 8);
	cursor_put_u32(cursor, sum->count);
	put_float(cursor, sum->demand);
	put_float(cursor, sum->weight);
}

void datagram_read_sum(struct cursor *cursor, struct datagram_sum *sum)
{
	sum->policy = cursor_get(cursor, 8);
	sum->count = cursor_get_u32(cursor);
	sum->demand = get_float(cursor);
	sum->weight = get_float(cursor);
}

size_t datagram_seal(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY])
{
	unsigned long long sealed = 0;
	uint8_t *body = buf + DATAGRAM_HEADER;

	crypto_aead_xchacha20poly1305_ietf_encrypt(body, &sealed, body, len - DATAGRAM_HEADER, buf,
		DATAGRAM_HEADER, NULL, buf + NONCE_FROM, key);
	return DATAGRAM_HEADER + (size_t)sealed;
}

int datagram_open(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY])
{
	unsigned long long opened = 0;
	uint8_t *body = buf + DATAGRAM_HEADER;

	if (len < DATAGRAM_HEADER + DATAGRAM_TAG)
		return -EBADMSG;
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(body, &opened, NULL, body,
		    len - DATAGRAM_HEADER, buf, DATAGRAM_HEADER, buf + NONCE_FROM, key) != 0)
		return -EBADMSG;
	return DATAGRAM_HEADER + (int)opened;
}

static_assert(DATAGRAM_TAG == crypto_aead_xchacha20poly1305_ietf_ABYTES, "tag");
static_assert(DATAGRAM_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "key");
static_assert(NONCE_LEN == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "nonce");
