/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Turns the answers of a simulated limiter into the metrics text of the exporter.
 */
#include "check.h"
#include "scope.h"

#include <limits.h>

#include "answer_of.h"
#include "boxes.h"
#include "headers.h"
#include "metrics.h"

#define COLUMNS \
	"\"columns\": [\"name\", \"count\", \"limit_per_s\", \"passed_packets\", \"passed_units\"]"

/* A limiter of some policies, two a page, that is reloaded for so many pages. */
struct world {
	struct source source;
	char request[64]; /* the last one */
	unsigned policies, peers, reloads, asked;
	int error; /* /weir/policy_stats returns it */
};

static json_t *stats_page(struct world *world, unsigned start)
{
	json_t *rows = json_array();
	unsigned generation = 1;
	char text[64];

	for (unsigned i = start; i < world->policies && i < start + 2; i++) {
		snprintf(text, sizeof(text), "p%u", i);
		json_array_append_new(rows, json_pack("[s, s, i, i, i]", text, "bytes", 10, i, i));
	}
	if (start && world->reloads) {
		world->reloads--;
		generation = 2;
	}
	return json_pack("{s:i, s:i, s:o, s:o, s:o}", "generation", (int)generation, "total",
		(int)world->policies, "next",
		start + 2 < world->policies ? json_integer(start + 2) : json_null(), "columns",
		json_pack("[s, s, s, s, s]", "name", "count", "limit_per_s", "passed_packets",
			"passed_units"),
		"policies", rows);
}

static json_t *peers_page(const struct world *world)
{
	json_t *peers = json_array();

	json_array_append_new(
		peers, json_pack("{s:s, s:s, s:n}", "name", "us", "state", "self", "differs"));
	for (unsigned i = 0; i < world->peers; i++)
		json_array_append_new(
			peers, json_pack("{s:o, s:s, s:n}", "name", json_sprintf("peer%u", i),
				       "state", i ? "lost" : "alive", "differs"));
	return json_pack("{s:o, s:n}", "peers", peers, "next");
}

static int world_ask(struct source *source, const char *request, json_t **value)
{
	struct world *world = (struct world *)source;
	unsigned start = 0;

	world->asked++;
	*value = json_null();
	if (strcmp(request, "/weir/policy_stats") == 0 ||
		sscanf(request, "/weir/policy_stats,%u", &start) == 1) {
		if (world->error)
			return world->error;
		*value = stats_page(world, start);
	} else if (strcmp(request, "/weir/peers") == 0) {
		*value = peers_page(world);
	} else if (strcmp(request, "/weir/ports") == 0) {
		*value = json_pack("[{s:s, s:i, s:s, s:I}]", "name", "x", "port", 3, "link", "UP",
			"speed_mbps", (json_int_t)4294967295);
	} else if (strcmp(request, "/ethdev/stats,3") == 0) {
		*value = json_pack("{s:i}", "ibytes", 77);
	} else if (strcmp(request, "/weir/config") == 0) {
		*value = json_pack("{s:i}", "policies", (int)world->policies);
	}
	return 0;
}

/* A second request before the reply to the first would be lost. */
static int world_send(struct source *source, const char *request)
{
	struct world *world = (struct world *)source;

	assert_string_equal(world->request, "");
	snprintf(world->request, sizeof(world->request), "%s", request);
	return 0;
}

static int world_receive(struct source *source, const char *request, json_t **value)
{
	struct world *world = (struct world *)source;
	int ret = world_ask(source, world->request, value);

	assert_memory_equal(world->request, request, strlen(request));
	world->request[0] = '\0';
	return ret;
}

static int gather_world(
	struct world *world, unsigned policies, unsigned peers, struct metrics_of *of)
{
	const struct gather_most most = {policies, peers};
	const struct looked_at nothing = {0};
	json_t *document;
	int ret;

	world->source = (struct source){
		.ask = world_ask, .send = world_send, .receive = world_receive};
	*of = (struct metrics_of){.limiter = "l"};
	ret = gather(&world->source, &most, &nothing, &document, &of->policies);
	of->document = document;
	assert_string_equal(world->request, "");
	return ret;
}

static void forget(struct metrics_of *of)
{
	json_decref((json_t *)of->document);
	policy_pages_free(&of->policies);
}

static size_t size_of(const json_t *document, const char *key)
{
	return json_array_size(json_object_get(document, key));
}

static json_int_t left_out_of(const json_t *document, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(document, "left_out"), key));
}

/* Checks how many policies are there, and that the first ones are. */
static void assert_policies(const struct metrics_of *of, unsigned n, unsigned left_out)
{
	unsigned seen = 0;
	char name[16];

	for (const struct policy_page *page = of->policies.first; page; page = page->next)
		for (size_t i = 0; i < page->n; i++) {
			snprintf(name, sizeof(name), "p%u", seen++);
			assert_string_equal(policy_text(page, i, 0), name);
		}
	assert_int_equal(seen, n);
	assert_int_equal(of->policies.n, n);
	assert_int_equal(left_out_of(of->document, "policies"), left_out);
}

/* The exporter counts the policies and peers above the caps and does not request them. */
TEST(test_caps)
{
	static const struct {
		unsigned policies, peers; /* caps */
		unsigned policies_there, peers_there, asked;
	} rows[] = {{UINT_MAX, 100, 7, 3, 8 + 2 + 1 + 4}, {3, 1, 3, 1, 8 + 2 + 1 + 2},
		{0, 0, 0, 0, 8 + 2 + 1 + 1}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world world = {.policies = 7, .peers = 3};
		struct metrics_of of;

		assert_int_equal(gather_world(&world, rows[i].policies, rows[i].peers, &of), 0);
		assert_policies(&of, rows[i].policies_there, 7 - rows[i].policies_there);
		assert_true(of.policies.whole);
		assert_int_equal(size_of(of.document, "peers"), rows[i].peers_there);
		assert_int_equal(left_out_of(of.document, "peers"), 3 - rows[i].peers_there);
		assert_int_equal(world.asked, rows[i].asked);
		forget(&of);
	}
}

/* A reload between pages: they are read again, and if it goes on no policy comes twice. */
TEST(test_reloads)
{
	struct world world = {.policies = 5, .reloads = 2};
	struct metrics_of of;

	assert_int_equal(gather_world(&world, 100, 100, &of), 0);
	assert_policies(&of, 5, 0);
	forget(&of);
	world.reloads = 100;
	assert_int_equal(gather_world(&world, 100, 100, &of), 0);
	assert_policies(&of, 0, 5);
	assert_false(of.policies.whole);
	forget(&of);
}

TEST(test_no_answer)
{
	struct world world = {.error = -ETIMEDOUT};
	struct metrics_of of;

	assert_int_equal(gather_world(&world, 10, 10, &of), -ETIMEDOUT);
	assert_null(of.document);
	world.policies = 1;
	world.error = -ENOENT; /* an older limiter */
	assert_int_equal(gather_world(&world, 10, 10, &of), 0);
	assert_int_equal(size_of(of.document, "ports"), 1);
	forget(&of);
}

static char *written(enum text_format format, const char *limiter, const char *document)
{
	json_t *json = json_loads(document, 0, NULL);
	struct metrics_of of = {limiter, json, policies_of(json)};
	char *text;

	assert_non_null(json);
	text = text_of(format, &of, 1);
	forget(&of);
	return text;
}

/* Removes the lines with help, which are free text, after a check of their form. */
static void remove_help(char *text)
{
	char *at = text, *end;

	while ((at = strstr(at, "# HELP "))) {
		const char *name = at + strlen("# HELP ");

		assert_true(at == text || at[-1] == '\n');
		end = strchr(at, '\n');
		assert_non_null(end);
		assert_memory_equal(name, "weir_", 5);
		assert_in_range(strcspn(name, " "), 6, (size_t)(end - name) - 2);
		memmove(at, end + 1, strlen(end + 1) + 1);
	}
}

/* Compares samples in both formats byte for byte. */
TEST(test_formats)
{
	static const char document[] =
		"{\"up\": true, \"took_s\": 0.25, \"process\": {\"version\": \"9\"}, "
		"\"drops\": {\"limit\": 3}, \"peers\": [{\"name\": \"b\", \"silent_ms\": 1500, "
		"\"alive\": false}], " COLUMNS ", \"policies\": ["
		"[\"p\", \"bytes\", 125000, 4, 400], [\"q\", \"packets\", 1.667, 5, 5], "
		"[\"r\", \"flows\", null, 6, 7]]}";
	static const char first[] = "# TYPE weir_up gauge\n"
				    "weir_up{limiter=\"l\\\"\\\\\\\\u000a\"} 1\n";
	ENDED_BY(free_at) char *old = written(TEXT_PROMETHEUS, "l\"\\\n", document);
	ENDED_BY(free_at) char *open = written(TEXT_OPENMETRICS, "l", document);

	assert_int_equal(strncmp(old, "# HELP weir_up ", 15), 0);
	remove_help(old);
	assert_int_equal(strncmp(old, first, strlen(first)), 0);
	assert_non_null(strstr(old, "# TYPE weir_dropped_packets_total counter\n"));
	assert_non_null(strstr(old, "# TYPE weir_build_info gauge\n"));
	assert_null(strstr(old, "# UNIT"));
	assert_null(strstr(old, "# EOF"));
	assert_non_null(strstr(open, "\n# TYPE weir_build info\n"
				     "weir_build_info{limiter=\"l\",version=\"9\"} 1\n"));
	assert_non_null(
		strstr(open, "\n# TYPE weir_dropped_packets counter\n"
			     "weir_dropped_packets_total{limiter=\"l\",reason=\"limit\"} 3\n"));
	assert_non_null(strstr(open, "\n# TYPE weir_scrape_duration_seconds gauge\n"
				     "# UNIT weir_scrape_duration_seconds seconds\n"
				     "weir_scrape_duration_seconds{limiter=\"l\"} 0.25\n"));
	assert_non_null(strstr(open, "weir_peer_silent_seconds{limiter=\"l\",peer=\"b\"} 1.5\n"));
	assert_non_null(strstr(open, "weir_peer_alive{limiter=\"l\",peer=\"b\"} 0\n"));
	assert_string_equal(open + strlen(open) - 6, "# EOF\n");
}

/* A policy has only the metrics of the unit that it counts. */
TEST(test_policies)
{
	static const char document[] =
		"{" COLUMNS ", \"policies\": [[\"p\", \"bytes\", 125000, 4, 400], "
		"[\"q\", \"packets\", 1.667, 5, 5], [\"r\", \"flows\", null, 6, 7]]}";
	ENDED_BY(free_at) char *text = written(TEXT_PROMETHEUS, "l", document);

	remove_help(text);
	assert_string_equal(text,
		"# TYPE weir_policy_limit_bytes_per_second gauge\n"
		"weir_policy_limit_bytes_per_second{limiter=\"l\",policy=\"p\"} 125000\n"
		"# TYPE weir_policy_limit_packets_per_second gauge\n"
		"weir_policy_limit_packets_per_second{limiter=\"l\",policy=\"q\"} 1.667\n"
		"# TYPE weir_policy_passed_packets_total counter\n"
		"weir_policy_passed_packets_total{limiter=\"l\",policy=\"p\"} 4\n"
		"weir_policy_passed_packets_total{limiter=\"l\",policy=\"q\"} 5\n"
		"weir_policy_passed_packets_total{limiter=\"l\",policy=\"r\"} 6\n"
		"# TYPE weir_policy_passed_bytes_total counter\n"
		"weir_policy_passed_bytes_total{limiter=\"l\",policy=\"p\"} 400\n"
		"# TYPE weir_policy_passed_flows_total counter\n"
		"weir_policy_passed_flows_total{limiter=\"l\",policy=\"r\"} 7\n");
}

/* A child policy has the name of its parent as a second label. Old limiters report no parent. */
TEST(test_parents)
{
	static const struct {
		const char *document, *samples;
	} rows[] = {
		{"{\"columns\": [\"name\", \"count\"], \"policies\": [[\"p\", \"bytes\"]]}", ""},
		{"{\"columns\": [\"name\", \"count\", \"parent\"], \"policies\": "
		 "[[\"top\", \"bytes\", null], [\"p\", \"bytes\", \"top\"]]}",
			"# TYPE weir_policy_parent_info gauge\n"
			"weir_policy_parent_info{limiter=\"l\",policy=\"p\",parent=\"top\"} 1\n"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = written(TEXT_PROMETHEUS, "l", rows[i].document);

		if (text)
			remove_help(text);
		assert_string_equal(text ? text : "", rows[i].samples);
		free(text);
	}
}

TEST(test_help_is_escaped)
{
	struct text old = {0}, open = {0};

	text_help(&old, "a \"b\" \\ \n", TEXT_PROMETHEUS);
	text_help(&open, "a \"b\" \\ \n", TEXT_OPENMETRICS);
	assert_string_equal(old.bytes, "a \"b\" \\\\ \\n");
	assert_string_equal(open.bytes, "a \\\"b\\\" \\\\ \\n");
	free(old.bytes);
	free(open.bytes);
}

TEST(test_accept)
{
	static const struct {
		const char *header;
		enum text_format want;
	} cases[] = {
		{NULL, TEXT_PROMETHEUS},
		{"", TEXT_PROMETHEUS},
		{"*/*", TEXT_PROMETHEUS},
		{"text/html,application/xhtml+xml,*/*;q=0.8", TEXT_PROMETHEUS},
		{"text/plain;version=0.0.4", TEXT_PROMETHEUS},
		{"application/openmetrics-text", TEXT_OPENMETRICS},
		{"application/openmetrics-text; version=1.0.0", TEXT_OPENMETRICS},
		{"Application/OpenMetrics-Text; version=0.0.1", TEXT_OPENMETRICS},
		{"application/openmetrics-text; version=2.0.0", TEXT_PROMETHEUS},
		{"application/openmetrics-text; version=", TEXT_PROMETHEUS},
		/* This is the header of Prometheus 2.42. */
		{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version="
		 "0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
			TEXT_OPENMETRICS},
		{"application/openmetrics-text;q=0.3, text/plain;q=0.5", TEXT_PROMETHEUS},
		{"application/openmetrics-text;q=0", TEXT_PROMETHEUS},
		{"application/openmetrics-text;q=x", TEXT_PROMETHEUS},
		{"application/openmetrics-text;q=nan", TEXT_PROMETHEUS},
		{"application/openmetrics-text;q=9", TEXT_OPENMETRICS},
		{" , ,;;q=, application/openmetrics-text ;q=1 ", TEXT_OPENMETRICS},
		{"application/openmetrics-textual", TEXT_PROMETHEUS},
	};
	char longest[6000];

	for (size_t i = 0; i < COUNT(cases); i++)
		if (accept_format(cases[i].header) != cases[i].want)
			fail_msg("%s", cases[i].header);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(accept_format(longest), TEXT_PROMETHEUS);
}

/* Names are whole and unique, and the kind of value is in the right place. */
TEST(test_hosts)
{
	static const struct host_names names = {
		.names = {"edge.example.net", "weir."}, .n = 2, .machine = "Edge-ams-1"};
	static const char *const ours[] = {"127.0.0.1", "127.0.0.1:9947", "10.0.0.1:80", "[::1]",
		"[2001:db8::1]:9947", "localhost", "LOCALHOST:9947", "localhost.", "edge-ams-1",
		"edge-ams-1:9947", "edge.example.net", "Edge.Example.NET.:443", "weir", "weir.:1"};
	static const char *const others[] = {"", ":", ":9947", "evil.example", "evil.example:9947",
		"localhost.evil.example", "edge-ams-1.evil.example", "127.0.0.1.evil.example",
		"127.0.0.1.", "127.1", "0x7f000001", "2130706433", "::1", "::1:9947", "[::1",
		"[::1]x", "[::1]:x", "[127.0.0.1]", "[evil.example]", "localhost:x",
		"localhost:9947:1", "localhost@evil.example", "xlocalhost", "weir..", ".", "[]",
		"edge-ams-1 ", "edge.example.net/"};
	char longest[600];

	assert_true(host_allowed(&names, NULL));
	for (unsigned i = 0; i < COUNT(ours); i++)
		if (!host_allowed(&names, ours[i]))
			fail_msg("\"%s\" is refused", ours[i]);
	for (unsigned i = 0; i < COUNT(others); i++)
		if (host_allowed(&names, others[i]))
			fail_msg("\"%s\" is allowed", others[i]);
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_false(host_allowed(&names, longest));
	longest[0] = '[';
	longest[sizeof(longest) - 2] = ']';
	assert_false(host_allowed(&names, longest));
	assert_false(host_allowed(&(struct host_names){0}, "."));
	assert_true(host_name_valid("a.b") && !host_name_valid("a:1") && !host_name_valid(""));
}

TEST(test_table)
{
	for (const struct metric *metric = metrics; metric->name; metric++) {
		assert_memory_equal(metric->name, "weir_", 5);
		assert_int_equal(
			strspn(metric->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(metric->name));
		assert_null(strstr(metric->name, "_total"));
		assert_true(strlen(metric->help) > 5);
		assert_true(metric->of == METRIC_OF_LIMITER || metric->label);
		for (const struct metric *other = metrics; other < metric; other++)
			assert_string_not_equal(metric->name, other->name);
	}
}
