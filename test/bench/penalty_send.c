/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sends the packets of `weir-study penalty` to live limiters. The same seed gives the same number
 * of packets, at the same times and for the same parts: UDP to an address for each part. No packet
 * is sent early. At the end it prints the lateness in one line of JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/prng.h"
#include "penalty_traffic.h"

#define HEADERS    28 /* bytes of IPv4 and UDP headers */
#define PORT       9  /* discard */
#define FLOWS_MAX  256
#define FLOWS_SEED UINT64_C(0x666c6f7773)
#define LEAD_NS    UINT64_C(200000000) /* from now until the first packet is due */
#define NS_PER_S   UINT64_C(1000000000)
#define NS_PER_US  1e3

struct sender {
	struct penalty_case c;
	uint64_t seed;
	unsigned flows; /* number of source ports; each packet has a random one */
	int sockets[FLOWS_MAX];
	unsigned parts;
	struct sockaddr_in to[PENALTY_PARTS];
	uint64_t *late; /* ns, for each packet */
};

static const char usage_text[] =
	"Usage: penalty_send [OPTION]... ADDRESS...\n"
	"Sends a run of `weir-study penalty` to an address for each part.\n"
	"\n"
	"  --arrivals KIND --rate BITS_PER_S --packet BYTES --load X --batch N --publishers N\n"
	"  --packets N      as there; sizes are of IP packets\n"
	"  --seed SEED      of this run\n"
	"  --flows N        source ports, 1 to 256 (64)\n"
	"\n"
	"Says \"warm\" when a tenth is sent: what is measured begins there.\n";

static const struct option long_options[] = {
	{"arrivals", required_argument, NULL, 'a'},
	{"rate", required_argument, NULL, 'r'},
	{"packet", required_argument, NULL, 'p'},
	{"load", required_argument, NULL, 'l'},
	{"batch", required_argument, NULL, 'm'},
	{"publishers", required_argument, NULL, 'u'},
	{"packets", required_argument, NULL, 'n'},
	{"seed", required_argument, NULL, 's'},
	{"flows", required_argument, NULL, 'f'},
	{0},
};

static bool parse_number(uint64_t least, uint64_t most, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(optarg, &end, 10);
	return errno == 0 && end != optarg && *end == '\0' && *out >= least && *out <= most;
}

static bool parse_unsigned(uint64_t least, uint64_t most, unsigned *out)
{
	uint64_t value;
	bool ok = parse_number(least, most, &value);

	*out = (unsigned)value;
	return ok;
}

static bool parse_arrivals(enum penalty_arrivals *out)
{
	for (unsigned i = 0; i < PENALTY_ARRIVALS; i++)
		if (strcmp(optarg, penalty_names[i]) == 0) {
			*out = (enum penalty_arrivals)i;
			return true;
		}
	return false;
}

static bool take_option(int option, struct sender *s)
{
	switch (option) {
	case 'a':
		return parse_arrivals(&s->c.arrivals);
	case 'r':
		return parse_number(1, NS_PER_S, &s->c.rate_bps);
	case 'p':
		return parse_unsigned(HEADERS, 1500, &s->c.packet_bytes);
	case 'l':
		s->c.load = strtod(optarg, NULL);
		return s->c.load > 0 && s->c.load < 1;
	case 'm':
		return parse_unsigned(1, 1000, &s->c.batch);
	case 'u':
		return parse_unsigned(1, PENALTY_PUBLISHERS, &s->c.publishers);
	case 'n':
		return parse_number(10, 10000000, &s->c.packets);
	case 's':
		return parse_number(0, INT32_MAX, &s->seed);
	case 'f':
		return parse_unsigned(1, FLOWS_MAX, &s->flows);
	default:
		return false;
	}
}

static bool parse_arguments(int argc, char **argv, struct sender *s)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		if (!take_option(option, s))
			return false;
	s->parts = (unsigned)(argc - optind);
	if (s->parts < 1 || s->parts > PENALTY_PARTS)
		return false;
	for (unsigned i = 0; i < s->parts; i++) {
		s->to[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(PORT)};
		if (inet_pton(AF_INET, argv[optind + (int)i], &s->to[i].sin_addr) != 1)
			return false;
	}
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Waits; returns by how much it is late. */
static uint64_t wait_until(uint64_t when)
{
	struct timespec at = {(time_t)(when / NS_PER_S), (long)(when % NS_PER_S)};
	uint64_t now = now_ns();

	while (now < when) {
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		now = now_ns();
	}
	return now - when;
}

static int send_all(struct sender *s, struct penalty_traffic *traffic)
{
	static const char payload[UINT16_MAX];
	size_t size = s->c.packet_bytes - HEADERS;
	uint64_t start = now_ns() + LEAD_NS;
	struct prng flows;

	prng_seed(&flows, s->seed ^ FLOWS_SEED);
	for (uint64_t i = 0; i < s->c.packets; i++) {
		struct penalty_packet p = penalty_traffic_next(traffic);
		int fd = s->sockets[prng_below(&flows, s->flows)];

		s->late[i] = wait_until(start + p.at);
		if (i == s->c.packets / 10) {
			puts("warm");
			fflush(stdout);
		}
		if (sendto(fd, payload, size, 0, (struct sockaddr *)&s->to[p.part],
			    sizeof(s->to[p.part])) != (ssize_t)size)
			return -errno;
	}
	return 0;
}

static int compare_lateness(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void report_lateness(const struct sender *s)
{
	uint64_t n = s->c.packets;
	double sum = 0;

	qsort(s->late, n, sizeof(s->late[0]), compare_lateness);
	for (uint64_t i = 0; i < n; i++)
		sum += (double)s->late[i];
	printf("{\"seed\": %llu, \"packets\": %llu, \"late_us\": "
	       "{\"mean\": %.1f, \"p99\": %.1f, \"max\": %.1f}}\n",
		(unsigned long long)s->seed, (unsigned long long)n, sum / (double)n / NS_PER_US,
		(double)s->late[n - 1 - n / 100] / NS_PER_US, (double)s->late[n - 1] / NS_PER_US);
}

static int open_sockets(struct sender *s)
{
	for (unsigned i = 0; i < s->flows; i++) {
		s->sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (s->sockets[i] < 0)
			return -errno;
	}
	return 0;
}

static int run_sender(struct sender *s)
{
	struct penalty_traffic traffic;
	int err = open_sockets(s);

	if (err)
		return err;
	s->late = calloc(s->c.packets, sizeof(s->late[0]));
	if (!s->late)
		return -ENOMEM;
	prctl(PR_SET_TIMERSLACK, 1);
	err = penalty_traffic_init(&traffic, &s->c, s->parts, s->seed);
	if (err == 0)
		err = send_all(s, &traffic);
	penalty_traffic_free(&traffic);
	if (err == 0)
		report_lateness(s);
	free(s->late);
	return err;
}

int main(int argc, char **argv)
{
	struct sender s = {
		.c = {.rate_bps = 1600000,
			.packet_bytes = 1000,
			.load = 0.9,
			.batch = 4,
			.publishers = 240,
			.packets = 12000},
		.seed = 1,
		.flows = 64,
	};
	int err;

	if (!parse_arguments(argc, argv, &s)) {
		fputs(usage_text, stderr);
		return 2;
	}
	err = run_sender(&s);
	if (err)
		fprintf(stderr, "penalty_send: %s\n", strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
