/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes pcapng: Ethernet frames with times in nanoseconds, named interfaces, and one comment each.
 * One thread.
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
	char names[PCAPNG_INTERFACES][PCAPNG_NAME]; /* in the order of first use */
};

struct pcapng_packet {
	const char *interface; /* its name: shorter than PCAPNG_NAME */
	const char *comment;   /* UTF-8 */
	uint64_t time_ns;      /* since 1970 */
	uint32_t bytes;        /* on the wire */
	uint32_t captured;
	const uint8_t *data;
};

/* Begins a section. Returns 0 or a negative errno. */
int pcapng_begin(struct pcapng *pcapng, FILE *out, uint32_t snaplen, const char *application);

/* Returns the same; -ENOSPC: too many interfaces, or a too long name. */
int pcapng_write(struct pcapng *pcapng, const struct pcapng_packet *packet);

#endif
