/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of the fast path, as ratios to bare forwarding on the same ports in the same run:
 *
 *     fastpath --json FILE [--rounds 31] [--slice-us 20000] [--only QUESTION,...] [--huge]
 *
 * tools/bench runs it, and makes tables of its output. The cycles of a packet are written for each
 * question (in fastpath_questions.c), round and contender. The driver net_null receives and
 * transmits without a cost of its own, so all cycles are the contenders'.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_version.h>

#include <sodium.h>

#include "event.h"
#include "fastpath.h"

/* Two lines of a buffer are touched. These lines together are twice as large as the caches. */
#define COLD_BYTES   128
#define COLD_DEFAULT (32u << 20) /* size of the L3 cache, if it is unknown */
#define COLD_MAX     (1u << 20)

static const char usage[] =
	"Usage: fastpath --json FILE [options]\n"
	"\n"
	"  --only QUESTION,...  these questions, not all\n"
	"  --rounds N           rounds of each question (31)\n"
	"  --slice-us N         of each contender in a round (20000)\n"
	"  --turns N            so many turns of it instead, for those who count instructions\n"
	"  --step NAME,...      count the instructions of these contenders in --turns (all: each)\n"
	"  --portable           no vector instructions that only some CPUs have\n"
	"  --policies N         of most boxes (10000)\n"
	"  --scale N            of the largest boxes (100000)\n"
	"  --packets N          until traffic repeats, a power of two (1048576)\n"
	"  --cold N             packets in rings (from the size of the L3 cache)\n"
	"  --cached N           packets in the rings of \"cached\" (16384)\n"
	"  --cpus WORKER,OTHER  what measures; control and the second worker (1,0)\n"
	"  --long-us N          of a slice in which the control loop runs (200000)\n"
	"  --directory DIR      for sockets and keys (/tmp)\n"
	"  --settle-ms N        of a box with its control loop, before it counts (2500)\n"
	"  --memory MB          for DPDK (2048)\n"
	"  --huge               on hugepages\n";

struct options {
	const char *json, *only, *directory, *step;
	unsigned rounds, slice_us, policies, scale, packets, cold, memory, settle_ms, long_us, huge;
	unsigned turns, cached, portable;
	unsigned cpu[2];
};

void die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("fastpath: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(EXIT_FAILURE);
}

void *need(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p)
		die("no memory: %zu bytes", bytes);
	return p;
}

static unsigned parse_count(const char *text, unsigned least, unsigned most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text == '\0' || *end || value < least || value > most)
		die("%s: expected a number from %u to %u", text, least, most);
	return (unsigned)value;
}

static void parse_cpus(const char *text, unsigned cpu[2])
{
	if (sscanf(text, "%u,%u", &cpu[0], &cpu[1]) != 2)
		die("--cpus %s: expected two numbers", text);
}

static bool parse_number(struct options *o, int opt)
{
	const struct {
		int opt;
		unsigned *value, least, most;
	} rows[] = {
		{'r', &o->rounds, 1, 10000},
		{'u', &o->slice_us, 100, 10000000},
		{'T', &o->turns, 1, 1u << 20},
		{'p', &o->policies, 1, 1000000},
		{'s', &o->scale, 1, 1000000},
		{'n', &o->packets, 1024, 1u << 24},
		{'c', &o->cold, 128, COLD_MAX},
		{'a', &o->cached, 128, COLD_MAX},
		{'l', &o->long_us, 100, 10000000},
		{'t', &o->settle_ms, 0, 60000},
		{'m', &o->memory, 64, 1u << 20},
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++)
		if (rows[i].opt == opt) {
			*rows[i].value = parse_count(optarg, rows[i].least, rows[i].most);
			return true;
		}
	return false;
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"json", required_argument, NULL, 'j'},
		{"only", required_argument, NULL, 'o'},
		{"rounds", required_argument, NULL, 'r'},
		{"slice-us", required_argument, NULL, 'u'},
		{"turns", required_argument, NULL, 'T'},
		{"policies", required_argument, NULL, 'p'},
		{"scale", required_argument, NULL, 's'},
		{"packets", required_argument, NULL, 'n'},
		{"cold", required_argument, NULL, 'c'},
		{"cached", required_argument, NULL, 'a'},
		{"cpus", required_argument, NULL, 'C'},
		{"long-us", required_argument, NULL, 'l'},
		{"directory", required_argument, NULL, 'd'},
		{"settle-ms", required_argument, NULL, 't'},
		{"memory", required_argument, NULL, 'm'},
		{"huge", no_argument, NULL, 'H'},
		{"step", required_argument, NULL, 'S'},
		{"portable", no_argument, NULL, 'P'},
		{0},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == 'j')
			o->json = optarg;
		else if (opt == 'o')
			o->only = optarg;
		else if (opt == 'd')
			o->directory = optarg;
		else if (opt == 'C')
			parse_cpus(optarg, o->cpu);
		else if (opt == 'H')
			o->huge = 1;
		else if (opt == 'S')
			o->step = optarg;
		else if (opt == 'P')
			o->portable = 1;
		else if (!parse_number(o, opt))
			die("see the usage:\n%s", usage);
	}
	if (optind != argc || !o->json)
		die("see the usage:\n%s", usage);
	if (o->step && !o->turns)
		die("--step: expected --turns N too");
	if (o->packets & (o->packets - 1))
		die("--packets %u: expected a power of two", o->packets);
}

/* The measuring thread is EAL's main one, and lcore 1, like the first worker of an instance. */
static void start_eal(const struct options *o)
{
	char lcores[64], memory[16], prefix[32];
	const char *args[] = {"fastpath", lcores, "--main-lcore=1", "-m", memory, prefix,
		"--no-pci", "--no-telemetry", "--log-level=4", "--vdev=net_null0,size=64",
		"--vdev=net_null1,size=64", "--vdev=net_null2,size=64", "--vdev=net_null3,size=64",
		o->huge ? "--in-memory" : "--no-huge", o->huge ? NULL : "--no-shconf"};
	int n = o->huge ? RTE_DIM(args) - 1 : RTE_DIM(args);

	snprintf(lcores, sizeof(lcores), "--lcores=1@%u,2@%u", o->cpu[0], o->cpu[1]);
	snprintf(memory, sizeof(memory), "%u", o->memory);
	snprintf(prefix, sizeof(prefix), "--file-prefix=bench%d", (int)getpid());
	if (rte_eal_init(n, (char **)(uintptr_t)args) < 0)
		die("EAL: %s", rte_strerror(rte_errno));
	rmdir(rte_eal_get_runtime_dir()); /* is empty: no process shares the memory */
	events_configure(&(struct log_config){.level = LEVEL_WARNING});
}

static unsigned cold_of(const struct options *o)
{
	long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
	unsigned bytes = l3 > 0 ? (unsigned)l3 : COLD_DEFAULT;

	if (o->cold)
		return o->cold & ~1u;
	return RTE_MIN(2 * bytes / COLD_BYTES, COLD_MAX) & ~1u;
}

/* Opens the instance that starts the shared ports, with a queue for each of two workers. */
static struct bench_instance *open_ports(const struct options *o)
{
	static const char *const devices[] = {
		"net_null0,size=64", "net_null1,size=64", "net_null2,size=64", "net_null3,size=64"};
	struct instance_params params = {.devices = devices,
		.wires = 2,
		.allocator = "static",
		.workers = o->cpu[0] == o->cpu[1] ? 1 : 2,
		.cpu = {o->cpu[0], o->cpu[1]}};

	return bench_instance_open(&params);
}

bool is_named(const char *names, const char *name)
{
	size_t len = strlen(name);

	while (names) {
		if (strncmp(names, name, len) == 0 && (names[len] == ',' || names[len] == '\0'))
			return true;
		names = strchr(names, ',');
		names += names != NULL;
	}
	return false;
}

static void write_results(const struct lab *lab, const struct options *o)
{
	json_t *all = json_pack(
		"{s:s, s:s, s:I, s:b, s:b, s:O, s:i, s:i, s:i, s:i, s:i, s:i, s:O, s:O}", "weir",
		WEIR_VERSION, "dpdk", rte_version(), "tsc_hz", (json_int_t)rte_get_tsc_hz(), "huge",
		(int)o->huge, "vectors", (int)(bench_has_vectors() && !o->portable), "pages",
		lab->pages, "rounds", (int)o->rounds, "slice_us", (int)o->slice_us, "policies",
		(int)o->policies, "scale", (int)o->scale, "cold", (int)lab->cold, "cached",
		(int)lab->cached, "questions", lab->questions, "once", lab->once);

	if (!all || json_dump_file(all, o->json, JSON_INDENT(1)))
		die("%s: cannot be written", o->json);
	json_decref(all);
}

static void run_fastpath(const struct options *o)
{
	struct lab lab = {.rounds = o->rounds,
		.slice = rte_get_tsc_hz() / 1000000 * o->slice_us,
		.turns = o->turns,
		.step = o->step,
		.settle_ms = o->settle_ms,
		.long_us = o->long_us,
		.n_traffic = o->packets,
		.policies = o->policies,
		.scale = o->scale,
		.cpu = {o->cpu[0], o->cpu[1]},
		.cold = cold_of(o),
		.cached = o->cached & ~1u,
		.directory = o->directory,
		.null = open_ports(o),
		.pages = pages_measure(),
		.questions = json_object(),
		.once = json_object()};

	lab.ports = lab.null->inst.ports;
	for (const struct question *q = questions; q->name; q++)
		if (!o->only || is_named(o->only, q->name)) {
			fprintf(stderr, "fastpath: %s ...\n", q->name);
			q->ask(&lab);
		}
	write_results(&lab, o);
	json_decref(lab.pages);
	json_decref(lab.questions);
	json_decref(lab.once);
	bench_instance_close(lab.null);
}

int main(int argc, char **argv)
{
	struct options options = {.rounds = 31,
		.slice_us = 20000,
		.policies = 10000,
		.scale = 100000,
		.packets = 1 << 20,
		.cached = 16384,
		.memory = 2048,
		.settle_ms = 2500,
		.long_us = 200000,
		.directory = "/tmp",
		.cpu = {1, 0}};

	parse_options(argc, argv, &options);
	if (sodium_init() < 0)
		die("libsodium does not start");
	start_eal(&options);
	if (options.portable)
		bench_instance_portable();
	run_fastpath(&options);
	rte_eal_cleanup();
	return 0;
}
