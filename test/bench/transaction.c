/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Times each step of a change of many policies. The steps lead from the bytes of the edits to a
 * record on disk, and to a difference that can be applied. The live test test/net/changes.py
 * measures the rest, in control and workers (`changes.py --edits 10000 transaction`).
 *
 *     bench_transaction DIR [POLICIES [EDITS [ROUNDS]]]    10000 of both, 10 times
 *
 * The first table sets the limit of EDITS policies. In the second, 3 of 10 edits add a policy, 3
 * remove one and 4 set one. Each line is a step: the least and the median of its milliseconds of
 * thread CPU time. Other processes affect that only through shared memory bandwidth. The test
 * creates DIR.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "change/between.h"
#include "change/edit.h"
#include "change/keep.h"
#include "change/singles.h"
#include "config/load.h"
#include "json/copy.h"
#include "config/compare.h"

#define ROUNDS_MOST 1000

/* No client waits for the steps after IN_FORCE. */
enum step {
	PARSE,
	SINGLES,
	EDITS,
	READ,
	KEEP,
	DIFFER,
	IN_FORCE,
	BETWEEN = IN_FORCE,
	DIGEST,
	CLEAR,
	STEPS
};

static const char *const words[STEPS] = {"parse the edits", "note what was", "make the edits",
	"read and judge", "keep the record, and sync", "what differs, to be in force",
	"later: what differs, as told", "later: digest", "later: free it"};

struct bench {
	struct keep *keep;
	unsigned n, n_edits, rounds;
	json_t *configuration, *singles;
	struct config *config;
	double ms[STEPS][ROUNDS_MOST];
	double since;
};

static __attribute__((noreturn)) void die(const char *what, int error)
{
	fprintf(stderr, "bench_transaction: %s: %s\n", what, strerror(-error));
	exit(1);
}

static double thread_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void lap(struct bench *b, enum step step, unsigned round)
{
	double now = thread_ms();

	b->ms[step][round] = now - b->since;
	b->since = thread_ms();
}

static json_t *policy_keys(unsigned i, const char *limit)
{
	char dst[32];

	snprintf(dst, sizeof(dst), "11.%u.%u.0/24", i >> 8 & 255, i & 255);
	return json_pack("{s:{s:s, s:s, s:i}, s:s}", "match", "direction", "a-to-b", "dst", dst,
		"vlan", (int)(i >> 16), "limit", limit);
}

static json_t *named_policy(unsigned i)
{
	json_t *policy = json_pack("{s:o}", "name", json_sprintf("p%u", i));
	json_t *keys = policy_keys(i, "1Gbit/s");

	json_object_update(policy, keys);
	json_decref(keys);
	return policy;
}

static json_t *make_configuration(unsigned n)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, named_policy(i));
	return json_pack("{s:s, s:{s:{s:s}, s:{s:s}}, s:[{s:s, s:s, s:s}], s:o}", "limiter", "box",
		"ports", "a", "device", "net_ring0", "b", "device", "net_ring1", "wires", "name",
		"w", "a", "a", "b", "b", "policies", list);
}

static json_t *edit_of(const char *verb, const char *kind, unsigned i, json_t *keys)
{
	return json_pack(
		"{s:s, s:o, s:o}", "do", verb, "name", json_sprintf("%s%u", kind, i), "keys", keys);
}

static char *set_all(const struct bench *b)
{
	json_t *edits = json_array();
	char *text;

	for (unsigned i = 0; i < b->n_edits; i++)
		json_array_append_new(
			edits, edit_of("set", "p", i, json_pack("{s:s}", "limit", "2Gbit/s")));
	text = json_dumps(edits, JSON_COMPACT);
	json_decref(edits);
	return text;
}

/* Removes policies and adds as many new ones. */
static char *renew_some(const struct bench *b)
{
	unsigned n = b->n_edits * 3 / 10;
	json_t *edits = json_array();
	char *text;

	for (unsigned i = 0; i < n; i++) {
		json_array_append_new(edits, edit_of("remove", "p", i, json_object()));
		json_array_append_new(edits, edit_of("add", "q", i, policy_keys(i, "1Gbit/s")));
	}
	for (unsigned i = n; i < n + b->n_edits * 4 / 10; i++)
		json_array_append_new(
			edits, edit_of("set", "p", i, json_pack("{s:s}", "limit", "2Gbit/s")));
	text = json_dumps(edits, JSON_COMPACT);
	json_decref(edits);
	return text;
}

/* Results of one change, freed in the last step, which is timed too. */
struct made {
	json_t *edits, *singles, *document, *about, *listed;
	struct config *config;
	struct config_diff *diff;
};

static void clear(struct made *made)
{
	json_decref(made->edits);
	json_decref(made->singles);
	json_decref(made->document);
	json_decref(made->about);
	json_decref(made->listed);
	config_diff_free(made->diff);
	config_free(made->config);
}

static void keep_made(struct bench *b, struct made *made)
{
	uint64_t number;
	int rc;

	made->about = json_pack("{s:O}", "singles", made->singles);
	rc = keep_write(b->keep, made->about, made->document, &number);
	if (rc < 0)
		die("keep", rc);
	keep_forget(b->keep, number);
}

/* Runs the calls of change_read(), change_keep(), policy_txn_prepare_config() and change_end(). */
static void change_once(struct bench *b, const char *text, unsigned round)
{
	char digest[CHANGE_DIGEST_MAX];
	struct made made = {0};
	size_t n;
	int rc;

	b->since = thread_ms();
	made.edits = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	lap(b, PARSE, round);
	made.singles = whole_list(b->singles);
	made.document = whole_copy(b->configuration);
	singles_note(made.singles, b->configuration, made.edits);
	lap(b, SINGLES, round);
	rc = policy_edits_apply(made.document, made.edits, stderr);
	if (rc == 0)
		rc = singles_forget(made.singles, made.document);
	lap(b, EDITS, round);
	if (rc == 0)
		rc = config_read_document(made.document, "edited", b->config, stderr, &made.config);
	lap(b, READ, round);
	if (rc < 0)
		die("the edits", rc);
	keep_made(b, &made);
	lap(b, KEEP, round);
	rc = config_diff(b->config, made.config, "edited", stderr, &made.diff);
	if (rc < 0)
		die("diff", rc);
	lap(b, DIFFER, round);
	made.listed = changes_between(b->configuration, made.document, 16, &n);
	lap(b, BETWEEN, round);
	configuration_digest(made.document, digest);
	lap(b, DIGEST, round);
	clear(&made);
	lap(b, CLEAR, round);
}

static int compare_ms(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static void print_table(struct bench *b, const char *title)
{
	double least = 0, median = 0;

	printf("%s\n", title);
	for (unsigned step = 0; step < STEPS; step++) {
		double *ms = b->ms[step];

		qsort(ms, b->rounds, sizeof(*ms), compare_ms);
		printf("  %-30s %8.2f %8.2f\n", words[step], ms[0], ms[b->rounds / 2]);
		least += step < IN_FORCE ? ms[0] : 0;
		median += step < IN_FORCE ? ms[b->rounds / 2] : 0;
	}
	printf("  %-30s %8.2f %8.2f\n\n", "until it could be in force", least, median);
}

static void measure(struct bench *b, const char *title, char *text)
{
	for (unsigned round = 0; round < b->rounds; round++)
		change_once(b, text, round);
	print_table(b, title);
	free(text);
}

static unsigned count_of(int argc, char **argv, int at, unsigned usual)
{
	return argc > at ? (unsigned)strtoul(argv[at], NULL, 10) : usual;
}

int main(int argc, char **argv)
{
	static struct bench b;
	int rc;

	if (argc < 2) {
		fputs("usage: bench_transaction DIR [POLICIES [EDITS [ROUNDS]]]\n", stderr);
		return 2;
	}
	b.n = count_of(argc, argv, 2, 10000);
	b.n_edits = count_of(argc, argv, 3, b.n);
	b.rounds = count_of(argc, argv, 4, 10);
	if (b.n_edits > b.n || b.rounds == 0 || b.rounds > ROUNDS_MOST)
		die("no more edits than policies, 1 to 1000 rounds", -EINVAL);
	rc = keep_open(argv[1], NULL, &b.keep);
	if (rc < 0)
		die(argv[1], rc);
	b.configuration = make_configuration(b.n);
	b.singles = json_array();
	rc = config_read_document(b.configuration, "first", NULL, stderr, &b.config);
	if (rc < 0)
		die("the configuration", rc);
	printf("%u policies, %u edits, %u rounds: least and median ms\n\n", b.n, b.n_edits,
		b.rounds);
	measure(&b, "set the limit of all", set_all(&b));
	measure(&b, "add, remove and set", renew_some(&b));
	keep_close(b.keep);
	json_decref(b.configuration);
	json_decref(b.singles);
	config_free(b.config);
	return 0;
}
