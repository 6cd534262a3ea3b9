/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a capture: what is read lies in the file, in its order, and reading ends.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* The data stand in the file as they are, behind the beginning of their record. */
static void check_packet(const struct pcap_packet *packet, const uint8_t *data, size_t size)
{
	check(packet->captured <= packet->bytes && packet->captured <= PCAP_CAPTURED_MAX);
	check(packet->bytes <= PCAP_BLOCK_MAX);
	check(packet->time_ns <= INT64_MAX && (packet->timed || packet->time_ns == 0));
	check(packet->offset < size && packet->captured <= size - packet->offset);
	check(memmem(data + packet->offset, size - packet->offset, packet->data,
		      packet->captured) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "rb");
	struct pcap_packet packet;
	uint64_t before = 0;
	struct pcap pcap;
	size_t n = 0;
	int ret;

	check(file != NULL);
	pcap_init(&pcap, file);
	while ((ret = pcap_next(&pcap, &packet)) == 1) {
		check(packet.offset > before && ++n < size);
		before = packet.offset;
		check_packet(&packet, data, size);
	}
	check((ret < 0) == (pcap_error(&pcap)[0] != '\0'));
	check(pcap_next(&pcap, &packet) == ret);
	pcap_free(&pcap);
	fclose(file);
	return 0;
}
