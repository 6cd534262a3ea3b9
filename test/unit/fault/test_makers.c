/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Functions that make or read something return an error if a request is refused, and leave nothing.
 * One row each. test_start.c tests the start of a limiter.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curl/curl.h>
#include <sodium.h>

#include "change/edit.h"
#include "change/keep.h"
#include "change/singles.h"
#include "config/describe.h"
#include "config/load.h"
#include "etcd/etcd.h"
#include "etcd/request_table.h"
#include "fault.h"
#include "json/document.h"
#include "json/seen.h"
#include "json/diagnostics.h"
#include "json/values.h"
#include "offload/offload.h"
#include "config/compare.h"
#include "secret/group_keys.h"
#include "store/store.h"
#include "talkers/talkers.h"
#include "telemetry/server.h"

#define PORTS "'ports': {'a': {'device': 'net_null0'}, 'b': {'device': 'net_null1'}}"
#define WIRES "'wires': [{'name': 'w', 'a': 'a', 'b': 'b'}]"
#define GOSSIP                                                            \
	"'gossip': {'roster': [{'name': 'me', 'address': '10.0.0.1:1'}, " \
	"{'name': 'you', 'address': '10.0.0.2:1'}], 'insecure': true}"
#define SOFT "{'name': 'soft', 'match': {'vlan': 1}, 'limit': '1Gbit/s'}"
#define MANY                                                                                 \
	"{'name': 'shaped', 'match': {'dst': '10.0.0.0/8'}, 'limit': '10Mbit/s', 'action': " \
	"'shape', 'slo': {'p99': '50ms'}}, "                                                 \
	"{'name': 'total', 'match': {'vlan': 4}, 'allocator': 'quota', 'total': '1GB'}, "    \
	"{'name': 'firm', 'match': {'vlan': 5}, 'limit': '1Gbit/s', 'guarantee': "           \
	"'hard', 'trial': {'limit': '2Gbit/s'}}, "                                           \
	"{'name': 'timed', 'match': {'vlan': 6}, 'limit': '1Mbit/s', 'schedule': {'zone': "  \
	"'UTC', 'entries': [{'days': 'daily', 'from': '00:00', 'to': '12:00', 'limit': "     \
	"'2Mbit/s'}]}}"
#define TREE                                                                               \
	"{'name': 'top', 'match': {'vlan': 7}, 'limit': '1Gbit/s'}, {'name': 'leaf', "     \
	"'parent': 'top', 'limit': '1Mbit/s', 'guaranteed': '8kbit/s', 'match': [{'src': " \
	"['10.0.0.0/8', '11.0.0.0/8'], 'dst': ['12.0.0.0/8', '13.0.0.0/8']}, {'vlan': 8}]}"
#define WHOLE(policies)                                                           \
	"{'limiter': 'me', 'eal': ['--in-memory'], " PORTS ", " WIRES ", " GOSSIP \
	", 'ledger': {'store': '/nowhere'}, 'policies': [" policies "]}"

static char top[32]; /* for files that are made on disk */

static char *in_top(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static char *quoted(const char *text)
{
	static char copy[4096];

	assert_true(strlen(text) < sizeof(copy));
	strcpy(copy, text);
	for (char *c = copy; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	return copy;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(in_top(name), "w");

	assert_non_null(file);
	assert_true(fputs(quoted(text), file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void write_blank_file(const char *name, int len)
{
	FILE *file = fopen(in_top(name), "w");

	assert_non_null(file);
	assert_int_equal(fprintf(file, "%*s", len, ""), len);
	assert_int_equal(fclose(file), 0);
}

/* Receives messages that are not read. */
static FILE *nowhere;

static int parse(const void *argument)
{
	const char *text = quoted(argument);
	struct config *config = NULL;
	int rc = config_parse(text, strlen(text), "w.json", nowhere, &config);

	assert_true((rc == 0) == (config != NULL));
	if (config != NULL)
		config_describe(config, nowhere);
	config_free(config);
	return rc;
}

static int load(const void *argument)
{
	struct config *config = NULL;
	int rc = config_load(in_top(argument), nowhere, &config);

	assert_true((rc == 0) == (config != NULL));
	config_free(config);
	return rc;
}

static int load_document(const void *argument)
{
	struct diagnostics diagnostics;
	struct seen *seen = NULL;
	json_t *document = NULL;
	int rc;

	diagnostics_init(&diagnostics, nowhere, DIAGNOSTICS_TEXT);
	rc = config_load_document(in_top(argument), &diagnostics, &document, &seen);
	seen_free(seen);
	assert_true((rc == 0) == (document != NULL));
	json_decref(document);
	return rc;
}

/* Reads a file alone, which is longer than the first allocation. */
static int read_document(const void *argument)
{
	struct document document = {0};
	int rc = document_read(&document, in_top(argument), false);

	assert_true(rc || document.len > 4096);
	free(document.text);
	return rc;
}

static int load_values(const void *argument)
{
	struct diagnostics diagnostics;
	json_t *values = NULL;
	int rc;

	diagnostics_init(&diagnostics, nowhere, DIAGNOSTICS_TEXT);
	rc = json_values_load(in_top(argument), &diagnostics, &values);
	assert_int_equal(json_array_size(values), rc ? 0 : 9);
	json_decref(values);
	return rc;
}

/* Existing configurations. */
static struct config *before, *after;

static int differ(const void *argument)
{
	struct config_diff *diff = NULL;
	int rc = config_diff(before, after, "w.json", nowhere, &diff);

	if (rc == 0)
		assert_int_equal(diff->added, 4);
	config_diff_free(diff);
	return rc;
}

static int keep(const void *argument)
{
	json_t *about = json_object(), *configuration = json_object();
	static uint64_t newest;
	struct keep *keep = NULL;
	struct keep_record record = {0};
	uint64_t number = 0;
	int rc = keep_open(in_top(argument), NULL, &keep);

	if (!about || !configuration)
		rc = rc ? rc : -ENOMEM;
	if (rc == 0)
		rc = keep_write(keep, about, configuration, &number);
	assert_true(rc || number > newest);
	newest = rc ? newest : number;
	if (rc == 0)
		rc = keep_confirm(keep, number);
	if (rc == 0)
		rc = keep_read(keep, number, &record);
	if (rc == 0)
		rc = journal_add(keep, about);
	keep_record_free(&record);
	keep_close(keep);
	json_decref(about);
	json_decref(configuration);
	return rc;
}

static int store(const void *argument)
{
	struct store *store = NULL;
	uint64_t epoch;
	int rc = store_open(in_top(argument), &store, &epoch);

	for (uint32_t id = 0; rc == 0 && id < 100; id++)
		rc = store_put(store, 1, id, &epoch, sizeof(epoch));
	store_close(store);
	return rc;
}

/* An edit of a JSON document: before, the edit, and the result. */
struct edition {
	const char *from, *with, *comes;
	int (*make)(json_t *document, json_t *with);
};

static json_t *read_json(const char *text)
{
	return json_loads(quoted(text), 0, NULL);
}

/* Checks that the edit has its complete result, or that nothing has changed. */
static int change_json(const void *argument)
{
	const struct edition *edition = argument;
	json_t *document = read_json(edition->from), *with = read_json(edition->with);
	json_t *was = read_json(edition->from), *comes = read_json(edition->comes);
	int rc = document && with && was && comes ? edition->make(document, with) : -ENOMEM;

	assert_true(rc == -ENOMEM || rc == 0);
	if (document && was && comes)
		assert_true(json_equal(document, rc ? was : comes));
	json_decref(document);
	json_decref(with);
	json_decref(was);
	json_decref(comes);
	return rc;
}

static int edit(json_t *document, json_t *with)
{
	return policy_edits_apply(document, with, nowhere);
}

static int carry(json_t *document, json_t *with)
{
	int rc = singles_carry(document, json_object_get(with, "running"),
		json_object_get(with, "singles"), nowhere);

	assert_true(rc || json_array_size(json_object_get(with, "singles")) == 3);
	return rc;
}

#define ONE_AT(limit) "{'name': 'a', 'match': {'vlan': 1}, 'limit': '" limit "'}"
#define TWO           "{'name': 'b', 'match': {'vlan': 2}, 'limit': '3Mbit/s'}"
/* More than a list holds without an allocation. */
#define MORE                                                                                   \
	"{'name': '1'}, {'name': '2'}, {'name': '3'}, {'name': '4'}, {'name': '5'}, {'name': " \
	"'6'}, {'name': '7'}, {'name': '8'}"
#define GONE "{'name': 'c', 'match': {'vlan': 3}, 'limit': '4Mbit/s'}"

static const struct edition set_limit = {
	.from = "{'policies': [" TWO ", " ONE_AT("1Mbit/s") "]}",
	.with = "{'do': 'set', 'name': 'a', 'keys': {'limit': '2Mbit/s', 'match.vlan': 1}}",
	.comes = "{'policies': [" TWO ", " ONE_AT("2Mbit/s") "]}",
	.make = edit,
};
static const struct edition add_one = {
	.from = "{}",
	.with = "{'do': 'add', 'name': 'a', 'keys': {'limit': '2Mbit/s', 'match.vlan': 1}}",
	.comes = "{'policies': [" ONE_AT("2Mbit/s") "]}",
	.make = edit,
};
static const struct edition add_ninth = {
	.from = "{'policies': [" MORE "]}",
	.with = "{'do': 'add', 'name': 'a', 'keys': {'limit': '2Mbit/s', 'match.vlan': 1}}",
	.comes = "{'policies': [" MORE ", " ONE_AT("2Mbit/s") "]}",
	.make = edit,
};
static const struct edition carry_over = {
	.from = "{'policies': [" GONE ", " MORE ", " ONE_AT("1Mbit/s") "]}",
	.with = "{'running': {'policies': [" MORE ", " ONE_AT(
		"2Mbit/s") ", " TWO "]}, 'singles': [{'policy': "
			   "'a', 'was': " ONE_AT(
				   "1Mbit/s") "}, {'policy': 'b', 'was': null}, {'policy': 'c', "
					      "'was': " GONE "}]}",
	.comes = "{'policies': [" MORE ", " ONE_AT("2Mbit/s") ", " TWO "]}",
	.make = carry,
};

static int etcd(const void *argument)
{
	static const char *const endpoints[] = {"http://127.0.0.1:1/", "http://127.0.0.1:2"};
	const struct etcd_params params = {.endpoints = endpoints,
		.n_endpoints = 2,
		.ca_file = argument,
		.cert_file = argument,
		.key_file = argument,
		.user = "weir",
		.password_file = argument,
		.prefix = "/weir",
		.limiter = "a",
		.epoch = 1,
		.timeout_ms = 100};
	struct etcd *etcd = NULL;
	int rc = etcd_open(&params, &etcd);

	etcd_close(etcd);
	return rc;
}

/* More names than the first chains hold. Names that exist are found without an allocation, too. */
static int requests(const void *argument)
{
	struct asks asks = {0};
	struct ask *first = NULL, *ask;
	char name[ETCD_NAME_MAX];
	unsigned n = 0;

	do {
		snprintf(name, sizeof(name), "budget-%u", n);
		ask = asks_find(&asks, name);
		first = first ? first : ask;
		n += ask != NULL;
	} while (ask && n < 40);
	assert_int_equal(asks.n, n);
	if (first)
		assert_ptr_equal(asks_find(&asks, "budget-0"), first);
	asks_free(&asks);
	return ask ? 0 : -ENOMEM;
}

static int offload(const void *argument)
{
	struct offload offload;
	int rc = offload_start(&offload);

	if (rc == 0)
		assert_true(offload_stop(&offload, 60000));
	return rc;
}

static int talkers(const void *argument)
{
	struct talkers *talkers = talkers_create(100, 1);

	talkers_free(talkers);
	return talkers ? 0 : -ENOMEM;
}

static uint64_t no_time(void)
{
	return 0;
}

static int listen_at(const void *argument)
{
	const struct telemetry_options options = {.path = in_top(argument), .now_ns = no_time};
	struct telemetry_server *server = NULL;
	int rc = telemetry_listen(&options, &server);

	if (rc == 0)
		telemetry_close(server);
	return rc;
}

static int roster(const void *argument)
{
	struct roster *roster = NULL;
	int rc = group_keys_roster(&before->gossip, &roster);

	roster_destroy(roster);
	return rc;
}

#define BOTH (FAULT_MEMORY | FAULT_KERNEL)

/* Refusals without an error: the text of the only warning, a spare descriptor, and unread files. */
static const struct fault_subject subjects[] = {
	{.name = "parse",
		.run = parse,
		.argument = WHOLE(SOFT ", " MANY),
		.kinds = BOTH,
		.words = -EINVAL,
		.unsaid = 8},
	{.name = "parse one", .run = parse, .argument = WHOLE(SOFT), .kinds = BOTH, .unsaid = 8},
	{.name = "parse what is wrong",
		.run = parse,
		.argument = WHOLE(SOFT ", " SOFT ", {'nam': 3}"),
		.kinds = BOTH,
		.result = -EINVAL},
	{.name = "parse what is no JSON",
		.run = parse,
		.argument = "{'limiter': 'me',, }",
		.kinds = BOTH,
		.result = -EINVAL},
	{.name = "parse a tree",
		.run = parse,
		.argument = WHOLE(TREE),
		.kinds = BOTH,
		.unsaid = 10},
	{.name = "load",
		.run = load,
		.argument = "w.json",
		.kinds = BOTH,
		.words = -EINVAL,
		.unsaid = 8},
	{.name = "load lists",
		.run = load,
		.argument = "lists.json",
		.kinds = BOTH,
		.words = -EINVAL,
		.unsaid = 11},
	{.name = "load what others have",
		.run = load,
		.argument = "main.json",
		.kinds = BOTH,
		.words = -EINVAL,
		.unsaid = 8},
	{.name = "load what includes no file",
		.run = load,
		.argument = "wrong.json",
		.kinds = BOTH,
		.result = -EINVAL},
	{.name = "document",
		.run = load_document,
		.argument = "w.json",
		.kinds = BOTH,
		.words = -EINVAL,
		.unsaid = 8},
	{.name = "read", .run = read_document, .argument = "long.json", .kinds = BOTH},
	{.name = "values", .run = load_values, .argument = "values.json", .kinds = BOTH},
	{.name = "diff", .run = differ, .kinds = BOTH},
	{.name = "keep", .run = keep, .argument = "keep", .kinds = BOTH, .unsaid = 30},
	{.name = "set", .run = change_json, .argument = &set_limit, .kinds = BOTH},
	{.name = "add", .run = change_json, .argument = &add_one, .kinds = BOTH},
	{.name = "add to many", .run = change_json, .argument = &add_ninth, .kinds = BOTH},
	{.name = "carry", .run = change_json, .argument = &carry_over, .kinds = BOTH},
	{.name = "store",
		.run = store,
		.argument = "store",
		.kinds = BOTH,
		.unsaid = 4}, /* the sentinel, whose error the store has */
	{.name = "etcd", .run = etcd, .argument = "/nowhere", .kinds = BOTH},
	{.name = "requests", .run = requests, .kinds = BOTH, .at_least = 43},
	{.name = "offload", .run = offload, .kinds = BOTH},
	{.name = "talkers", .run = talkers, .kinds = BOTH},
	{.name = "telemetry", .run = listen_at, .argument = "socket", .kinds = BOTH, .unsaid = 1},
	{.name = "roster", .run = roster, .kinds = BOTH},
};

TEST(test_makers)
{
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
		fault_try(&subjects[i]);
}

static struct config *config_of(const char *text)
{
	struct config *config = NULL;

	text = quoted(text);
	if (config_parse(text, strlen(text), "w.json", stderr, &config))
		abort();
	return config;
}

static int setup(void **state)
{
	fault_take_json();
	/*
	 * Includes the memory of libcurl. The first call of this function determines the functions.
	 */
	if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, free, realloc, strdup, calloc))
		return -1;
	nowhere = fopen("/dev/null", "w");
	strcpy(top, "/tmp/weir-makers-XXXXXX");
	if (sodium_init() < 0 || !nowhere || !mkdtemp(top))
		return -1;
	write_file("w.json", WHOLE(SOFT "], 'include': ['more.json'"));
	write_file("wrong.json", WHOLE(SOFT "], 'include': [7, {}, ''"));
	write_file("values.json", "{'a': 1} {'b': [2]} {} {} {} {} {} {}\n[]\n");
	write_blank_file("long.json", 5000);
	write_file("more.json", "{'policies': [" MANY "]}");
	write_file("lists.json",
		WHOLE("{'name': 'p', 'limit': '1Gbit/s', 'match': {'src': '@a.txt', 'dst': "
		      "'@b.txt'}}"));
	write_file("a.txt", "10.0.0.0/8\n11.0.0.0/8\n");
	write_file("b.txt", "12.0.0.0/8\n");
	write_file("main.json",
		"{'limiter': 'me', " PORTS ", " WIRES ", " GOSSIP ", 'ledger': {'store': "
		"'/nowhere'}, 'include': 'more.json'}");
	before = config_of(WHOLE(SOFT));
	after = config_of(WHOLE(SOFT ", " MANY));
	return store_create(in_top("store"), (struct store_identity){0});
}

static int teardown(void **state)
{
	char command[64];

	config_free(before);
	config_free(after);
	fclose(nowhere);
	curl_global_cleanup();
	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command);
}

TEST_GROUP(setup, teardown)
