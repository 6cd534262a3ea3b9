/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a capture: each packet and its frame are within their bounds, a worker can parse the
 * frame, and reading ends. Only our code is instrumented; libpcap is the installed one.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "packet/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_capture(int condition)
{
	if (!condition)
		abort();
}

static void check_packet(const struct capture_packet *packet, size_t size)
{
	static const struct tunnels all = {.classify = TUNNELS_INNER, .vxlan_port = 4789};
	struct packet parsed;
	struct frame frame;
	unsigned sum = 0;

	check_capture(packet->captured <= packet->bytes && packet->captured <= size);
	check_capture(packet->bytes <= CAPTURE_BYTES_MAX);
	check_capture(packet->time_ns <= INT64_MAX && packet->timed == (packet->time_ns > 0));
	for (uint32_t i = 0; i < packet->captured; i++)
		sum += packet->data[i];
	check_capture(sum <= 255U * packet->captured);
	link_frame(packet, &frame);
	check_capture(frame.captured <= sizeof(frame.data) && frame.captured <= frame.bytes);
	packet_parse(frame.data, frame.captured, &parsed);
	packet_enter_tunnels(frame.data, frame.captured, &all, &parsed);
	check_capture(parsed.family == PACKET_OTHER || parsed.src_off < frame.captured);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "rb");
	struct capture_packet packet;
	struct capture capture;
	size_t n = 0;
	int ret;

	check_capture(file != NULL);
	capture_init(&capture, file);
	while ((ret = capture_next(&capture, &packet)) == 1) {
		check_capture(packet.number == ++n && n < size);
		check_packet(&packet, size);
	}
	check_capture((ret < 0) == (capture_error(&capture)[0] != '\0'));
	check_capture(capture_next(&capture, &packet) == ret);
	capture_free(&capture);
	return 0;
}
