/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A source of packets for one end of a veth pair. It also measures the CPU cost of their path.
 *
 *     xdp_source OBJECT INTERFACE FAR ADDRESS BYTES RATE SECONDS [PID]...
 *
 * Sends UDP to ADDRESS, BYTES long with the Ethernet header, RATE a second (0: unlimited). If
 * INTERFACE is "-", the frames are freed. ADDRESS+N*STEP is one of N addresses, randomly for each
 * packet, whose first 32 bits are STEP apart. The kernel makes the frames (live frames of
 * BPF_PROG_TEST_RUN). So the other end of the pair receives them as if from a driver: pages with
 * headroom, no socket buffer yet, 64 in a batch.
 *
 * Softirqs process the packets on our CPU, in our time or in ksoftirqd's. So the cost on this CPU
 * is our thread's time, less the time that it spun before the next batch. The CPU time of the
 * processes PID adds to it and is printed separately. The time between two reads of the clock
 * counts as spun if it is short, because an interrupt can be in a longer one.
 *
 * Prints one JSON object: packets sent, packets sent to the first of several addresses, packets
 * received on interface FAR, seconds, ns of this CPU, ns of each PID.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/if.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "xdp_source.h"

#define SECOND   UINT64_C(1000000000)
#define IDLE_NS  300 /* between two reads of the clock */
#define SEND_ALL 1e9 /* packets: more than can be sent in the time */
#define PIDS     8
#define PORT     9 /* discard */

struct frame {
	struct ethhdr ether;
	union {
		struct {
			struct iphdr ip;
			struct udphdr udp;
		} v4;
		struct {
			struct ipv6hdr ip;
			struct udphdr udp;
		} v6;
		uint8_t rest[ETH_FRAME_LEN];
	};
} __attribute__((packed));
static_assert(offsetof(struct frame, v4.ip.daddr) == XDP_SOURCE_DST4, "where it is aimed");
static_assert(offsetof(struct frame, v6.ip.daddr) == XDP_SOURCE_DST6, "where it is aimed");

struct source {
	struct bpf_object *object;
	int program;
	int variables; /* descriptor of the map of variables */
	struct frame frame;
	struct in6_addr to; /* IPv4: the first 4 bytes */
	int family;
	uint32_t addresses, step;
	unsigned bytes;
	uint64_t rate; /* packets a second */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts = {0};

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static uint64_t process_ns(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : clock_ns(clock);
}

/* Returns the packets that an interface of this network namespace has received; 0 without it. */
static uint64_t received_packets(const char *interface)
{
	FILE *table = fopen("/proc/self/net/dev", "r");
	unsigned long long packets = 0;
	char line[512], name[IF_NAMESIZE] = "";

	while (table && fgets(line, sizeof(line), table) && strcmp(name, interface) != 0)
		if (sscanf(line, " %15[^:]: %*u %llu", name, &packets) != 2)
			name[0] = 0;
	if (table)
		fclose(table);
	return strcmp(name, interface) == 0 ? packets : 0;
}

static uint16_t header_checksum(const void *header, unsigned bytes)
{
	const uint16_t *words = header;
	uint32_t sum = 0;

	for (unsigned i = 0; i < bytes / 2; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

/* Parses ADDRESS or ADDRESS+N*STEP. */
static int read_addresses(struct source *source, const char *text)
{
	char address[INET6_ADDRSTRLEN];

	if (sscanf(text, "%45[^+]+%" SCNu32 "*%" SCNu32, address, &source->addresses,
		    &source->step) < 1)
		return -EINVAL;
	source->family = strchr(address, ':') ? AF_INET6 : AF_INET;
	return inet_pton(source->family, address, &source->to) == 1 ? 0 : -EINVAL;
}

static struct udphdr make_udp(unsigned bytes)
{
	return (struct udphdr){
		.source = htons(PORT), .dest = htons(PORT), .len = htons((uint16_t)bytes)};
}

/* 198.18.0.0/15 is for measurements of this kind (RFC 2544). */
static void make_frame4(struct source *source)
{
	unsigned bytes = source->bytes - sizeof(struct ethhdr);
	struct iphdr ip = {
		.version = 4,
		.ihl = sizeof(ip) / 4,
		.tot_len = htons((uint16_t)bytes),
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.saddr = inet_addr("198.18.0.1"),
	};

	memcpy(&ip.daddr, &source->to, sizeof(ip.daddr));
	ip.check = header_checksum(&ip, sizeof(ip));
	source->frame.v4.ip = ip;
	source->frame.v4.udp = make_udp(bytes - sizeof(ip));
}

static void make_frame6(struct source *source)
{
	unsigned bytes = source->bytes - sizeof(struct ethhdr) - sizeof(struct ipv6hdr);

	source->frame.v6.ip = (struct ipv6hdr){
		.version = 6,
		.payload_len = htons((uint16_t)bytes),
		.nexthdr = IPPROTO_UDP,
		.hop_limit = 64,
		.saddr.s6_addr = {0x20, 0x01, 0x02}, /* 2001:2::/48 is the same (RFC 5180) */
		.daddr = source->to,
	};
	source->frame.v6.udp = make_udp(bytes);
}

static int make_frame(struct source *source, const char *destination)
{
	const unsigned least = offsetof(struct frame, v6.udp) + sizeof(struct udphdr);
	int err = read_addresses(source, destination);

	if (err || source->bytes < ETH_ZLEN || source->bytes > ETH_FRAME_LEN ||
		(source->family == AF_INET6 && source->bytes < least))
		return -EINVAL;
	source->frame.ether = (struct ethhdr){
		{2, 0, 0, 0, 0, 2}, {2, 0, 0, 0, 0, 1}, htons(ETH_P_IP)};
	if (source->family == AF_INET) {
		make_frame4(source);
		return 0;
	}
	source->frame.ether.h_proto = htons(ETH_P_IPV6);
	make_frame6(source);
	return 0;
}

static int load_xdp_source(struct source *source, const char *path, const char *interface)
{
	struct xdp_source_constants constants = {
		.interface = if_nametoindex(interface),
		.batch_ns = source->rate ? XDP_SOURCE_BATCH * SECOND / source->rate : 0,
		.idle_below = IDLE_NS,
		.addresses = source->addresses,
		.step = source->step,
		.first = ntohl(source->to.s6_addr32[0]),
		.ipv6 = source->family == AF_INET6,
	};
	struct bpf_map *map;

	if (constants.interface == 0 && strcmp(interface, "-") != 0)
		return -errno;
	source->object = bpf_object__open_file(path, NULL);
	if (source->object == NULL)
		return -errno;
	map = bpf_object__find_map_by_name(source->object, ".rodata");
	if (bpf_map__set_initial_value(map, &constants, sizeof(constants)) ||
		bpf_object__load(source->object))
		return -errno;
	source->variables = bpf_object__find_map_fd_by_name(source->object, ".bss");
	source->program = bpf_program__fd(
		bpf_object__find_program_by_name(source->object, "source"));
	return 0;
}

static void time_is_up(int number)
{
	(void)number;
}

/* Sends for `seconds`. Returns 0 or negative errno. */
static int send_for(struct source *source, double seconds)
{
	struct xdp_md whole = {.data_end = source->bytes};
	struct sigaction action = {.sa_handler = time_is_up};
	struct itimerval timer = {
		.it_value = {(time_t)seconds, (suseconds_t)((seconds - (time_t)seconds) * 1e6)},
	};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = &source->frame,
		.data_size_in = source->bytes, .ctx_in = &whole, .ctx_size_in = sizeof(whole),
		.repeat = SEND_ALL, .batch_size = XDP_SOURCE_BATCH,
		.flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	int err;

	if (sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &timer, NULL))
		return -errno;
	err = bpf_prog_test_run_opts(source->program, &options);
	return err == -EINTR ? 0 : err;
}

static int run_xdp_source(struct source *source, const char *far, double seconds, char **pids)
{
	uint64_t others[PIDS] = {0}, cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	uint64_t arrived = received_packets(far);
	struct xdp_source_variables variables;
	uint32_t zero = 0;
	int err;

	for (unsigned i = 0; i < PIDS && pids[i]; i++)
		others[i] = process_ns(atoi(pids[i]));
	err = send_for(source, seconds);
	if (err)
		return err;
	start = clock_ns(CLOCK_MONOTONIC) - start;
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	arrived = received_packets(far) - arrived;
	if (bpf_map_lookup_elem(source->variables, &zero, &variables))
		return -errno;
	printf("{\"sent\": %llu, \"first\": %llu, \"arrived\": %" PRIu64
	       ", \"seconds\": %.6f, \"cpu_ns\": %" PRId64 ", \"others_ns\": [",
		variables.sent, variables.first, arrived, (double)start / SECOND,
		(int64_t)(cpu - variables.idle_ns));
	for (unsigned i = 0; i < PIDS && pids[i]; i++)
		printf("%s%" PRIu64, i ? ", " : "", process_ns(atoi(pids[i])) - others[i]);
	puts("]}");
	return 0;
}

int main(int argc, char **argv)
{
	struct source source = {0};
	int err;

	if (argc < 8 || argc > 8 + PIDS) {
		fputs("usage: xdp_source OBJECT INTERFACE FAR ADDRESS BYTES RATE SECONDS [PID]...\n",
			stderr);
		return 2;
	}
	source.bytes = (unsigned)strtoul(argv[5], NULL, 10);
	source.rate = strtoull(argv[6], NULL, 10);
	err = make_frame(&source, argv[4]);
	if (!err)
		err = load_xdp_source(&source, argv[1], argv[2]);
	if (!err)
		err = run_xdp_source(&source, argv[3], strtod(argv[7], NULL), argv + 8);
	if (err)
		fprintf(stderr, "xdp_source: %s\n", strerror(-err));
	bpf_object__close(source.object);
	return err ? 1 : 0;
}
