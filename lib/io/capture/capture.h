/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads captures by libpcap, front to back: also from a pipe. A capture is input from strangers:
 * lengths and times are checked before anybody counts with them. One thread; a reader shares
 * nothing.
 */
#ifndef WEIR_CAPTURE_CAPTURE_H
#define WEIR_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CAPTURE_BYTES_MAX (16U << 20) /* of a packet on the wire: more is damage */

struct capture_packet {
	uint64_t number;  /* in the file, from 1 */
	uint64_t time_ns; /* since 1970, at most INT64_MAX; rounded down to a nanosecond */
	bool timed; /* false: the record has no time (pcapng's simple packets), or that of 1970 */
	int link;   /* DLT_ of the capture */
	uint32_t bytes; /* on the wire, without the FCS where a pcap file says that there is one */
	uint32_t captured;   /* of these, bytes that are in data */
	const uint8_t *data; /* until the next call */
};

/* Private to capture.c. */
struct capture {
	FILE *file;
	struct pcap *pcap; /* libpcap's; NULL until the first packet is asked for */
	int link, ended;   /* ended: 0 while it goes on, else the failure that every call returns */
	uint32_t fcs;      /* bytes at the end of each packet */
	uint64_t packets;
	char error[320];
};

/*
 * The file is open for reading and at the capture's beginning. It is the reader's from then on:
 * capture_free() closes it, but for standard input.
 */
void capture_init(struct capture *capture, FILE *file);
void capture_free(struct capture *capture);

/*
 * Reads the next packet. Returns 1; 0 at the end of the capture; -ENODATA when the file ends in the
 * middle of a record, after all the packets before it; -EIO when it cannot be read; -EBADMSG when
 * it is no capture, is damaged, or is one that libpcap refuses. A failure is final, and explained
 * by capture_error().
 */
int capture_next(struct capture *capture, struct capture_packet *packet);

/* What went wrong, and with which packet. */
const char *capture_error(const struct capture *capture);

#endif
