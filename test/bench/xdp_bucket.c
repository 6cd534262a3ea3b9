/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Attaches the XDP token bucket (xdp_bucket.bpf.c) between two interfaces, until a signal ends it.
 *
 *     xdp_bucket OBJECT IN OUT FAR BURST [ADDRESS=BPS]...
 *
 * Packets received on IN that conform to their destination's limit (bit/s and bytes of layer 3) are
 * transmitted on OUT. Packets that arrive at FAR, the other end of OUT's cable, are freed, like at
 * a wire's far end. Prints "ready", and at its end the counters of each bucket.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "xdp_bucket.h"

static int fail_xdp_bucket(const char *what)
{
	fprintf(stderr, "xdp_bucket: %s: %s\n", what, strerror(errno));
	return -1;
}

/* Adds a bucket. The burst is below 2^32 bytes, and the rate below 2^32 bytes a ns. */
static int add_bucket(int map, const char *words, uint64_t burst)
{
	struct xdp_bucket bucket = {.burst = burst << XDP_TOKEN_SHIFT};
	char address[INET_ADDRSTRLEN] = "";
	struct in_addr key;
	double bps;

	if (sscanf(words, "%15[0-9.]=%lf", address, &bps) != 2 ||
		inet_pton(AF_INET, address, &key) != 1 || bps < 8) {
		errno = EINVAL;
		return fail_xdp_bucket(words);
	}
	bucket.rate = (uint64_t)(bps / 8e9 * (double)(UINT64_C(1) << XDP_TOKEN_SHIFT));
	bucket.full_ns = bucket.burst / bucket.rate + 1;
	return bpf_map_update_elem(map, &key, &bucket, BPF_NOEXIST) ? fail_xdp_bucket(words) : 0;
}

/* Writes the limits of the command line from `argv` on, and the output interface. */
static int fill_bucket_maps(struct bpf_object *object, unsigned out, const char *burst, char **argv)
{
	int buckets = bpf_object__find_map_fd_by_name(object, "buckets");
	int port = bpf_object__find_map_fd_by_name(object, "other_port");
	uint64_t bytes = strtoul(burst, NULL, 10);
	uint32_t zero = 0;

	if (bpf_map_update_elem(port, &zero, &out, BPF_ANY))
		return fail_xdp_bucket("other_port");
	for (; *argv; argv++)
		if (add_bucket(buckets, *argv, bytes))
			return -1;
	return 0;
}

/* Returns NULL on failure. Attached until it is destroyed, or the process ends in any way. */
static struct bpf_link *attach_program(
	struct bpf_object *object, const char *program, unsigned interface)
{
	struct bpf_program *found = bpf_object__find_program_by_name(object, program);
	struct bpf_link *link = bpf_program__attach_xdp(found, (int)interface);

	if (link == NULL)
		fail_xdp_bucket(program);
	return link;
}

static void print_buckets(struct bpf_object *object)
{
	int map = bpf_object__find_map_fd_by_name(object, "buckets");
	char address[INET_ADDRSTRLEN];
	struct xdp_bucket bucket;
	uint32_t key, *at = NULL;

	while (bpf_map_get_next_key(map, at, &key) == 0) {
		at = &key;
		if (bpf_map_lookup_elem(map, &key, &bucket) == 0)
			printf("%s passed %llu dropped %llu\n",
				inet_ntop(AF_INET, &key, address, sizeof(address)), bucket.passed,
				bucket.dropped);
	}
}

/* Prints "ready"; returns when a signal arrives. */
static void wait_for_signal(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	sigwait(&set, &number);
}

static int run_xdp_bucket(struct bpf_object *object, char **argv)
{
	unsigned in = if_nametoindex(argv[2]), out = if_nametoindex(argv[3]);
	unsigned far = if_nametoindex(argv[4]);
	struct bpf_link *sink, *limit = NULL;

	if (!in || !out || !far)
		return fail_xdp_bucket("interfaces");
	if (bpf_object__load(object) || fill_bucket_maps(object, out, argv[5], argv + 6))
		return -1;
	sink = attach_program(object, "sink", far);
	if (sink)
		limit = attach_program(object, "limit", in);
	if (limit) {
		wait_for_signal();
		print_buckets(object);
	}
	bpf_link__destroy(limit);
	bpf_link__destroy(sink);
	return limit ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	int err;

	if (argc < 6) {
		fputs("usage: xdp_bucket OBJECT IN OUT FAR BURST [ADDRESS=BPS]...\n", stderr);
		return 2;
	}
	object = bpf_object__open_file(argv[1], NULL);
	if (object == NULL) {
		fail_xdp_bucket(argv[1]);
		return 1;
	}
	err = run_xdp_bucket(object, argv);
	bpf_object__close(object);
	return err ? 1 : 0;
}
