/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gossip/datagram.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <sodium.h>

#define NONCE_FROM 4 /* sender, epoch and counter: never the same twice under one key */
#define NONCE_LEN  20

static void put(struct cursor *cursor, uint64_t value, size_t bytes)
{
	if (cursor->failed || cursor_left(cursor) < bytes) {
		cursor->failed = true;
		return;
	}
	for (size_t i = bytes; i-- > 0; value >>= 8)
		cursor->at[i] = (uint8_t)value;
	cursor->at += bytes;
}

static uint64_t get(struct cursor *cursor, size_t bytes)
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

static void put_float(struct cursor *cursor, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put(cursor, bits, 4);
}

static float get_float(struct cursor *cursor)
{
	uint32_t bits = (uint32_t)get(cursor, 4);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void datagram_write_header(struct cursor *cursor, const struct datagram_header *header)
{
	put(cursor, header->version, 1);
	put(cursor, header->flags, 1);
	put(cursor, 0, 2);
	put(cursor, header->sender, 4);
	put(cursor, header->epoch, 8);
	put(cursor, header->counter, 8);
}

void datagram_read_header(struct cursor *cursor, struct datagram_header *header)
{
	header->version = (uint8_t)get(cursor, 1);
	header->flags = (uint8_t)get(cursor, 1);
	get(cursor, 2);
	header->sender = (uint32_t)get(cursor, 4);
	header->epoch = get(cursor, 8);
	header->counter = get(cursor, 8);
}

void datagram_write_body(struct cursor *cursor, const struct datagram_body *body)
{
	put(cursor, body->receiver, 4);
	put(cursor, body->echo_epoch, 8);
	put(cursor, body->echo_tick, 4);
	put(cursor, body->tick, 4);
	put(cursor, body->n_records, 2);
}

void datagram_read_body(struct cursor *cursor, struct datagram_body *body)
{
	body->receiver = (uint32_t)get(cursor, 4);
	body->echo_epoch = get(cursor, 8);
	body->echo_tick = (uint32_t)get(cursor, 4);
	body->tick = (uint32_t)get(cursor, 4);
	body->n_records = (uint16_t)get(cursor, 2);
}

void datagram_write_section(struct cursor *cursor, const struct datagram_section *section)
{
	put(cursor, section->origin, 4);
	put(cursor, section->epoch, 8);
	put(cursor, section->tick, 4);
	put(cursor, section->n_records, 2);
}

void datagram_read_section(struct cursor *cursor, struct datagram_section *section)
{
	section->origin = (uint32_t)get(cursor, 4);
	section->epoch = get(cursor, 8);
	section->tick = (uint32_t)get(cursor, 4);
	section->n_records = (uint16_t)get(cursor, 2);
}

void datagram_write_record(struct cursor *cursor, const struct datagram_record *record)
{
	put(cursor, record->policy, 4);
	put(cursor, record->version, 4);
	put_float(cursor, record->demand);
	put_float(cursor, record->weight);
}

void datagram_read_record(struct cursor *cursor, struct datagram_record *record)
{
	record->policy = (uint32_t)get(cursor, 4);
	record->version = (uint32_t)get(cursor, 4);
	record->demand = get_float(cursor);
	record->weight = get_float(cursor);
}

void datagram_write_link(struct cursor *cursor, enum datagram_link link)
{
	put(cursor, link, 1);
}

unsigned datagram_read_link(struct cursor *cursor)
{
	return (unsigned)get(cursor, 1);
}

void datagram_write_sum(struct cursor *cursor, const struct datagram_sum *sum)
{
	put(cursor, sum->policy, 4);
	put(cursor, sum->count, 4);
	put_float(cursor, sum->demand);
	put_float(cursor, sum->weight);
}

void datagram_read_sum(struct cursor *cursor, struct datagram_sum *sum)
{
	sum->policy = (uint32_t)get(cursor, 4);
	sum->count = (uint32_t)get(cursor, 4);
	sum->demand = get_float(cursor);
	sum->weight = get_float(cursor);
}

void datagram_write_round(struct cursor *cursor, const struct datagram_round *round)
{
	put(cursor, round->generation, 4);
	put(cursor, round->sequence, 4);
}

void datagram_read_round(struct cursor *cursor, struct datagram_round *round)
{
	round->generation = (uint32_t)get(cursor, 4);
	round->sequence = (uint32_t)get(cursor, 4);
}

void datagram_write_share(struct cursor *cursor, const struct datagram_share *share)
{
	put(cursor, share->policy, 4);
	put_float(cursor, share->push);
	put_float(cursor, share->demand);
	put_float(cursor, share->weight);
}

void datagram_read_share(struct cursor *cursor, struct datagram_share *share)
{
	share->policy = (uint32_t)get(cursor, 4);
	share->push = get_float(cursor);
	share->demand = get_float(cursor);
	share->weight = get_float(cursor);
}

static void nonce_of(
	const uint8_t *buf, uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES])
{
	memset(nonce, 0, crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
	memcpy(nonce, buf + NONCE_FROM, NONCE_LEN);
}

size_t datagram_seal(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY])
{
	uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES];
	unsigned long long sealed = 0;
	uint8_t *body = buf + DATAGRAM_HEADER;

	nonce_of(buf, nonce);
	crypto_aead_xchacha20poly1305_ietf_encrypt(
		body, &sealed, body, len - DATAGRAM_HEADER, buf, DATAGRAM_HEADER, NULL, nonce, key);
	return DATAGRAM_HEADER + (size_t)sealed;
}

int datagram_open(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY])
{
	uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES];
	unsigned long long opened = 0;
	uint8_t *body = buf + DATAGRAM_HEADER;

	if (len < DATAGRAM_HEADER + DATAGRAM_TAG)
		return -EBADMSG;
	nonce_of(buf, nonce);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(body, &opened, NULL, body,
		    len - DATAGRAM_HEADER, buf, DATAGRAM_HEADER, nonce, key) != 0)
		return -EBADMSG;
	return DATAGRAM_HEADER + (int)opened;
}

static_assert(DATAGRAM_TAG == crypto_aead_xchacha20poly1305_ietf_ABYTES, "tag");
static_assert(DATAGRAM_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "key");
static_assert(NONCE_LEN <= crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "nonce");
