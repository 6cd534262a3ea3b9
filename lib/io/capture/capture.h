/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads captures with libpcap, from front to back, also from a pipe. Captures are not trusted:
 * lengths and times are checked before use. One thread per reader; readers share nothing.
 */
#ifndef WEIR_CAPTURE_CAPTURE_H
#define WEIR_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "packet/parse.h"

#define CAPTURE_BYTES_MAX (16U << 20) /* largest packet on the wire; a larger one means damage */

struct capture_packet {
	uint64_t number;  /* in the file, from 1 */
	uint64_t time_ns; /* since 1970, at most INT64_MAX; rounded down to a nanosecond */
	bool timed; /* false: the record has no time (simple packets of pcapng), or the time is 0 */
	int link;   /* DLT_ of the capture */
	uint32_t bytes;      /* on the wire, without the FCS if a pcap file has one */
	uint32_t captured;   /* bytes in data */
	const uint8_t *data; /* valid until the next call */
};

/* Private to capture.c. */
struct capture {
	FILE *file;
	struct pcap *pcap; /* libpcap's handle; NULL until the first packet is read */
	int link, ended;   /* ended: 0, or the error that all further calls return */
	uint32_t fcs;      /* bytes of FCS at the end of each packet */
	uint64_t packets;
	char error[320];
};

/*
 * Takes a file that is open for reading, at the start of the capture. The reader owns it:
 * capture_free() closes it, except standard input.
 */
void capture_init(struct capture *capture, FILE *file);
void capture_free(struct capture *capture);

/*
 * Reads the next packet. Returns 1, or
 *
 *     0         end of the capture
 *     -ENODATA  the file ends in the middle of a record, after all packets before it
 *     -EIO      the file cannot be read
 *     -EBADMSG  not a capture, damaged, or rejected by libpcap
 *
 * An error is final, and capture_error() explains it.
 */
int capture_next(struct capture *capture, struct capture_packet *packet);

/* Returns the reason of the error, with the packet's number. */
const char *capture_error(const struct capture *capture);

/* --- link layer ------------------------------------------------------------------------------- */

/* Converts captured packets of any link to Ethernet frames as Weir would receive them. Pure. */

/* Bytes of a frame that are kept: as many as a worker gathers of a frame in several buffers. */
#define FRAME_BYTES 2048

/* A frame, as far as a worker reads it. */
struct frame {
	uint64_t time_ns;
	uint64_t index;    /* number of the packet in the capture, from 1 */
	uint32_t bytes;    /* length of the whole frame on the wire, without its FCS */
	uint32_t captured; /* bytes in data */
	bool cut;          /* the capture does not contain all bytes */
	uint8_t data[FRAME_BYTES];
};

/* Returns true if link_frame() supports this DLT_: Ethernet and raw IP. */
bool link_supported(int link);

/*
 * Fills in the frame, except its index. A raw IP packet gets an Ethernet header without a VLAN: 14
 * more bytes, which only "l2" and "wire" accounting charge.
 */
void link_frame(const struct capture_packet *packet, struct frame *frame);

#endif
