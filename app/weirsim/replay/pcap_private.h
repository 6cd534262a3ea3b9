/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the two formats have in common (pcap.c) and what reads the newer one (pcapng.c).
 */
#ifndef WEIR_SIM_PCAP_PRIVATE_H
#define WEIR_SIM_PCAP_PRIVATE_H

#include <byteswap.h>
#include <string.h>

#include "pcap.h"

#define PCAPNG_SECTION 0x0a0d0d0aU /* type of a section header; the same in both byte orders */

/* A record on its way to the caller. */
struct pcap_record {
	uint32_t captured, bytes;
	const uint8_t *data;
	uint32_t interface;
};

static inline uint16_t pcap_u16(const struct pcap *pcap, const uint8_t *at)
{
	uint16_t word;

	memcpy(&word, at, sizeof(word));
	return pcap->swapped ? bswap_16(word) : word;
}

static inline uint32_t pcap_u32(const struct pcap *pcap, const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return pcap->swapped ? bswap_32(word) : word;
}

static inline uint64_t pcap_u64(const struct pcap *pcap, const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return pcap->swapped ? bswap_64(word) : word;
}

/* Notes what is wrong at a byte of the file; returns code, which ends the reading. */
int pcap_fail(struct pcap *pcap, int code, uint64_t at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Whether the file ends here, between two records. */
bool pcap_at_end(struct pcap *pcap);

/* Reads n bytes, all of them or a failure. */
int pcap_read(struct pcap *pcap, void *out, size_t n);

/* The same into pcap->body, which grows as it must. */
int pcap_read_body(struct pcap *pcap, size_t n);

/* Adds an interface; its number is the order of adding. Returns 0 or a failure. */
int pcap_add_interface(struct pcap *pcap, const struct pcap_interface *interface);

/*
 * Checks the lengths of a record and turns it into a packet but for its time. Returns 0 or a
 * failure.
 */
int pcap_packet_fill(
	struct pcap *pcap, const struct pcap_record *record, struct pcap_packet *packet);

/* The packet's time from its interface's ticks. Returns 0 or a failure. */
int pcap_packet_time(struct pcap *pcap, uint64_t ticks, struct pcap_packet *packet);

/* Reads a section header, of which the type has been read. Returns 0 or a failure. */
int pcapng_section(struct pcap *pcap);

/* Reads the next packet of a pcapng file, as pcap_next(). */
int pcapng_next(struct pcap *pcap, struct pcap_packet *packet);

#endif
