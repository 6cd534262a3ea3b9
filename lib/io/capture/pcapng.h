/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes pcapng: Ethernet frames with the time to the nanosecond, of named interfaces, and with a
 * comment each. One thread.
 */
#ifndef WEIR_CAPTURE_PCAPNG_H
#define WEIR_CAPTURE_PCAPNG_H

#include <stdint.h>
#include <stdio.h>

#define PCAPNG_INTERFACES 64
#define PCAPNG_NAME       160

struct pcapng {
	FILE *out;
	uint32_t snaplen;
	unsigned n;
	char names[PCAPNG_INTERFACES][PCAPNG_NAME]; /* as they were first used */
};

struct pcapng_packet {
	const char *interface; /* its name: shorter than PCAPNG_NAME */
	const char *comment;   /* UTF-8 */
	uint64_t time_ns;      /* since 1970 */
	uint32_t bytes;        /* on the wire */
	uint32_t captured;
	const uint8_t *data;
};

/* Begins a section. 0 or a negative errno, as below. */
int pcapng_begin(struct pcapng *pcapng, FILE *out, uint32_t snaplen, const char *application);

/* -ENOSPC: more interfaces than there is room for. */
int pcapng_write(struct pcapng *pcapng, const struct pcapng_packet *packet);

#endif
