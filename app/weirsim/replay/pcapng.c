/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The newer format (draft-ietf-opsawg-pcapng): sections, each of its own byte order and with its
 * own interfaces, of blocks that say how long they are at both ends. A block is read whole before
 * anything in it is believed; blocks of types that are not known here are skipped.
 */
#include <errno.h>
#include <inttypes.h>

#include "pcap_private.h"

#define BYTE_ORDER_MAGIC 0x1a2b3c4dU

enum block_type {
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 2, /* obsolete */
	BLOCK_SIMPLE = 3,
	BLOCK_ENHANCED = 6,
};

enum option_code {
	OPTION_END = 0,
	OPTION_TSRESOL = 9,
	OPTION_FCSLEN = 13,
	OPTION_TSOFFSET = 14,
};

/* Bytes before and after the body of a block, and what the bodies have at least. */
#define BLOCK_HEADER    8
#define BLOCK_TRAILER   4
#define SECTION_HEADER  12 /* with the byte-order magic, which says how to read the length */
#define SECTION_BODY    12 /* version 4, length of the section 8 */
#define INTERFACE_BODY  8
#define SIMPLE_BODY     4
#define PACKET_BODY     20 /* enhanced and obsolete: interface, time, lengths */
#define OPTION_HEADER   4
#define TSRESOL_BINARY  0x80
#define DECIMALS_OF_NS  9
#define DECIMALS_OF_U64 19

/*
 * Reads the rest of a block of `total` bytes, of which `done` have been read, into pcap->body.
 * Returns the bytes of the body, or a failure.
 */
static int read_rest(struct pcap *pcap, uint32_t total, uint32_t done)
{
	uint32_t body, trailer;
	int ret;

	if (total < done + BLOCK_TRAILER || total % 4 != 0 || total > PCAP_BLOCK_MAX)
		return pcap_fail(pcap, -EBADMSG, pcap->record,
			"a block of %" PRIu32 " bytes: from %u to %u in steps of 4 are possible",
			total, done + BLOCK_TRAILER, PCAP_BLOCK_MAX);
	body = total - done - BLOCK_TRAILER;
	ret = pcap_read_body(pcap, body + BLOCK_TRAILER);
	if (ret)
		return ret;
	trailer = pcap_u32(pcap, pcap->body + body);
	if (trailer != total)
		return pcap_fail(pcap, -EBADMSG, pcap->offset - BLOCK_TRAILER,
			"a block that has %" PRIu32 " bytes by its end and %" PRIu32
			" by its beginning",
			trailer, total);
	return (int)body;
}

int pcapng_section(struct pcap *pcap)
{
	uint8_t header[SECTION_HEADER - 4];
	uint16_t major;
	int ret = pcap_read(pcap, header, sizeof(header));

	if (ret)
		return ret;
	pcap->swapped = false;
	pcap->swapped = pcap_u32(pcap, header + 4) == bswap_32(BYTE_ORDER_MAGIC);
	if (pcap_u32(pcap, header + 4) != BYTE_ORDER_MAGIC)
		return pcap_fail(pcap, -EBADMSG, pcap->record + 8, "no byte order of a section");
	ret = read_rest(pcap, pcap_u32(pcap, header), SECTION_HEADER);
	if (ret < 0)
		return ret;
	if (ret < SECTION_BODY)
		return pcap_fail(pcap, -EBADMSG, pcap->record, "a section header too short");
	major = pcap_u16(pcap, pcap->body);
	if (major != 1)
		return pcap_fail(pcap, -EBADMSG, pcap->record,
			"version %u.%u of pcapng: only 1 is known", major,
			pcap_u16(pcap, pcap->body + 2));
	pcap->n_interfaces = 0;
	return 0;
}

static uint64_t power_of_ten(unsigned exponent)
{
	uint64_t power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

/* Ticks of 10^-n or 2^-n seconds. */
static void set_resolution(struct pcap_interface *interface, uint8_t resolution)
{
	unsigned n = resolution & (TSRESOL_BINARY - 1);

	interface->shift = 0;
	interface->divide = 1;
	if (resolution & TSRESOL_BINARY) {
		interface->multiply = power_of_ten(DECIMALS_OF_NS);
		interface->shift = (uint8_t)n;
	} else if (n <= DECIMALS_OF_NS) {
		interface->multiply = power_of_ten(DECIMALS_OF_NS - n);
	} else if (n - DECIMALS_OF_NS <= DECIMALS_OF_U64) {
		interface->multiply = 1;
		interface->divide = power_of_ten(n - DECIMALS_OF_NS);
	} else {
		interface->multiply = 0; /* 64 bits of such ticks are less than a nanosecond */
	}
}

/* An option of a length that it cannot have is left out, as one that is not known. */
static void set_option(const struct pcap *pcap, struct pcap_interface *interface, uint16_t code,
	const uint8_t *value, uint16_t len)
{
	if (code == OPTION_TSRESOL && len == 1)
		set_resolution(interface, *value);
	if (code == OPTION_FCSLEN && len == 1)
		interface->fcs = *value;
	if (code == OPTION_TSOFFSET && len == 8)
		interface->offset_s = (int64_t)pcap_u64(pcap, value);
}

static int read_options(
	struct pcap *pcap, struct pcap_interface *interface, const uint8_t *at, uint32_t left)
{
	while (left >= OPTION_HEADER) {
		uint16_t code = pcap_u16(pcap, at), len = pcap_u16(pcap, at + 2);
		uint32_t room = OPTION_HEADER + ((len + 3U) & ~3U);

		if (code == OPTION_END)
			return 0;
		if (room > left)
			return pcap_fail(pcap, -EBADMSG,
				pcap->record + BLOCK_HEADER + (uint64_t)(at - pcap->body),
				"an option of %u bytes in a block that has %" PRIu32 " left", len,
				left - OPTION_HEADER);
		set_option(pcap, interface, code, at + OPTION_HEADER, len);
		at += room;
		left -= room;
	}
	return 0;
}

static int read_interface(struct pcap *pcap, uint32_t len)
{
	struct pcap_interface interface = {.multiply = 1000, .divide = 1}; /* microseconds */
	int ret;

	if (len < INTERFACE_BODY)
		return pcap_fail(pcap, -EBADMSG, pcap->record, "an interface block too short");
	interface.link = pcap_u16(pcap, pcap->body);
	interface.snaplen = pcap_u32(pcap, pcap->body + 4);
	ret = read_options(pcap, &interface, pcap->body + INTERFACE_BODY, len - INTERFACE_BODY);
	return ret ? ret : pcap_add_interface(pcap, &interface);
}

/* What every kind of packet block has to agree with: its interface and its own length. */
static int fill(struct pcap *pcap, const struct pcap_record *record, uint32_t room,
	struct pcap_packet *packet)
{
	if (record->interface >= pcap->n_interfaces)
		return pcap_fail(pcap, -EBADMSG, pcap->record,
			"a packet of interface %" PRIu32 ", and the section has %u so far",
			record->interface, pcap->n_interfaces);
	if (record->captured > room)
		return pcap_fail(pcap, -EBADMSG, pcap->record,
			"a packet with %" PRIu32 " bytes captured in a block that has %" PRIu32,
			record->captured, room);
	return pcap_packet_fill(pcap, record, packet);
}

/* The enhanced packet and the obsolete one, whose interface has half a word. */
static int read_packet(struct pcap *pcap, uint32_t type, uint32_t len, struct pcap_packet *packet)
{
	const uint8_t *body = pcap->body;
	struct pcap_record record;
	uint64_t ticks;
	int ret;

	if (len < PACKET_BODY)
		return pcap_fail(pcap, -EBADMSG, pcap->record, "a packet block too short");
	record = (struct pcap_record){
		.interface = type == BLOCK_ENHANCED ? pcap_u32(pcap, body) : pcap_u16(pcap, body),
		.captured = pcap_u32(pcap, body + 12),
		.bytes = pcap_u32(pcap, body + 16),
		.data = body + PACKET_BODY,
	};
	ticks = (uint64_t)pcap_u32(pcap, body + 4) << 32 | pcap_u32(pcap, body + 8);
	ret = fill(pcap, &record, len - PACKET_BODY, packet);
	if (ret == 0)
		ret = pcap_packet_time(pcap, ticks, packet);
	return ret ? ret : 1;
}

/* Of the section's first interface, cut to its snaplen, and without a time. */
static int read_simple(struct pcap *pcap, uint32_t len, struct pcap_packet *packet)
{
	struct pcap_record record = {0};
	uint32_t snaplen;
	int ret;

	if (len < SIMPLE_BODY || pcap->n_interfaces == 0)
		return pcap_fail(pcap, -EBADMSG, pcap->record,
			"a simple packet block too short, or without an interface before it");
	snaplen = pcap->interfaces[0].snaplen;
	record.bytes = pcap_u32(pcap, pcap->body);
	record.captured = snaplen > 0 && snaplen < record.bytes ? snaplen : record.bytes;
	record.data = pcap->body + SIMPLE_BODY;
	ret = fill(pcap, &record, len - SIMPLE_BODY, packet);
	return ret ? ret : 1;
}

/* Returns 1 when the block was a packet, 0 when it was anything else, or a failure. */
static int read_block(struct pcap *pcap, struct pcap_packet *packet)
{
	uint8_t word[4];
	uint32_t type;
	int len, ret = pcap_read(pcap, word, sizeof(word));

	if (ret)
		return ret;
	type = pcap_u32(pcap, word);
	if (type == PCAPNG_SECTION)
		return pcapng_section(pcap);
	ret = pcap_read(pcap, word, sizeof(word));
	if (ret)
		return ret;
	len = read_rest(pcap, pcap_u32(pcap, word), BLOCK_HEADER);
	if (len < 0)
		return len;
	switch (type) {
	case BLOCK_INTERFACE:
		return read_interface(pcap, (uint32_t)len);
	case BLOCK_PACKET:
	case BLOCK_ENHANCED:
		return read_packet(pcap, type, (uint32_t)len, packet);
	case BLOCK_SIMPLE:
		return read_simple(pcap, (uint32_t)len, packet);
	default:
		return 0;
	}
}

int pcapng_next(struct pcap *pcap, struct pcap_packet *packet)
{
	int ret = 0;

	while (ret == 0 && !pcap_at_end(pcap)) {
		pcap->record = pcap->offset;
		ret = read_block(pcap, packet);
	}
	return ret;
}
