/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as the text of a request about a packet, and as words. It is refused with a sentence,
 * or it is within its bounds, can be parsed, and is the same after it was written and read again.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "packet/parse.h"
#include "probe/probe.h"

#define WORDS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_probe(int condition)
{
	if (!condition)
		abort();
}

static void check_frame(const struct probe_packet *probe)
{
	char text[PROBE_REQUEST], why[PROBE_WHY];
	struct packet packet;
	struct probe_packet again;

	check_probe(probe->bytes > 0 && probe->bytes <= PROBE_FRAME);
	check_probe(probe->len >= probe->bytes && probe->len <= UINT16_MAX);
	packet_parse(probe->frame, probe->bytes, &packet);
	check_probe(probe_format(probe, text, sizeof(text)));
	check_probe(probe_parse(text, &again, why) == 0);
	check_probe(again.len == probe->len && again.bytes == probe->bytes);
	check_probe(memcmp(again.frame, probe->frame, probe->bytes) == 0);
}

static void check_words(char *text)
{
	const char *words[WORDS];
	char why[PROBE_WHY];
	struct probe_packet probe;
	unsigned n = 0;

	for (char *word; n < WORDS && (word = strsep(&text, " ")) != NULL;)
		words[n++] = word;
	probe_init(&probe);
	if (probe_tuple(&probe, words, n, why) == 0)
		check_frame(&probe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), why[PROBE_WHY] = "";
	struct probe_packet probe;

	check_probe(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (probe_parse(text, &probe, why) == 0)
		check_frame(&probe);
	else
		check_probe(why[0] != '\0');
	check_words(text);
	free(text);
	return 0;
}
