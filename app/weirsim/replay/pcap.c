/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The file, what all captures have in common, and the classic format (draft-ietf-opsawg-pcap).
 */
#include "pcap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "pcap_private.h"

#define MAGIC_US       0xa1b2c3d4U
#define MAGIC_NS       0xa1b23c4dU
#define MAGIC_MODIFIED 0xa1b2cd34U /* A. Kuznetzov's, with longer records */

#define HEADER_REST 20 /* bytes of a classic header after the magic number */
#define RECORD      16 /* bytes before the data of a classic record */

/* The word that names the link: its type, and from bit 26 on whether an FCS is captured. */
#define LINK_FCS_PRESENT 0x04000000U
#define LINK_FCS_SHIFT   28 /* in units of 16 bits */

int pcap_fail(struct pcap *pcap, int code, uint64_t at, const char *format, ...)
{
	va_list ap;
	int n = snprintf(pcap->error, sizeof(pcap->error), "byte %" PRIu64 ": ", at);

	va_start(ap, format);
	vsnprintf(pcap->error + n, sizeof(pcap->error) - (size_t)n, format, ap);
	va_end(ap);
	return code;
}

bool pcap_at_end(struct pcap *pcap)
{
	int c = getc_unlocked(pcap->file);

	if (c != EOF)
		ungetc(c, pcap->file);
	return c == EOF && !ferror(pcap->file);
}

int pcap_read(struct pcap *pcap, void *out, size_t n)
{
	size_t got = fread_unlocked(out, 1, n, pcap->file);

	pcap->offset += got;
	if (got == n)
		return 0;
	if (ferror(pcap->file))
		return pcap_fail(pcap, errno ? -errno : -EIO, pcap->offset, "cannot be read: %s",
			strerror(errno));
	if (pcap->offset == 0)
		return pcap_fail(pcap, -ENODATA, 0, "the file is empty");
	return pcap_fail(pcap, -ENODATA, pcap->offset,
		"the file ends here, in the middle of the record that begins at byte %" PRIu64,
		pcap->record);
}

int pcap_read_body(struct pcap *pcap, size_t n)
{
	if (!pcap->body || n > pcap->body_room) {
		uint8_t *body = realloc(pcap->body, n + 1); /* never nothing: data is never NULL */

		if (!body)
			return pcap_fail(pcap, -ENOMEM, pcap->record, "out of memory");
		pcap->body = body;
		pcap->body_room = n;
	}
	return pcap_read(pcap, pcap->body, n);
}

int pcap_add_interface(struct pcap *pcap, const struct pcap_interface *interface)
{
	unsigned room = pcap->room ? pcap->room * 2 : 1;
	struct pcap_interface *interfaces;

	if (pcap->n_interfaces == PCAP_INTERFACES_MAX)
		return pcap_fail(pcap, -EBADMSG, pcap->record, "more than %u interfaces",
			PCAP_INTERFACES_MAX);
	if (pcap->n_interfaces == pcap->room) {
		interfaces = reallocarray(pcap->interfaces, room, sizeof(*interfaces));
		if (!interfaces)
			return pcap_fail(pcap, -ENOMEM, pcap->record, "out of memory");
		pcap->interfaces = interfaces;
		pcap->room = room;
	}
	pcap->interfaces[pcap->n_interfaces++] = *interface;
	return 0;
}

/* A length that is nobody's packet says that the file is damaged, and where to look. */
static int check_lengths(struct pcap *pcap, uint32_t captured, uint32_t bytes)
{
	if (captured > PCAP_CAPTURED_MAX)
		return pcap_fail(pcap, -EBADMSG, pcap->record,
			"a packet with %" PRIu32 " bytes captured: the most is %u", captured,
			PCAP_CAPTURED_MAX);
	if (bytes > PCAP_BLOCK_MAX)
		return pcap_fail(pcap, -EBADMSG, pcap->record,
			"a packet of %" PRIu32 " bytes: the most is %u", bytes, PCAP_BLOCK_MAX);
	if (captured > bytes)
		return pcap_fail(pcap, -EBADMSG, pcap->record,
			"%" PRIu32 " bytes captured of a packet of %" PRIu32, captured, bytes);
	return 0;
}

int pcap_packet_fill(
	struct pcap *pcap, const struct pcap_record *record, struct pcap_packet *packet)
{
	const struct pcap_interface *interface = &pcap->interfaces[record->interface];
	uint32_t bytes = record->bytes;
	int ret = check_lengths(pcap, record->captured, bytes);

	if (ret)
		return ret;
	bytes -= bytes < interface->fcs ? bytes : interface->fcs;
	*packet = (struct pcap_packet){
		.offset = pcap->record,
		.interface = record->interface,
		.link = interface->link,
		.bytes = bytes,
		.captured = record->captured < bytes ? record->captured : bytes,
		.data = record->data,
	};
	return 0;
}

int pcap_packet_time(struct pcap *pcap, uint64_t ticks, struct pcap_packet *packet)
{
	const struct pcap_interface *interface = &pcap->interfaces[packet->interface];
	__int128 time = (__int128)ticks * (__int128)interface->multiply;

	time >>= interface->shift;
	if (interface->divide > 1)
		time /= (__int128)interface->divide;
	time += (__int128)interface->offset_s * 1000000000;
	if (time < 0 || time > INT64_MAX)
		return pcap_fail(pcap, -EBADMSG, pcap->record,
			"a time before 1970 or after 2262, which nanoseconds in 63 bits cannot tell");
	packet->time_ns = (uint64_t)time;
	packet->timed = true;
	return 0;
}

static int classic_next(struct pcap *pcap, struct pcap_packet *packet)
{
	struct pcap_record record = {0};
	uint8_t header[RECORD];
	uint64_t ticks;
	int ret;

	if (pcap_at_end(pcap))
		return 0;
	ret = pcap_read(pcap, header, sizeof(header));
	if (ret)
		return ret;
	record.captured = pcap_u32(pcap, header + 8);
	record.bytes = pcap_u32(pcap, header + 12);
	ret = pcap_packet_fill(pcap, &record, packet);
	if (ret == 0)
		ret = pcap_read_body(pcap, record.captured);
	if (ret)
		return ret;
	packet->data = pcap->body;
	ticks = pcap_u32(pcap, header) * (1000000000 / pcap->interfaces->multiply) +
		pcap_u32(pcap, header + 4);
	ret = pcap_packet_time(pcap, ticks, packet);
	return ret ? ret : 1;
}

static int classic_header(struct pcap *pcap, uint32_t magic)
{
	struct pcap_interface interface = {.multiply = magic == MAGIC_US ? 1000 : 1, .divide = 1};
	uint8_t header[HEADER_REST];
	uint32_t link;
	int ret = pcap_read(pcap, header, sizeof(header));

	if (ret)
		return ret;
	if (pcap_u16(pcap, header) != 2 || pcap_u16(pcap, header + 2) != 4)
		return pcap_fail(pcap, -EBADMSG, 4, "version %u.%u of pcap: only 2.4 is known",
			pcap_u16(pcap, header), pcap_u16(pcap, header + 2));
	link = pcap_u32(pcap, header + 16);
	interface.link = (uint16_t)link;
	if (link & LINK_FCS_PRESENT)
		interface.fcs = (uint8_t)(link >> LINK_FCS_SHIFT) * 2;
	pcap->next = classic_next;
	return pcap_add_interface(pcap, &interface);
}

/* What people mistake for a capture; magic as it lies in the file, read big-endian. */
static int refuse(struct pcap *pcap, uint32_t magic)
{
	if (magic >> 16 == 0x1f8b || magic == 0x28b52ffd || magic == 0xfd377a58)
		return pcap_fail(pcap, -EBADMSG, 0,
			"compressed: decompress it first, or into a pipe (zcat, zstdcat, xzcat)");
	if (magic == MAGIC_MODIFIED || magic == bswap_32(MAGIC_MODIFIED))
		return pcap_fail(pcap, -EBADMSG, 0,
			"the \"modified\" variant of pcap is not supported: convert it with editcap");
	return pcap_fail(
		pcap, -EBADMSG, 0, "neither pcap nor pcapng: it begins with %08" PRIx32, magic);
}

/* Reads the file's beginning, which says who reads the rest. */
static int begin(struct pcap *pcap)
{
	uint8_t bytes[4];
	uint32_t magic, swapped;
	int ret = pcap_read(pcap, bytes, sizeof(bytes));

	if (ret)
		return ret;
	magic = pcap_u32(pcap, bytes);
	swapped = bswap_32(magic);
	pcap->swapped = swapped == MAGIC_US || swapped == MAGIC_NS;
	if (pcap->swapped || magic == MAGIC_US || magic == MAGIC_NS)
		return classic_header(pcap, pcap->swapped ? swapped : magic);
	if (magic == PCAPNG_SECTION) {
		pcap->next = pcapng_next;
		return pcapng_section(pcap);
	}
	return refuse(pcap, (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
				    (uint32_t)bytes[2] << 8 | bytes[3]);
}

void pcap_init(struct pcap *pcap, FILE *file)
{
	*pcap = (struct pcap){.file = file};
}

void pcap_free(struct pcap *pcap)
{
	free(pcap->interfaces);
	free(pcap->body);
	*pcap = (struct pcap){0};
}

int pcap_next(struct pcap *pcap, struct pcap_packet *packet)
{
	int ret = pcap->ended;

	if (ret == 0 && !pcap->next)
		ret = begin(pcap);
	if (ret == 0) {
		pcap->record = pcap->offset;
		ret = pcap->next(pcap, packet);
	}
	if (ret < 0)
		pcap->ended = ret;
	return ret;
}

const char *pcap_error(const struct pcap *pcap)
{
	return pcap->error;
}
