/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads captures: classic pcap and pcapng, in either byte order, front to back: also from a pipe.
 * Ours and not libpcap, which refuses a pcapng file whose interfaces differ in their link type, and
 * cannot say at which byte a file is damaged.
 *
 * A capture is input from strangers: every length is checked before it is used, and memory is
 * bounded by the constants below. One thread; a reader shares nothing.
 */
#ifndef WEIR_SIM_PCAP_H
#define WEIR_SIM_PCAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PCAP_CAPTURED_MAX   (256U << 10) /* bytes kept of a packet; tcpdump's bound too */
#define PCAP_BLOCK_MAX      (16U << 20)  /* bytes of a pcapng block, and of a packet on the wire */
#define PCAP_INTERFACES_MAX (64U << 10)  /* in one section of a pcapng file */

struct pcap_packet {
	uint64_t offset;  /* where its record begins in the file */
	uint64_t time_ns; /* since 1970, at most INT64_MAX; rounded down to a nanosecond */
	bool timed; /* false: the record has no time (pcapng's simple packets), time_ns is 0 */
	uint32_t interface; /* its number in the section; 0 in classic pcap */
	uint16_t link;      /* LINKTYPE_ of its interface, see tcpdump.org/linktypes.html */
	uint32_t bytes; /* on the wire, without the FCS where the capture says that there is one */
	uint32_t captured;   /* of these, bytes that are in data */
	const uint8_t *data; /* until the next call */
};

/* How the packets of an interface are to be read. */
struct pcap_interface {
	uint64_t multiply, divide; /* time in ns = ticks × multiply / 2^shift / divide + offset_s */
	int64_t offset_s;
	uint32_t snaplen; /* 0: no bound */
	uint16_t link;
	uint8_t shift;
	uint8_t fcs; /* bytes of FCS at the end of each packet */
};

/* Private to pcap.c and pcapng.c. */
struct pcap {
	FILE *file;
	uint64_t offset; /* bytes read */
	uint64_t record; /* where what is being read begins */
	int (*next)(struct pcap *pcap, struct pcap_packet *packet);
	int ended; /* 0 while it goes on, else what every further call returns */
	bool swapped;
	struct pcap_interface *interfaces;
	unsigned n_interfaces, room;
	uint8_t *body;
	size_t body_room;
	char error[160];
};

/* The file is the caller's, open for reading and at the capture's beginning. */
void pcap_init(struct pcap *pcap, FILE *file);
void pcap_free(struct pcap *pcap);

/*
 * Reads the next packet. Returns 1; 0 at the end of the capture; -ENODATA when the file ends in the
 * middle of a record, after all the packets before it; -EBADMSG when it is no capture, or damaged;
 * -ENOMEM; or the negative errno of reading. What is not 1 is final, and if negative explained by
 * pcap_error().
 */
int pcap_next(struct pcap *pcap, struct pcap_packet *packet);

/* What went wrong, and at which byte of the file: `byte 1234: …` */
const char *pcap_error(const struct pcap *pcap);

#endif
