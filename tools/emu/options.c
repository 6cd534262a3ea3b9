/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX    128
#define DELAY_MAX_S 60
#define RATE_MAX    1e12 /* bit/s */

struct unit {
	const char *name;
	double scale;
};

static const struct unit time_units[] = {
	{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
static const struct unit rate_units[] = {
	{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {NULL, 0}};
static const struct unit share_units[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};
static const struct unit byte_units[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {NULL, 0}};
static const struct unit packet_units[] = {{"", 1}, {"packets", 1}, {NULL, 0}};

static int parse_scaled(const char *text, const struct unit *units, double max, double *out)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || !isfinite(value) || value < 0)
		return -EINVAL;
	for (; units->name; units++) {
		if (strcmp(end, units->name))
			continue;
		*out = value * units->scale;
		return *out <= max ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int set_delay(struct lane_params *lane, const char *value)
{
	double ns;
	int rc = parse_scaled(value, time_units, DELAY_MAX_S * 1e9, &ns);

	if (!rc)
		lane->delay_ns = (uint64_t)(ns + 0.5);
	return rc;
}

static int set_rate(struct lane_params *lane, const char *value)
{
	double bps = LANE_RATE_UNLIMITED;

	if (strcmp(value, "unlimited") &&
		(parse_scaled(value, rate_units, RATE_MAX, &bps) || bps < 1))
		return -EINVAL;
	lane->rate_bps = (uint64_t)(bps + 0.5);
	return 0;
}

static int set_loss(struct lane_params *lane, const char *value)
{
	return parse_scaled(value, share_units, 1, &lane->loss);
}

static int set_queue(struct lane_params *lane, const char *value)
{
	double packets = 0, bytes = 0;

	if (parse_scaled(value, packet_units, 1e6, &packets) &&
		parse_scaled(value, byte_units, 1e9, &bytes))
		return -EINVAL;
	if (packets < 1 && bytes < 1)
		return -EINVAL;
	lane->queue_packets = (uint64_t)packets;
	lane->queue_bytes = (uint64_t)bytes;
	return 0;
}

static const struct {
	const char *key;
	int (*set)(struct lane_params *lane, const char *value);
} settings[] = {
	{"delay", set_delay},
	{"rate", set_rate},
	{"loss", set_loss},
	{"queue", set_queue},
};

static int set_one(struct lane_params *lane, const char *key, const char *value)
{
	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (!strcmp(key, settings[i].key))
			return settings[i].set(lane, value);
	}
	return -EINVAL;
}

const char *direction_name(unsigned direction)
{
	return direction == A_TO_B ? "a-to-b" : "b-to-a";
}

/* The directions that a word is about, as bits; moves *word past the prefix. */
static unsigned take_direction(const char **word)
{
	for (unsigned d = 0; d < DIRECTIONS; d++) {
		size_t len = strlen(direction_name(d));

		if (!strncmp(*word, direction_name(d), len) && (*word)[len] == '.') {
			*word += len + 1;
			return 1u << d;
		}
	}
	return 1u << A_TO_B | 1u << B_TO_A;
}

int options_set(struct lane_params lane[DIRECTIONS], const char *word)
{
	struct lane_params next[DIRECTIONS] = {lane[A_TO_B], lane[B_TO_A]};
	unsigned directions = take_direction(&word);
	const char *equals = strchr(word, '=');
	char key[WORD_MAX];

	if (!equals || (size_t)(equals - word) >= sizeof(key))
		return -EINVAL;
	snprintf(key, sizeof(key), "%.*s", (int)(equals - word), word);
	for (unsigned d = 0; d < DIRECTIONS; d++) {
		if (directions & 1u << d && set_one(&next[d], key, equals + 1))
			return -EINVAL;
	}
	memcpy(lane, next, sizeof(next));
	return 0;
}

static int parse_port(char name[EMU_NAME_MAX], const char *word)
{
	if (!word || !*word || strchr(word, '=') || strlen(word) >= EMU_NAME_MAX)
		return -EINVAL;
	snprintf(name, EMU_NAME_MAX, "%s", word);
	return 0;
}

/* A,B,WORD,... in place: text is cut up. */
static int parse_link(struct link_options *link, char *text)
{
	char *rest = text, *word;

	for (unsigned d = 0; d < DIRECTIONS; d++)
		link->lane[d] = (struct lane_params){.queue_packets = LANE_QUEUE_DEFAULT};
	for (unsigned side = 0; side < 2; side++) {
		if (parse_port(link->port[side], strsep(&rest, ","))) {
			fprintf(stderr, "--link: expected two port names, A,B\n");
			return -EINVAL;
		}
	}
	while ((word = strsep(&rest, ","))) {
		if (options_set(link->lane, word)) {
			fprintf(stderr,
				"--link: \"%s\": expected delay=20ms, rate=100Mbit/s, loss=1%%, "
				"queue=1000 or queue=64kB\n",
				word);
			return -EINVAL;
		}
	}
	return 0;
}

static int add_link(struct options *options, char *text)
{
	if (options->n_links == EMU_LINKS_MAX) {
		fprintf(stderr, "--link: more than %d\n", EMU_LINKS_MAX);
		return -EINVAL;
	}
	return parse_link(&options->link[options->n_links++], text);
}

static int parse_number(const char *option, const char *text, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || *out > max) {
		fprintf(stderr, "--%s: \"%s\": expected a number\n", option, text);
		return -EINVAL;
	}
	return 0;
}

static int parse_mbufs(struct options *options, const char *text)
{
	uint64_t mbufs;
	int rc = parse_number("mbufs", text, 1u << 24, &mbufs);

	options->mbufs = (unsigned)mbufs;
	return rc;
}

static int take(struct options *options, int option, char *value)
{
	switch (option) {
	case 'l':
		return add_link(options, value);
	case 's':
		return parse_number("seed", value, UINT64_MAX, &options->seed);
	case 'm':
		return parse_mbufs(options, value);
	case 'c':
		options->control = value;
		return 0;
	case 'o':
		options->stats = value;
		return 0;
	default:
		return -EINVAL; /* getopt has said why */
	}
}

int options_parse(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{"link", required_argument, NULL, 'l'},
		{"seed", required_argument, NULL, 's'},
		{"mbufs", required_argument, NULL, 'm'},
		{"control", required_argument, NULL, 'c'},
		{"stats", required_argument, NULL, 'o'},
		{NULL, 0, NULL, 0},
	};
	int option;

	*options = (struct options){.seed = 1};
	optind = 1; /* EAL has used getopt before us */
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (take(options, option, optarg))
			return -EINVAL;
	}
	if (optind != argc || !options->n_links) {
		fprintf(stderr, "expected --link A,B[,SETTING...] and no other words\n");
		return -EINVAL;
	}
	return 0;
}

void options_help(void)
{
	puts("weir-emu EAL-ARGUMENTS -- --link A,B[,SETTING...] ...\n"
	     "Joins ports in pairs as links with a delay, a rate and a loss, in both directions.\n"
	     "\n"
	     "  --link A,B,...  two ports by their EAL names; settings, all optional:\n"
	     "      delay=20ms          one way (ns, us, ms, s)\n"
	     "      rate=100Mbit/s      frame bytes without FCS; or unlimited\n"
	     "      loss=1%            at random, before the queue; 100% cuts the link\n"
	     "      queue=1000          packets that may wait for the rate; or queue=64kB\n"
	     "    with a-to-b. or b-to-a. before one (a-to-b.loss=1%) it is for that way only\n"
	     "  --seed N        of the losses (1): same seed, same packets lost\n"
	     "  --control PATH  Unix SOCK_SEQPACKET socket, one command a message:\n"
	     "      link 0 a-to-b loss=100%     link 0 rate=2Mbit/s     stats\n"
	     "  --stats FILE    where the counters go at the end and on SIGUSR1 (standard output)\n"
	     "  --mbufs N       size of the packet pool (default: what the links need)");
}
