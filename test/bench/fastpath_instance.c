/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The appliance as a contender: an operator's configuration, set up by the appliance's own code,
 * with its own workers, which are called from here.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_mbuf.h>

#include "classify/frames.h"
#include "config/load.h"
#include "fastpath.h"
#include "police/eights.h"
#include "worker.h"
#include "worker_data.h"

#define SOURCES 1048576 /* capacity of a table */

/* ---- configuration ---- */

static void write_match(FILE *out, const struct instance_params *params, unsigned i)
{
	const struct prefixes *prefixes = params->prefixes;
	char text[INET6_ADDRSTRLEN];
	uint8_t v6[16] = {0};

	if (!prefixes)
		return;
	if (params->v6) {
		for (unsigned k = 0; k < 8; k++)
			v6[k] = (uint8_t)(prefixes->v6[i] >> (56 - 8 * k));
		inet_ntop(AF_INET6, v6, text, sizeof(text));
		fprintf(out, ",\"match\":{\"dst\":\"%s/48\"}", text);
	} else {
		uint32_t v4 = htonl(prefixes->v4[i]);

		inet_ntop(AF_INET, &v4, text, sizeof(text));
		fprintf(out, ",\"match\":{\"dst\":\"%s/%u\"}", text, prefixes->length[i]);
	}
}

static void write_policy(FILE *out, const struct instance_params *params, unsigned i)
{
	bool over = policy_is_over(i, params->over);

	fprintf(out, "%s{\"name\":\"p%u\"", i ? ",\n" : "", i);
	write_match(out, params, i);
	fprintf(out, ",\"limit\":\"%s\",\"burst\":\"%s\"",
		over            ? "8kbit/s"
		: params->limit ? params->limit
				: "400Gbit/s",
		over            ? "1500B"
		: params->burst ? params->burst
				: "64MiB");
	if (params->meter)
		fprintf(out, ",\"meter\":\"%s\"", params->meter);
	if (params->sources)
		fprintf(out, ",\"per\":\"src\",\"sources\":%u", SOURCES);
	if (params->clients)
		fprintf(out, ",\"parent\":\"c%u\"", i / params->clients);
	if (params->keys)
		fprintf(out, ",%s", params->keys);
	fprintf(out, ",\"allocator\":\"%s\"}", params->allocator);
}

/* Writes customers above each `clients` policies, and a link above all of them. */
static void write_levels(FILE *out, const struct instance_params *params)
{
	char terms[128];

	snprintf(terms, sizeof(terms),
		"\"limit\":\"400Gbit/s\",\"burst\":\"64MiB\",\"allocator\":\"%s\"",
		params->allocator);
	for (unsigned i = 0; params->clients && i * params->clients < params->policies; i++)
		fprintf(out, ",\n{\"name\":\"c%u\",\"parent\":\"link\",%s}", i, terms);
	if (params->clients)
		fprintf(out, ",\n{\"name\":\"link\",%s}", terms);
}

static void write_wires(FILE *out, const struct instance_params *params)
{
	unsigned wires = RTE_MAX(params->wires, 1u);

	fputs("\"ports\":{", out);
	for (unsigned i = 0; i < 2 * wires; i++)
		fprintf(out, "%s\"%c\":{\"device\":\"%s\"}", i ? "," : "", (char)('a' + i),
			params->devices[i]);
	fputs("},\n\"wires\":[", out);
	for (unsigned i = 0; i < wires; i++)
		fprintf(out, "%s{\"name\":\"w%u\",\"a\":\"%c\",\"b\":\"%c\"}", i ? "," : "", i,
			(char)('a' + 2 * i), (char)('b' + 2 * i));
	fputs("],\n", out);
}

char *config_text(const struct instance_params *params, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (!out)
		die("out of memory");
	fputs("{\"limiter\":\"bench\",\n", out);
	write_wires(out, params);
	fprintf(out, "\"workers\":[%u", params->cpu[0]);
	for (unsigned w = 1; w < params->workers; w++) /* workers after the second do not run */
		fprintf(out, ",%u", params->cpu[1] + (w - 1) * CONFIG_WORKERS_MAX);
	fprintf(out, "],\"control\":{\"cpu\":%u},", params->cpu[1]);
	if (params->gossip)
		fprintf(out, "\"gossip\":%s,", params->gossip);
	fputs("\n\"policies\":[", out);
	for (unsigned i = 0; i < params->policies; i++)
		write_policy(out, params, i);
	write_levels(out, params);
	fputs("]}\n", out);
	if (fclose(out))
		die("out of memory");
	return text;
}

/* Parses without printing warnings, which are for operators. */
static struct config *parse_text(const char *text, size_t len)
{
	struct config *config;
	char *words = NULL;
	size_t words_len;
	FILE *err = open_memstream(&words, &words_len);
	int ret = err ? config_parse(text, len, "bench", err, &config) : -ENOMEM;

	if (err)
		fclose(err);
	if (ret)
		die("configuration: %.2000s", words ? words : "out of memory");
	free(words);
	return config;
}

/* ---- set-up and end ---- */

double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool portable;

void bench_instance_portable(void)
{
	portable = true;
}

bool bench_has_vectors(void)
{
	return police_has_eights() && classify_has_wide();
}

static void use_vectors(struct bench_instance *bench, bool use)
{
	for (unsigned i = 0; i < bench->config->n_workers; i++) {
		struct worker_own *own = &bench->inst.workers[i].own;

		own->eights = use && police_has_eights();
		own->wide = use && classify_has_wide();
	}
}

struct bench_instance *bench_instance_open(const struct instance_params *params)
{
	struct bench_instance *bench = need(sizeof(*bench));
	double began;
	size_t len;
	char *text = config_text(params, &len);
	int ret;

	bench->params = *params;
	began = cpu_seconds();
	bench->config = parse_text(text, len);
	bench->load_s = cpu_seconds() - began;
	free(text);
	began = cpu_seconds();
	ret = instance_prepare(&bench->inst, bench->config, params->ports);
	bench->prepare_s = cpu_seconds() - began;
	if (ret)
		die("a box of %u policies does not come up: %s", params->policies, strerror(-ret));
	use_vectors(bench, !portable);
	return bench;
}

void bench_instance_close(void *self)
{
	struct bench_instance *bench = self;

	around_close(bench);
	instance_stop(&bench->inst);
	if (bench->inst.leaked)
		die("%u packet buffers are missing", bench->inst.leaked);
	config_free(bench->config);
	free(bench);
}

/* ---- slices ---- */

static int turn_worker(void *arg)
{
	struct bench_instance *bench = arg;
	struct worker *worker = &bench->inst.workers[1];

	companion_publish(&bench->companion);
	worker_begin(worker);
	while (!__atomic_load_n(worker->stop, __ATOMIC_RELAXED))
		worker_turn(worker);
	worker_end(worker);
	return 0;
}

void bench_instance_begin(void *self)
{
	struct bench_instance *bench = self;
	struct instance *inst = &bench->inst;

	__atomic_store_n(&inst->stop, false, __ATOMIC_RELAXED);
	if (bench->launched && rte_eal_remote_launch(turn_worker, bench, inst->workers[1].lcore))
		die("lcore %u does not start", inst->workers[1].lcore);
	worker_begin(&inst->workers[0]);
	if (bench->around)
		around_begin(bench->around);
}

void bench_instance_end(void *self)
{
	struct bench_instance *bench = self;
	struct instance *inst = &bench->inst;

	if (bench->around)
		around_end(bench->around);
	__atomic_store_n(&inst->stop, true, __ATOMIC_RELAXED);
	if (bench->launched)
		rte_eal_wait_lcore(inst->workers[1].lcore);
	worker_end(&inst->workers[0]);
}

static void instance_turn(void *self)
{
	struct bench_instance *bench = self;

	worker_turn(&bench->inst.workers[0]);
}

static void instance_counted(const void *self, uint64_t *received, uint64_t *dropped)
{
	const struct bench_instance *bench = self;
	struct worker_counters totals = instance_worker_totals(&bench->inst);

	*received = totals.rx_packets;
	*dropped = totals.dropped[DROP_LIMIT] + totals.dropped[DROP_QUEUE_FULL];
}

/*
 * Warms up until flows are sampled at their final rate, which takes control a second or two, and
 * until the buckets of policies above their limits are empty.
 */
static void instance_commit(void *self, unsigned ms)
{
	around_commit(self, ms);
}

struct contender instance_contender(
	const char *name, struct bench_instance *bench, const struct traffic *traffic)
{
	return (struct contender){
		.name = name,
		.self = bench,
		.ports = bench->inst.ports,
		.n_ports = bench->config->n_ports,
		.traffic = traffic,
		.companion = bench->launched ? &bench->companion : NULL,
		.turn = instance_turn,
		.counted = instance_counted,
		.commit = instance_commit,
		.begin = bench_instance_begin,
		.end = bench_instance_end,
		.close = bench_instance_close,
	};
}

/* ---- without optional vector instructions ---- */

static void begin_portable(void *self)
{
	bench_instance_begin(self);
	use_vectors(self, false);
}

static void end_portable(void *self)
{
	bench_instance_end(self);
	use_vectors(self, !portable);
}

struct contender portable_contender(struct bench_instance *bench, const struct traffic *traffic)
{
	struct contender contender = instance_contender("", bench, traffic);

	contender.begin = begin_portable;
	contender.end = end_portable;
	contender.close = NULL;
	contender.commit = NULL;
	return contender;
}

/* ---- the classifier alone ---- */

struct classify {
	struct bench_instance *bench;
	uint64_t received;
	struct frames frames;
};

static void classify_path(struct classify *self, const struct path *path)
{
	const struct classifier *classifier =
		publisher_current(&self->bench->inst.publisher)->classifier;
	struct rte_mbuf *mbufs[BURST];
	uint16_t n = rte_eth_rx_burst(path->rx_port, path->queue, mbufs, BURST), sent;

	for (uint16_t i = 0; i < n; i++) {
		self->frames.data[i] = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);
		self->frames.len[i] = mbufs[i]->data_len;
	}
	self->frames.wide = !portable && classify_has_wide();
	classify_frames(classifier, path->wire, path->direction, &self->frames, n);
	sent = rte_eth_tx_burst(path->tx_port, path->queue, mbufs, n);
	rte_pktmbuf_free_bulk(mbufs + sent, n - sent);
	self->received += n;
}

static void classify_turn(void *arg)
{
	struct classify *self = arg;
	const struct worker *worker = &self->bench->inst.workers[0];

	for (unsigned i = 0; i < worker->n_paths; i++)
		classify_path(self, &worker->paths[i]);
}

static void classify_counted(const void *arg, uint64_t *received, uint64_t *dropped)
{
	*received = ((const struct classify *)arg)->received;
	*dropped = 0;
}

struct contender classify_contender(struct bench_instance *bench, const struct traffic *traffic)
{
	struct classify *self = need(sizeof(*self));

	self->bench = bench;
	return (struct contender){
		.name = "classify",
		.self = self,
		.ports = bench->inst.ports,
		.n_ports = bench->config->n_ports,
		.traffic = traffic,
		.turn = classify_turn,
		.counted = classify_counted,
		.close = free,
	};
}
