/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "command/option.h"
#include "policy/units.h"
#include "policy/value.h"

#define WORD_MAX          128
#define DELAY_MAX_NS      (60 * SECOND_NS)
#define RATE_MAX          UINT64_C(1000000000000) /* bit/s */
#define QUEUE_PACKETS_MAX 1000000
#define QUEUE_BYTES_MAX   1000000000

static bool set_delay(struct lane_params *lane, const char *value)
{
	return units_parse_time(value, &lane->delay_ns) == 0 && lane->delay_ns <= DELAY_MAX_NS;
}

static bool set_rate(struct lane_params *lane, const char *value)
{
	if (!strcmp(value, "unlimited")) {
		lane->rate_bps = LANE_RATE_UNLIMITED;
		return true;
	}
	return units_parse_rate(value, &lane->rate_bps) == 0 && lane->rate_bps >= 1 &&
	       lane->rate_bps <= RATE_MAX;
}

static bool set_loss(struct lane_params *lane, const char *value)
{
	char *end;

	lane->loss = strtod(value, &end);
	if (end != value && !strcmp(end, "%")) {
		lane->loss *= 0.01;
		end++;
	}
	return end != value && !*end && lane->loss >= 0 && lane->loss <= 1;
}

static bool set_queue(struct lane_params *lane, const char *value)
{
	lane->queue_packets = 0;
	lane->queue_bytes = 0;
	if (units_parse_count(value, &lane->queue_packets) == 0)
		return lane->queue_packets >= 1 && lane->queue_packets <= QUEUE_PACKETS_MAX;
	return units_parse_size(value, &lane->queue_bytes) == 0 && lane->queue_bytes >= 1 &&
	       lane->queue_bytes <= QUEUE_BYTES_MAX;
}

static const struct {
	const char *key;
	bool (*set)(struct lane_params *lane, const char *value);
} settings[] = {
	{"delay", set_delay},
	{"rate", set_rate},
	{"loss", set_loss},
	{"queue", set_queue},
};

static bool set_one(struct lane_params *lane, const char *key, const char *value)
{
	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (!strcmp(key, settings[i].key))
			return settings[i].set(lane, value);
	}
	return false;
}

/* Returns the directions that a word is about, as bits; moves *word past the prefix. */
static unsigned take_direction(const char **word)
{
	for (unsigned d = 0; d < DIRECTIONS; d++) {
		const char *name = direction_name(DIRECTION_A_TO_B + d);
		size_t len = strlen(name);

		if (!strncmp(*word, name, len) && (*word)[len] == '.') {
			*word += len + 1;
			return 1u << d;
		}
	}
	return (1u << DIRECTIONS) - 1;
}

static bool set_word(struct lane_params lane[DIRECTIONS], const char *word)
{
	unsigned directions = take_direction(&word);
	const char *equals = strchr(word, '=');
	char key[WORD_MAX];

	if (!equals || (size_t)(equals - word) >= sizeof(key))
		return false;
	snprintf(key, sizeof(key), "%.*s", (int)(equals - word), word);
	for (unsigned d = 0; d < DIRECTIONS; d++) {
		if (directions & 1u << d && !set_one(&lane[d], key, equals + 1))
			return false;
	}
	return true;
}

const char *options_set(struct lane_params lane[DIRECTIONS], char *words)
{
	struct lane_params next[DIRECTIONS];
	char *word;

	memcpy(next, lane, sizeof(next));
	while ((word = strsep(&words, ","))) {
		if (!set_word(next, word))
			return word;
	}
	memcpy(lane, next, sizeof(next));
	return NULL;
}

static bool take_port(char name[EMU_NAME_MAX], const char *word)
{
	if (!word || !*word || strchr(word, '=') || strlen(word) >= EMU_NAME_MAX)
		return false;
	snprintf(name, EMU_NAME_MAX, "%s", word);
	return true;
}

/* Parses A,B,WORD,...; modifies the text, which main()'s arguments allow. */
static bool take_link(const char *text, void *context)
{
	struct options *options = context;
	struct link_options *link = &options->link[options->n_links];
	char *rest = (char *)text;
	const char *refused;

	if (options->n_links++ == EMU_LINKS_MAX) {
		fprintf(stderr, "--link: more than %d\n", EMU_LINKS_MAX);
		return false;
	}
	for (unsigned d = 0; d < DIRECTIONS; d++)
		link->lane[d] = (struct lane_params){.queue_packets = LANE_QUEUE_DEFAULT};
	for (unsigned side = 0; side < 2; side++) {
		if (!take_port(link->port[side], strsep(&rest, ","))) {
			fprintf(stderr, "--link: expected two port names, A,B\n");
			return false;
		}
	}
	refused = options_set(link->lane, rest);
	if (refused)
		fprintf(stderr, "--link: \"%s\": expected " OPTIONS_SETTINGS "\n", refused);
	return !refused;
}

int options_parse(struct options *options, int argc, char **argv)
{
	static const struct option_row rows[] = {
		OPTION_ROW_OTHER("link", take_link),
		OPTION_ROW_NUMBER("seed", struct options, seed, 0, UINT64_MAX),
		OPTION_ROW_UNSIGNED("mbufs", struct options, mbufs, 0, 1u << 24),
		OPTION_ROW_TEXT("control", struct options, control),
		OPTION_ROW_TEXT("stats", struct options, stats),
	};
	static const struct option_set set = {
		.usage = "",
		.rows = rows,
		.n = sizeof(rows) / sizeof(*rows),
		.expected = "expected --link A,B[,SETTING...] and no other words",
	};

	*options = (struct options){.seed = 1};
	if (option_parse(&set, argc, argv, options) >= 0)
		return -EINVAL;
	if (options->n_links)
		return 0;
	option_refuse(&set);
	return -EINVAL;
}

void options_help(void)
{
	puts("weir-emu EAL-ARGUMENTS -- --link A,B[,SETTING...] ...\n"
	     "Joins ports in pairs as links with a delay, a rate and a loss, in both directions.\n"
	     "\n"
	     "  --link A,B,...  two ports by their EAL names, and optional settings\n"
	     "  --seed N        seed of the losses (1): same seed, same packets lost\n"
	     "\n"
	     "  --control PATH  a telemetry socket (tools/testbed/telemetry.py PATH REQUEST):\n"
	     "      /link,0,a-to-b.loss=100%    /link,0,rate=2Mbit/s,queue=64kB    /stats\n"
	     "\n"
	     "  --stats FILE    counters at the end and on SIGUSR1 (standard output)\n"
	     "  --mbufs N       size of the packet pool (default: enough for the links)\n"
	     "\n"
	     "Settings of a link:\n"
	     "      delay=20ms          one way (ns, us, ms, s)\n"
	     "      rate=100Mbit/s      frame bytes without FCS; or unlimited\n"
	     "      loss=1%            random, before the queue; 100% cuts the link\n"
	     "\n"
	     "      queue=1000          packets that can wait for the rate; or queue=64kB\n"
	     "\n"
	     "A setting with a-to-b. or b-to-a. before it (a-to-b.loss=1%) is for that way only.");
}
