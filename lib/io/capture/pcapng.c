/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes pcapng.
 */
#include "capture/pcapng.h"

#include <errno.h>
#include <string.h>

#define BLOCK_SECTION   0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET    6u
#define MAGIC           0x1a2b3c4du
#define LINK_ETHERNET   1
#define OPTION_END      0
#define OPTION_COMMENT  1
#define OPTION_USERAPPL 4
#define OPTION_IF_NAME  2
#define OPTION_TSRESOL  9
#define NANOSECONDS     9 /* 10^-9 s */
#define TEXT_MOST       1024

/* Rounds up to a multiple of four. */
static uint32_t padded_bytes(uint32_t bytes)
{
	return (bytes + 3) & ~3u;
}

static void put_bytes(FILE *out, const void *bytes, uint32_t n)
{
	static const uint8_t zeros[4];

	if (n)
		fwrite(bytes, 1, n, out);
	fwrite(zeros, 1, padded_bytes(n) - n, out);
}

static void put_u32(FILE *out, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, out);
}

static void put_u16(FILE *out, uint16_t value)
{
	fwrite(&value, sizeof(value), 1, out);
}

static uint32_t text_length(const char *text)
{
	return (uint32_t)strnlen(text, TEXT_MOST);
}

static uint32_t option_bytes(uint32_t n)
{
	return 4 + padded_bytes(n);
}

static void put_option(FILE *out, uint16_t code, const void *value, uint32_t n)
{
	put_u16(out, code);
	put_u16(out, (uint16_t)n);
	put_bytes(out, value, n);
}

static int write_error(FILE *out)
{
	return ferror(out) ? -(errno ? errno : EIO) : 0;
}

int pcapng_begin(struct pcapng *pcapng, FILE *out, uint32_t snaplen, const char *application)
{
	uint32_t n = text_length(application), bytes = 28 + option_bytes(n) + 4;
	static const uint64_t unknown = UINT64_MAX;

	*pcapng = (struct pcapng){.out = out, .snaplen = snaplen};
	put_u32(out, BLOCK_SECTION);
	put_u32(out, bytes);
	put_u32(out, MAGIC);
	put_u16(out, 1);
	put_u16(out, 0);
	fwrite(&unknown, sizeof(unknown), 1, out);
	put_option(out, OPTION_USERAPPL, application, n);
	put_option(out, OPTION_END, NULL, 0);
	put_u32(out, bytes);
	return write_error(out);
}

static void put_interface(const struct pcapng *pcapng, const char *name)
{
	uint32_t n = text_length(name), bytes = 20 + option_bytes(n) + option_bytes(1) + 4;
	static const uint8_t resolution = NANOSECONDS;
	FILE *out = pcapng->out;

	put_u32(out, BLOCK_INTERFACE);
	put_u32(out, bytes);
	put_u16(out, LINK_ETHERNET);
	put_u16(out, 0);
	put_u32(out, pcapng->snaplen);
	put_option(out, OPTION_IF_NAME, name, n);
	put_option(out, OPTION_TSRESOL, &resolution, 1);
	put_option(out, OPTION_END, NULL, 0);
	put_u32(out, bytes);
}

/* Returns the number of an interface, and writes its block at first use; or -ENOSPC. */
static int find_interface(struct pcapng *pcapng, const char *name)
{
	for (unsigned i = 0; i < pcapng->n; i++)
		if (strcmp(pcapng->names[i], name) == 0)
			return (int)i;
	if (pcapng->n == PCAPNG_INTERFACES || strlen(name) >= PCAPNG_NAME)
		return -ENOSPC;
	strncpy(pcapng->names[pcapng->n], name, PCAPNG_NAME - 1);
	put_interface(pcapng, name);
	return (int)pcapng->n++;
}

int pcapng_write(struct pcapng *pcapng, const struct pcapng_packet *packet)
{
	uint32_t n = text_length(packet->comment);
	uint32_t bytes = 32 + padded_bytes(packet->captured) + option_bytes(n) + 4;
	int interface = find_interface(pcapng, packet->interface);
	FILE *out = pcapng->out;

	if (interface < 0)
		return interface;
	put_u32(out, BLOCK_PACKET);
	put_u32(out, bytes);
	put_u32(out, (uint32_t)interface);
	put_u32(out, (uint32_t)(packet->time_ns >> 32));
	put_u32(out, (uint32_t)packet->time_ns);
	put_u32(out, packet->captured);
	put_u32(out, packet->bytes);
	put_bytes(out, packet->data, packet->captured);
	put_option(out, OPTION_COMMENT, packet->comment, n);
	put_option(out, OPTION_END, NULL, 0);
	put_u32(out, bytes);
	return write_error(out);
}
