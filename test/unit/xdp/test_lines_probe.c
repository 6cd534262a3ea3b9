/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The classifier of the XDP program, run by the kernel, is compared with that of the workers.
 * Frames of every form meet random policies. Addresses meet long lists of prefixes, compared with a
 * search through each list. Without the right to load programs the test is skipped.
 */
#include "classify_lots.h"

#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "classify/lines.h"
#include "lines_probe.h"
#include "lines_probe.skel.h"

/* The verifier's limit is a million. A whole program has more instructions than these. */
#define VERIFIED_MAX 100000

#define FRAME_BYTES_MAX 9000

static struct lines_probe_bpf *loaded; /* NULL: not permitted */
static struct lines_probe *probe;
static uint64_t seed;

/* --- the program and its tables -------------------------------------------------------------- */

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static int load_probe(void **state)
{
	if (start_eal(state) < 0)
		return -1;
	seed = getenv("WEIR_SEED") != NULL ? strtoull(getenv("WEIR_SEED"), NULL, 0) : 0x5eed0011;
	if (bpf_map_create(BPF_MAP_TYPE_ARRAY, "may_we", 4, 4, 1, NULL) < 0 &&
		(errno == EPERM || errno == ENOSYS)) {
		print_message("skipped: bpf(): %s\n", strerror(errno));
		return 0;
	}
	libbpf_set_print(quiet);
	loaded = lines_probe_bpf__open_and_load();
	if (loaded == NULL)
		return -1;
	probe = mmap(NULL, sizeof(*probe), PROT_READ | PROT_WRITE, MAP_SHARED,
		bpf_map__fd(loaded->maps.probe), 0);
	return probe == MAP_FAILED ? -1 : 0;
}

static int unload_probe(void **state)
{
	lines_probe_bpf__destroy(loaded);
	return stop_eal(state);
}

static void need_probe(void)
{
	if (loaded == NULL)
		skip();
}

/* The current inner map, mapped into memory. */
static struct classify_line *lines;
static size_t n_lines;

static void replace_map(size_t n)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	const uint32_t only = 0;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "lines", 4, sizeof(*lines), (uint32_t)n, &opts);

	assert_true(fd >= 0);
	if (lines != NULL)
		munmap(lines, n_lines * sizeof(*lines));
	n_lines = n;
	lines = mmap(NULL, n * sizeof(*lines), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(lines, MAP_FAILED);
	assert_int_equal(bpf_map__update_elem(loaded->maps.tables, &only, sizeof(only), &fd,
				 sizeof(fd), BPF_ANY),
		0);
	close(fd);
}

/* Writes the lines into a map of exactly their size, or into a larger one with 0xa5 after them. */
static void publish_lines(const struct classifier *classifier, bool exactly)
{
	const size_t n = classifier_lines_count(classifier);

	if (exactly ? n_lines != n : n_lines < n)
		replace_map(n);
	memset(lines, 0xa5, n_lines * sizeof(*lines));
	assert_int_equal(classifier_lines_write(classifier, lines, n_lines), 0);
}

/*
 * Runs the program with `first` bytes in the first segment. Returns false if the kernel cannot do
 * this.
 */
static bool probe_segments(
	const uint8_t *bytes, uint32_t len, uint32_t first, unsigned wire, enum direction direction)
{
	struct xdp_md context = {.data_end = first};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = bytes, .data_size_in = len, .repeat = 1);
	int rc;

	memset(probe, 0xa5, sizeof(*probe));
	probe->wire = wire;
	probe->direction = direction;
	if (first < len) {
		opts.ctx_in = &context;
		opts.ctx_size_in = sizeof(context);
	}
	rc = bpf_prog_test_run_opts(bpf_program__fd(loaded->progs.probe_frame), &opts);
	if (first < len && rc == -EINVAL)
		return false;
	assert_int_equal(rc, 0);
	assert_int_equal(opts.retval, XDP_PASS);
	return true;
}

static void probe_bytes(const uint8_t *bytes, uint32_t len, unsigned wire, enum direction direction)
{
	probe_segments(bytes, len, len, wire, direction);
}

/* --- the workers' answer --------------------------------------------------------------------- */

static void fail_frame(
	const char *what, const uint8_t *bytes, uint32_t len, unsigned got, unsigned want)
{
	char text[3 * 160 + 1];
	unsigned at = 0;

	for (uint32_t i = 0; i < len && i < 160; i++)
		at += (unsigned)snprintf(text + at, sizeof(text) - at, "%02x ", bytes[i]);
	fail_msg("seed %#" PRIx64 ": %s is %u, not %u, of %u bytes: %s", seed, what, got, want, len,
		text);
}

#define check_same(what, got, want)                                                      \
	do {                                                                             \
		if ((got) != (want))                                                     \
			fail_frame(what, bytes, len, (unsigned)(got), (unsigned)(want)); \
	} while (0)

static void check_address(const char *what, const uint8_t *bytes, uint32_t len, uint8_t family,
	uint16_t off, const __u64 *got)
{
	uint8_t want[16] = {0};

	if (family != PACKET_OTHER)
		memcpy(want, bytes + off, family == PACKET_IPV4 ? 4 : 16);
	check_same(what, memcmp(got, want, sizeof(want)), 0);
}

static void check_facts(const uint8_t *bytes, uint32_t len, const struct packet *packet)
{
	const struct plane_facts *facts = &probe->facts;

	check_same("what it is", probe->parsed == PLANE_PARSED, packet->family != PACKET_OTHER);
	check_same("unparsed", 0, packet->unparsed);
	check_same("a fragment", 0, packet->fragment);
	check_same("the family", facts->family, packet->family);
	check_same("the length", facts->len, len);
	check_same("the L2 length", facts->l2_len, packet->l2_len);
	check_same("the VLAN", facts->vlan, packet->vlan);
	check_same("the DSCP", facts->dscp, packet->dscp);
	check_same("the protocol", facts->proto, packet->proto);
	check_same("the source port", facts->src_port, packet->src_port);
	check_same("the destination port", facts->dst_port, packet->dst_port);
	check_address("the source", bytes, len, packet->family, packet->src_off, facts->src);
	check_address("the destination", bytes, len, packet->family, packet->dst_off, facts->dst);
}

/* Compares the policies of both ways. Returns true if the XDP program classified the frame. */
static bool check_probe(const struct classifier *classifier, const uint8_t *bytes, uint32_t len,
	unsigned wire, enum direction direction)
{
	struct packet packet;
	uint32_t policy;

	if (probe->parsed == PLANE_ASIDE) {
		check_same("the answer", probe->answer, LINES_ASIDE);
		return false;
	}
	packet_parse(bytes, len, &packet);
	check_facts(bytes, len, &packet);
	if (probe->answer == LINES_ASIDE)
		return false;
	check_same("refused", 0,
		classify_burst(classifier, wire, direction, &packet, &bytes, 1, &policy));
	check_same("the policy", probe->answer, policy);
	return true;
}

static bool check_bytes(const struct classifier *classifier, const uint8_t *bytes, uint32_t len,
	unsigned wire, enum direction direction)
{
	probe_bytes(bytes, len, wire, direction);
	return check_probe(classifier, bytes, len, wire, direction);
}

/* Returns true if the XDP program must parse this frame, rather than leave it to a worker. */
static bool is_for_the_plane(const struct frame *frame)
{
	const bool ip = frame->bytes[frame->l2_len - 2] == 0x08
				? frame->bytes[frame->l2_len - 1] == 0
				: frame->bytes[frame->l2_len - 2] == 0x86;

	if (frame->form == NO_TAG || !ip)
		return true;
	if (frame->form == CUT || frame->form == FRAGMENT)
		return false;
	return frame->bytes[frame->l2_len] >> 4 == 4 ? frame->form != SHORT
						     : frame->form != OPTIONS;
}

/* --- random policies, random frames ---------------------------------------------------------- */

/* Changes the type, or the word after a tag's place. Or inserts one more tag. */
static uint32_t mutate_type(uint8_t *bytes, uint32_t len, uint32_t room)
{
	static const uint16_t types[] = {
		0x0800, 0x86dd, 0x8100, 0x88a8, 0x9100, 0x8847, 0x8848, 0x8864, 0x0806, 0x1234};
	const uint16_t type = types[random_next() % COUNT(types)];
	const unsigned at = 12 + 4 * (random_next() % 3);

	if (one_in(2) && len + 4 <= room) {
		memmove(bytes + 16, bytes + 12, len - 12);
		bytes[12] = 0x81;
		bytes[13] = 0x00;
		return len + 4;
	}
	if (at + 2 <= len) {
		bytes[at] = type >> 8;
		bytes[at + 1] = type & 0xff;
	}
	return len;
}

/* Checks invalid headers: with flipped bits, other types, and cut. */
static void check_mutated(const struct classifier *classifier, const struct frame *frame,
	unsigned wire, enum direction direction)
{
	uint8_t bytes[sizeof(frame->bytes)];
	uint32_t len = frame->len;

	memcpy(bytes, frame->bytes, sizeof(bytes));
	for (unsigned i = one_in(2) ? random_next() % 4 : 0; i > 0; i--)
		bytes[12 + random_next() % 40] ^= 1 << random_next() % 8;
	for (unsigned i = one_in(2) ? 1 + random_next() % 4 : 0; i > 0; i--)
		len = mutate_type(bytes, len, sizeof(bytes));
	if (one_in(2))
		len = 14 + random_next() % (len - 13);
	check_bytes(classifier, bytes, len, wire, direction);
}

static void check_frames(const struct classifier *classifier, const struct policy *policies,
	unsigned n_policies, bool wide)
{
	const enum direction direction = one_in(2) ? DIRECTION_A_TO_B : DIRECTION_B_TO_A;
	const unsigned wire = random_next() % 3, n = 1 + random_next() % BURST;
	struct frame frames[BURST];

	random_frames(policies, n_policies, wide, frames, n);
	for (unsigned i = 0; i < n; i++) {
		const struct frame *frame = &frames[i];
		const uint8_t *bytes = frame->bytes;
		const uint32_t len = frame->len;

		if (!check_bytes(classifier, bytes, len, wire, direction))
			check_same("aside", is_for_the_plane(frame) && probe->parsed == PLANE_ASIDE,
				0);
		check_mutated(classifier, frame, wire, direction);
	}
}

/*
 * Checks random policies, with one match or several each. One more row gives frames without a
 * policy.
 */
static void check_policies(
	unsigned n_rows, bool several, unsigned bursts, const struct flavour *flavour)
{
	struct policy *rows = calloc(n_rows + 1, sizeof(*rows));
	struct policy *joined = calloc(n_rows + 1, sizeof(*joined));
	struct match *matches = calloc(n_rows + 1, sizeof(*matches));
	uint32_t *of = calloc(n_rows + 1, sizeof(*of));
	bool *joins = calloc(n_rows + 1, sizeof(*joins));
	struct classifier *classifier = NULL;
	unsigned n;

	assert_true(rows && joined && matches && of && joins);
	for (unsigned i = 0; i <= n_rows; i++) {
		rows[i] = random_policy(flavour);
		joins[i] = several && !one_in(3);
	}
	n = join_rows(rows, joins, n_rows, matches, joined, of);
	assert_int_equal(classifier_create(joined, n, -1, &classifier), 0);
	publish_lines(classifier, false);
	for (unsigned i = 0; i < bursts; i++)
		check_frames(classifier, rows, n_rows + 1, flavour->wide);
	classifier_destroy(classifier);
	free(rows);
	free(joined);
	free(matches);
	free(of);
	free(joins);
}

TEST(test_random)
{
	static const unsigned sizes[] = {0, 1, 2, 8, 30, 100};
	struct flavour flavour;

	need_probe();
	classify_world_seed(seed);
	for (unsigned round = 0; round < ROUNDS(480); round++) {
		flavour = random_flavour();
		check_policies(sizes[round % COUNT(sizes)], round % 4 > 1, 4, &flavour);
	}
	flavour = (struct flavour){.dst = true,
		.src = true,
		.v4 = true,
		.v6 = true,
		.vlan = true,
		.dscp = true,
		.proto = true,
		.ports = true,
		.wire = true,
		.direction = true};
	check_policies(1000, false, 30, &flavour);
	check_policies(1000, true, 30, &flavour);
	flavour.wide = true;
	check_policies(1000, false, 30, &flavour);
	check_policies(1000, true, 30, &flavour);
	check_policies(100000, true, 30, &flavour);
}

/* --- protocols left to workers -------------------------------------------------------------- */

/* The bytes between the addresses of a plain frame and its type. */
struct between {
	const char *name;
	uint8_t bytes[20], n;
	bool answered;
};

/* Frames with labels, sessions or too many tags can contain IP, so they are left to workers. */
TEST(test_between)
{
	static const struct between all[] = {
		{"nothing", {0}, 0, true},
		{"a tag", {0x81, 0, 0, 5}, 4, true},
		{"two tags", {0x88, 0xa8, 0, 5, 0x91, 0, 0, 6}, 8, true},
		{"three tags", {0x81, 0, 0, 5, 0x81, 0, 0, 6, 0x81, 0, 0, 7}, 12, false},
		{"five tags",
			{0x81, 0, 0, 5, 0x81, 0, 0, 6, 0x81, 0, 0, 7, 0x81, 0, 0, 8, 0x81, 0, 0, 9},
			20, false},
		{"a label", {0x88, 0x47, 0, 1, 1, 64}, 6, false},
		{"a multicast label", {0x88, 0x48, 0, 1, 1, 64}, 6, false},
		{"a session", {0x88, 0x64, 0x11, 0, 0, 1, 0, 99, 0, 0x21}, 10, false},
		{"a session in a tag", {0x81, 0, 0, 5, 0x88, 0x64, 0x11, 0, 0, 1, 0, 99, 0, 0x21},
			14, false},
	};
	const struct policy policy = make_policy(&(struct row){.dst = "10.0.0.0/8"});
	struct classifier *classifier = NULL;
	struct frame frame;

	need_probe();
	classify_world_seed(seed);
	assert_int_equal(classifier_create(&policy, 1, -1, &classifier), 0);
	publish_lines(classifier, true);
	make_frame(&(struct row){.dst = "10.0.0.1", .proto = 17}, PLAIN, &frame);
	for (unsigned i = 0; i < COUNT(all); i++) {
		const bool tags = i < 5;
		uint8_t bytes[sizeof(frame.bytes) + sizeof(all[i].bytes)];
		/* A label or a session replaces the type. */
		const unsigned behind = tags ? 12 : 14;

		memcpy(bytes, frame.bytes, 12);
		memcpy(bytes + 12, all[i].bytes, all[i].n);
		memcpy(bytes + 12 + all[i].n, frame.bytes + behind, frame.len - behind);
		probe_bytes(bytes, frame.len - behind + 12 + all[i].n, 0, DIRECTION_A_TO_B);
		if (probe->answer != (all[i].answered ? 0 : LINES_ASIDE))
			fail_msg("%s: %#x", all[i].name, probe->answer);
	}
	classifier_destroy(classifier);
}

/* --- frames in segments ---------------------------------------------------------------------- */

/*
 * Only the headers and the length of a long frame matter. Returns true if the kernel can make a
 * first segment as short as the headers.
 */
static bool check_segments(const struct classifier *classifier, const struct frame *frame)
{
	static uint8_t bytes[FRAME_BYTES_MAX];
	const uint32_t len = frame->len + random_next() % (sizeof(bytes) - frame->len);

	memcpy(bytes, frame->bytes, frame->len);
	check_bytes(classifier, bytes, len, 0, DIRECTION_A_TO_B);
	check_same("the length", probe->parsed == PLANE_ASIDE ? len : probe->facts.len, len);
	for (uint32_t first = 14; first < frame->len; first++) {
		if (!probe_segments(bytes, len, first, 0, DIRECTION_A_TO_B))
			return false;
		check_probe(classifier, bytes, len, 0, DIRECTION_A_TO_B);
	}
	return true;
}

TEST(test_segments)
{
	const struct flavour flavour = {.dst = true, .v4 = true, .v6 = true, .ports = true};
	struct classifier *classifier = NULL;
	struct policy policies[BURST];
	struct frame frames[BURST];
	bool any_short = false;

	need_probe();
	classify_world_seed(seed);
	for (unsigned i = 0; i < BURST; i++)
		policies[i] = random_policy(&flavour);
	assert_int_equal(classifier_create(policies, BURST, -1, &classifier), 0);
	publish_lines(classifier, false);
	for (unsigned round = 0; round < ROUNDS(4); round++) {
		random_frames(policies, BURST, false, frames, BURST);
		for (unsigned i = 0; i < BURST; i++)
			any_short |= check_segments(classifier, &frames[i]);
	}
	if (!any_short)
		print_message("this kernel makes no segments as short as headers\n");
	classifier_destroy(classifier);
}

/* --- lists of prefixes ----------------------------------------------------------------------- */

/*
 * Returns a prefix with a length as in a backbone's table, or a host. A third lies in an earlier
 * one.
 */
static struct prefix list_prefix(uint8_t family, const struct policy *before, unsigned n)
{
	const unsigned max = family == 4 ? 32 : 128, least = family == 4 ? 12 : 24;
	struct prefix prefix = {.family = family};
	const struct prefix *outer = n > 0 && one_in(3) ? &before[random_next() % n].match.dst
							: NULL;
	unsigned from = 0;

	for (unsigned i = 0; i < max / 8; i++)
		prefix.addr[i] = (uint8_t)random_next();
	prefix.length = one_in(8) ? max : least + random_next() % (max - least + 1);
	if (outer != NULL && outer->length < prefix.length)
		from = outer->length;
	for (unsigned bit = 0; bit < max; bit++) {
		const uint8_t one = 0x80 >> bit % 8;

		if (bit < from)
			prefix.addr[bit / 8] = (prefix.addr[bit / 8] & ~one) |
					       (outer->addr[bit / 8] & one);
		else if (bit >= prefix.length)
			prefix.addr[bit / 8] &= ~one;
	}
	return prefix;
}

static void add_to_address(uint8_t *addr, unsigned bytes, int one)
{
	for (unsigned i = bytes; i-- > 0;) {
		addr[i] += one;
		if (addr[i] != (one > 0 ? 0 : 0xff))
			return;
	}
}

/* Writes an address: the first or last of a prefix, the one before or after, one within, or any. */
static void listed_address(const struct prefix *prefix, unsigned kind, uint8_t *addr)
{
	const unsigned max = prefix->family == 4 ? 32 : 128;

	for (unsigned bit = 0; bit < max; bit++) {
		const uint8_t one = 0x80 >> bit % 8;
		const bool set = kind < 2 ? false : kind < 4 ? true : one_in(2);

		addr[bit / 8] &= ~one;
		if (kind == 5 || bit >= prefix->length)
			addr[bit / 8] |= set ? one : 0;
		else
			addr[bit / 8] |= prefix->addr[bit / 8] & one;
	}
	if (kind == 1 || kind == 3)
		add_to_address(addr, max / 8, kind == 1 ? -1 : 1);
}

static bool holds(const struct prefix *prefix, const uint8_t *addr)
{
	const unsigned bytes = prefix->length / 8, bits = prefix->length % 8;

	return memcmp(prefix->addr, addr, bytes) == 0 &&
	       (bits == 0 || ((prefix->addr[bytes] ^ addr[bytes]) & 0xff00 >> bits & 0xff) == 0);
}

static uint32_t longest_match(const struct policy *policies, unsigned n, const uint8_t *addr)
{
	uint32_t best = CLASSIFY_NONE;

	for (uint32_t i = 0; i < n; i++)
		if (holds(&policies[i].match.dst, addr) &&
			(best == CLASSIFY_NONE ||
				policies[i].match.dst.length > policies[best].match.dst.length))
			best = i;
	return best;
}

static void check_list(uint8_t family, unsigned n, unsigned n_addresses)
{
	struct policy *policies = calloc(n, sizeof(*policies));
	struct classifier *classifier = NULL;

	assert_non_null(policies);
	for (unsigned i = 0; i < n; i++)
		policies[i].match = (struct match){.dst = list_prefix(family, policies, i),
			.vlan = CONFIG_ANY,
			.dscp = CONFIG_ANY,
			.wire = CONFIG_ANY};
	assert_int_equal(classifier_create(policies, n, -1, &classifier), 0);
	publish_lines(classifier, true);
	for (unsigned i = 0; i < n_addresses; i++) {
		struct frame frame = {.family = family, .vlan = CONFIG_ANY, .proto = 17};
		const uint8_t *bytes = frame.bytes;
		uint32_t len;

		listed_address(&policies[random_next() % n].match.dst, i % 6, frame.dst);
		put_frame(&frame);
		len = frame.len;
		probe_bytes(bytes, len, 0, DIRECTION_A_TO_B);
		check_same(
			"the longest prefix", probe->answer, longest_match(policies, n, frame.dst));
	}
	classifier_destroy(classifier);
	free(policies);
}

TEST(test_lists)
{
	static const unsigned sizes[] = {1, 2, 7, 8, 20, 300, 3000};

	need_probe();
	classify_world_seed(seed);
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		check_list(4, sizes[i], ROUNDS(3000));
		check_list(6, sizes[i], ROUNDS(3000));
	}
	check_list(4, 100000, ROUNDS(4200));
	check_list(6, 100000, ROUNDS(4200));
}

/* --- limits of the program ------------------------------------------------------------------- */

static void check_row(const struct row *row, const char *what, uint32_t want)
{
	struct frame frame;

	make_frame(row, PLAIN, &frame);
	probe_bytes(frame.bytes, frame.len, 0, DIRECTION_A_TO_B);
	if (probe->answer != want)
		fail_msg("%s: %u, not %u", what, probe->answer, want);
}

/* The program follows 64 rules. It leaves longer chains to workers. */
TEST(test_long_chain)
{
	const struct row last = {.dst = "10.0.0.1", .proto = 6, .sport = {9, 9}, .dport = {64, 64}};

	need_probe();
	for (unsigned n = 63; n <= 65; n++) {
		struct policy policies[65];
		struct classifier *classifier = NULL;

		for (unsigned i = 0; i < n; i++)
			policies[i] = make_policy(&(struct row){.dst = "10.0.0.0/8",
				.proto = 6,
				.dport = {(uint16_t)(64 + n - 1 - i), (uint16_t)(64 + n - 1 - i)}});
		assert_int_equal(classifier_create(policies, n, -1, &classifier), 0);
		publish_lines(classifier, false);
		check_row(&last, "the last that matches", n > 64 ? LINES_ASIDE : n - 1);
		classifier_destroy(classifier);
	}
}

/* Damaged lines give no policy; the frame is left to a worker. */
TEST(test_broken_lines)
{
	const struct policy policies[] = {make_policy(&(struct row){.dst = "2001:db8::/32"}),
		make_policy(&(struct row){.dst = "10.0.0.0/8", .proto = 6}),
		make_policy(&(struct row){.dst = "10.0.0.0/8"})};
	const struct row in = {.dst = "2001:db8::1", .proto = 17},
			 out = {.dst = "2001:db9::1", .proto = 17},
			 rule = {.dst = "10.0.0.1", .proto = 6};
	struct classifier *classifier = NULL;
	struct lines_header *header;
	struct lines_bucket *bucket;

	need_probe();
	assert_int_equal(classifier_create(policies, COUNT(policies), -1, &classifier), 0);
	publish_lines(classifier, true);
	header = (struct lines_header *)(void *)lines;
	bucket = (struct lines_bucket *)(void *)&lines[header->dst.v6 + LINES_NODES];
	bucket[1].further = 1; /* an endless chain */
	check_row(&in, "what is in the first bucket", 0);
	check_row(&out, "what is in none of a chain without end", LINES_ASIDE);
	bucket[1].further = (uint32_t)n_lines;
	check_row(&out, "a bucket that is not there", LINES_ASIDE);
	check_row(&rule, "a rule", 1);
	header->rules = (uint32_t)n_lines;
	check_row(&rule, "a rule that is not there", LINES_ASIDE);
	header->version++;
	check_row(&in, "another version", LINES_ASIDE);
	classifier_destroy(classifier);
}

TEST(test_verified)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	need_probe();
	assert_int_equal(
		bpf_obj_get_info_by_fd(bpf_program__fd(loaded->progs.probe_frame), &info, &size),
		0);
	print_message("%u instructions verified\n", info.verified_insns);
	assert_true(info.verified_insns < VERIFIED_MAX);
}

TEST_GROUP(load_probe, unload_probe)
