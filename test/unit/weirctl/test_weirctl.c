/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tests weirctl's commands against a table of replies. test/net/weirctl.py tests the socket.
 */
#include "check.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "field.h"
#include "human.h"

/* --- a limiter with a table of replies ------------------------------------------------------- */

struct row {
	const char *request, *value;
	unsigned from; /* pauses before this reply; the last such row wins */
};

struct canned {
	struct source source;
	const struct row *rows; /* the last one has no request */
	unsigned pauses, asked;
	double seconds; /* length of a pause */
};

static int canned_ask(struct source *source, const char *request, json_t **value)
{
	struct canned *canned = (struct canned *)source;
	const char *text = "null";

	canned->asked++;
	for (const struct row *row = canned->rows; row->request; row++)
		if (strcmp(row->request, request) == 0 && canned->pauses >= row->from)
			text = row->value;
	*value = NULL;
	if (strcmp(text, "hangs up") == 0)
		return -ECONNRESET;
	*value = json_loads(text, JSON_DECODE_ANY, NULL);
	if (!*value)
		fail_msg("the test's own reply is no JSON: %s", text);
	return 0;
}

static double canned_pause(struct source *source, unsigned ms)
{
	struct canned *canned = (struct canned *)source;

	(void)ms;
	canned->pauses++;
	return canned->seconds;
}

static struct canned canned_make(const struct row *rows)
{
	return (struct canned){
		.source = {.ask = canned_ask, .pause = canned_pause}, .rows = rows, .seconds = 2};
}

/* Returns the text that a command prints, to be freed. */
static char *printed_document(
	const char *name, const struct request *request, struct canned *canned)
{
	const struct command *command = command_find(name);
	json_t *document;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct view *view = view_new();

	assert_non_null(command);
	assert_int_equal(command_gather(command, &canned->source, request, &document), 0);
	assert_int_equal(command->print(document, view), 0);
	assert_int_equal(view_print(view, out, 0), 0);
	view_free(view);
	fclose(out);
	json_decref(document);
	return text;
}

static void assert_prints(const char *name, const struct row *rows, const char *want)
{
	struct canned canned = canned_make(rows);
	char *got = printed_document(name, &(struct request){0}, &canned);

	assert_string_equal(got, want);
	free(got);
}

/* Returns true if the text has the row: a label, blanks and the value. */
static bool has_row(const char *text, const char *label, const char *value)
{
	size_t len = strlen(label);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, label, len) == 0 && line[len] == ' ') {
			const char *rest = line + len + strspn(line + len, " ");

			if (strncmp(rest, value, strlen(value)) == 0 && rest[strlen(value)] == '\n')
				return true;
		}
	}
	return false;
}

/* Asserts that the text has these rows, pairs of label and value ended by NULL. */
static void assert_rows(const char *text, const char *const *rows)
{
	for (; *rows; rows += 2)
		if (!has_row(text, rows[0], rows[1]))
			fail_msg("no row %s = %s in:\n%s", rows[0], rows[1], text);
}

#define ASSERT_ROWS(text, ...) assert_rows(text, (const char *const[]){__VA_ARGS__, NULL})

/* Returns the result of a gather that fails. */
static int gather_fails(const char *name, const struct request *request, struct canned *canned)
{
	json_t *document = NULL;
	int ret = command_gather(command_find(name), &canned->source, request, &document);

	json_decref(document);
	return ret;
}

/* --- numbers --------------------------------------------------------------------------------- */

static void amounts(void **state)
{
	static const struct {
		double value;
		const char *unit, *want;
	} cases[] = {
		{0, "bit/s", "0 bit/s"},
		{1, "bit/s", "1 bit/s"},
		{999, "bit/s", "999 bit/s"},
		{999.4, "bit/s", "999 bit/s"},
		{999.5, "bit/s", "1.00 kbit/s"},
		{1000, "bit/s", "1.00 kbit/s"},
		{12400000, "bit/s", "12.4 Mbit/s"},
		{9994999, "bit/s", "9.99 Mbit/s"},
		{9995001, "bit/s", "10.0 Mbit/s"},
		{99950001, "bit/s", "100 Mbit/s"},
		{999499999, "bit/s", "999 Mbit/s"},
		{999500000, "bit/s", "1.00 Gbit/s"},
		{0.25, "/s", "0.25 /s"},
		{-2500, "bit/s", "-2.50 kbit/s"},
		{5e11, "B", "500 GB"},
		{4.6e18, "B", "4.60 EB"},
		{4.6e22, "B", "46000 EB"},
		{7, "", "7"},
		{7000, "", "7.00 k"},
	};
	static const struct {
		double bytes;
		const char *want;
	} memory_cases[] = {{0, "0 B"}, {1, "1 B"}, {1023, "1023 B"}, {1023.6, "1.00 KiB"},
		{1024, "1.00 KiB"}, {226615296, "216 MiB"}, {671088640, "640 MiB"},
		{1023.4 * 1024, "1023 KiB"}, {1099511627776.0, "1.00 TiB"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[HUMAN_MAX];

		assert_string_equal(
			human_amount(cases[i].value, cases[i].unit, text), cases[i].want);
	}
	for (size_t i = 0; i < sizeof(memory_cases) / sizeof(*memory_cases); i++) {
		char text[HUMAN_MAX];

		assert_string_equal(
			human_memory(memory_cases[i].bytes, text), memory_cases[i].want);
	}
}

static void durations(void **state)
{
	static const struct {
		double seconds;
		const char *want;
	} cases[] = {
		{0, "0 s"},
		{-1, "0 s"},
		{0.0000004, "0.40 us"},
		{0.0009994, "999 us"},
		{0.0009996, "1.00 ms"},
		{0.25, "250 ms"},
		{0.9994, "999 ms"},
		{0.9996, "1.00 s"},
		{59.94, "59.9 s"},
		{60, "1 min 0 s"},
		{3599.9, "59 min 59 s"},
		{3600, "1 h 0 min"},
		{12000, "3 h 20 min"},
		{86399, "23 h 59 min"},
		{86400, "1 d 0 h"},
		{12.5 * 86400, "12 d 12 h"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[HUMAN_MAX];

		assert_string_equal(human_seconds(cases[i].seconds, text), cases[i].want);
	}
}

/* --- tables ---------------------------------------------------------------------------------- */

static void columns(void **state)
{
	static const struct field fields[] = {
		{"NAME", "n", KIND_TEXT}, {"N", "c", KIND_COUNT}, {"WORDS", "w", KIND_TEXT}};
	json_t *rows = json_loads("[{\"n\": \"a\", \"c\": 12345, \"w\": \"\"},"
				  "{\"n\": \"longer\", \"c\": 1, \"w\": \"z\"},"
				  "{\"n\": \"\xc3\xa9t\xc3\xa9\", \"c\": \"\","
				  " \"w\": \"\\u001b[2J\\u007f\\u009b\"}]",
		0, NULL);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct view *view = view_new();

	(void)state;
	assert_int_equal(fields_list(rows, FIELDS(fields), view), 0);
	assert_int_equal(view_print(view, out, 0), 0);
	view_free(view);
	fclose(out);
	assert_string_equal(text, "NAME        N  WORDS\n"
				  "a       12345\n"
				  "longer      1  z\n"
				  "\xc3\xa9t\xc3\xa9            \\u001b[2J\\u007f\\u009b\n");
	free(text);
	json_decref(rows);
}

static void kinds(void **state)
{
	static const struct {
		const char *json, *path;
		unsigned kind;
		const char *want;
	} cases[] = {
		{"{}", "a", KIND_TEXT, "-"},
		{"{\"a\": null}", "a", KIND_TEXT, "-"},
		{"{\"a\": true, \"b\": false}", "a", KIND_TEXT, "yes"},
		{"{\"a\": {\"b\": \"x\"}}", "a.b", KIND_TEXT, "x"},
		{"{\"a\": {\"b\": \"x\"}}", "a.c", KIND_TEXT, "-"},
		{"{\"a\": 7}", "a.b", KIND_TEXT, "-"},
		{"{\"a\": [\"x\", 2]}", "a", KIND_TEXT, "x, 2"},
		{"{\"a\": {\"src\": \"any\", \"vlan\": 9}}", "a", KIND_TEXT, "vlan 9"},
		{"{\"a\": 9007199254740993}", "a", KIND_COUNT, "9007199254740993"},
		{"{\"a\": \"seven\"}", "a", KIND_MS, "-"},
		{"{\"a\": 1.25}", "a", KIND_REAL, "1.25"},
		{"{\"a\": 250}", "a", KIND_MS, "250 ms"},
		{"{\"a\": 90}", "a", KIND_SECONDS, "1 min 30 s"},
		{"{\"a\": 1e6}", "a", KIND_BITS, "1.00 Mbit/s"},
		{"{\"a\": 1e6}", "a", KIND_PACKETS, "1.00 Mpkt/s"},
		{"{\"a\": 10000}", "a", KIND_MBITS, "10.0 Gbit/s"},
		{"{\"a\": 4294967295}", "a", KIND_MBITS, "-"},
		{"{\"a\": 0}", "a", KIND_MBITS, "-"},
		{"{\"a_bps\": 8000, \"a_per_s\": 1}", "a", KIND_RATE, "8.00 kbit/s"},
		{"{\"a_per_s\": 1.5}", "a", KIND_RATE, "1.50 /s"},
		{"{\"a\": 1.5}", "a", KIND_RATE, "-"},
		{"{\"a_bytes\": 5e11}", "a", KIND_UNITS, "500 GB"},
		{"{\"a\": 500}", "a", KIND_UNITS, "500"},
		{"{\"a\": 500, \"count\": \"packets\"}", "a", KIND_UNITS, "500 pkt"},
		{"{\"a\": 500, \"count\": \"flows\"}", "a", KIND_UNITS, "500 flows"},
		{"{\"a_per_s\": 5, \"count\": \"packets\"}", "a", KIND_RATE, "5 pkt/s"},
		{"{\"a\": {\"src\": \"any\"}}", "a", KIND_TEXT, "any"},
		{"{\"a\": {}}", "a", KIND_TEXT, "-"},
		{"{\"a\": 1}", "a", KIND_PACKET_COUNT, "1 packet"},
		{"{\"a\": 3190}", "a", KIND_PACKET_COUNT | NONZERO, "3190 packets"},
		{"{\"a\": 3190000}", "a", KIND_BYTES, "3.19 MB"},
		{"{\"a\": 226615296}", "a", KIND_MEMORY, "216 MiB"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct field field = {"", cases[i].path, cases[i].kind};
		json_t *json = json_loads(cases[i].json, 0, NULL);
		char text[FIELD_TEXT_MAX];

		assert_non_null(json);
		assert_string_equal(field_text(json, &field, text), cases[i].want);
		json_decref(json);
	}
}

/* Text longer than the room is cut, and memory next to the room stays unchanged. */
static void long_text(void **state)
{
	const struct field field = {"", "a", KIND_TEXT};
	char text[FIELD_TEXT_MAX], name[2 * FIELD_TEXT_MAX];
	json_t *json, *list = json_array();

	(void)state;
	memset(name, 'x', sizeof(name));
	for (unsigned i = 0; i < 40; i++)
		json_array_append_new(list, json_stringn(name, sizeof(name) / 13));
	json = json_pack("{s:o}", "a", list);
	assert_int_equal(strlen(field_text(json, &field, text)), FIELD_TEXT_MAX - 1);
	json_decref(json);
	json = json_pack("{s:s%}", "a", name, sizeof(name));
	assert_int_equal(strlen(field_text(json, &field, text)), FIELD_TEXT_MAX - 1);
	json_decref(json);
}

/* --- pages ----------------------------------------------------------------------------------- */

#define PEER(name, state) "{\"name\": \"" name "\", \"state\": \"" state "\"}"

static void pages(void **state)
{
	static const struct row rows[] = {
		{"/weir/peers", "{\"next\": 1, \"alive\": 2, \"peers\": [" PEER("a", "self") "]}",
			0},
		{"/weir/peers,1",
			"{\"next\": 3, \"peers\": [" PEER("b", "alive") "," PEER("c", "lost") "]}",
			0},
		{"/weir/peers,3", "{\"next\": null, \"peers\": [" PEER("d", "alive") "]}", 0}, {0}};

	(void)state;
	assert_prints("peers", rows,
		"PEER  ADDRESS  STATE  LAST SEEN  CONFIRMED  RESTARTS  FORMAT  NOT READ  KEY  LEDGER  INVALID"
		"  IMPLAUSIBLE  REFUSED  REFUSED AS  MISMATCH\n"
		"a     -        self           -          -         -       -         -  -    -             -"
		"            -        -  -           -\n"
		"b     -        alive          -          -         -       -         -  -    -             -"
		"            -        -  -           -\n"
		"c     -        lost           -          -         -       -         -  -    -             -"
		"            -        -  -           -\n"
		"d     -        alive          -          -         -       -         -  -    -             -"
		"            -        -  -           -\n");
}

/* Pages of one policy's edges: the parameter is the name and the start of the page. */
static void pages_of_a_name(void **state)
{
	static const struct row rows[] = {
		{"/weir/ledger,video",
			"{\"name\": \"video\", \"limit_bps\": 1000000, \"next\": 1, \"edges\": "
			"[{\"peer\": \"b\", \"alive\": true}]}",
			0},
		{"/weir/ledger,video,1",
			"{\"next\": null, \"edges\": [{\"peer\": \"c\", \"promised_bps\": "
			"8000}]}",
			0},
		{0}};
	struct canned canned = canned_make(rows);
	char *got = printed_document("ledger", &(struct request){.word = "video"}, &canned);

	(void)state;
	ASSERT_ROWS(got, "limit", "1.00 Mbit/s");
	assert_non_null(strstr(got, "\nb          yes"));
	assert_non_null(strstr(got, "\nc          -"));
	assert_non_null(strstr(got, "8.00 kbit/s"));
	free(got);
}

/* --- policies -------------------------------------------------------------------------------- */

#define POLICY_PAGE(next, rows)                                                     \
	"{\"at_ms\": 1.0, \"next\": " next ", \"columns\": [\"name\", \"count\", "  \
	"\"limit_per_s\", \"demand_per_s\", \"passed_packets\", \"passed_units\", " \
	"\"dropped_packets\", \"allocator\", \"limit_by\"], \"policies\": [" rows "]}"

static const struct row three_policies[] = {
	{"/weir/policy_stats",
		POLICY_PAGE("2", "[\"a\", \"bytes\", 1000, 1.25, 3, 400, 1, \"fps\", null]"), 0},
	{"/weir/policy_stats,2",
		POLICY_PAGE("null", "[\"b\", \"bytes\", null, 3.75, 0, 0, 1, \"quota\", null], "
				    "[\"c\", \"packets\", 7.5, 20, 9, 9, 9, \"fps\", null]"),
		0},
	{"/weir/policies", "{\"next\": 2, \"policies\": [\"a\", \"gone\"]}", 0},
	{"/weir/policies,2", "{\"next\": null, \"policies\": [\"b\", \"c\"]}", 0},
	{"/weir/policy,a",
		"{\"name\": \"a\", \"limit_bps\": 8000, \"demand_bps\": 10, \"dropped\": {\"packets\": 1}}",
		0},
	{"/weir/policy,b", "{\"name\": \"b\", \"demand_bps\": 30, \"dropped\": {\"packets\": 1}}",
		0},
	{"/weir/policy,c", "{\"name\": \"c\", \"demand_per_s\": 20, \"dropped\": {\"packets\": 9}}",
		0},
	{"/weir/quota", "{\"quotas\": 1}", 0},
	{"/weir/quota,c",
		"{\"name\": \"c\", \"total_bytes\": 5e11, \"remaining_bytes\": 1e9, "
		"\"exhausted_in_s\": 90}",
		0},
	{0},
};

/* The names in the first column, in order. */
static void assert_policies(const struct request *request, const char *want)
{
	struct canned canned = canned_make(three_policies);
	char *got = printed_document("policies", request, &canned), names[16] = "", *line = got;

	while ((line = strchr(line, '\n')) && line[1])
		strncat(names, ++line, 1);
	assert_string_equal(names, want);
	free(got);
}

static void policies(void **state)
{
	(void)state;
	assert_policies(&(struct request){0}, "abc");
	assert_policies(&(struct request){.word = "2"}, "ab");
	assert_policies(&(struct request){.word = "7"}, "abc");
	assert_policies(&(struct request){.sort = "rate"}, "bca");
	assert_policies(&(struct request){.sort = "drops"}, "cab");
	assert_policies(&(struct request){.sort = "drops", .word = "1"}, "c");
	assert_true(policies_sort_known("rate") && policies_sort_known("drops"));
	assert_false(policies_sort_known("") || policies_sort_known("name"));
}

/* A short list needs one page only. */
static void policies_few(void **state)
{
	struct canned canned = canned_make(three_policies);

	(void)state;
	free(printed_document("policies", &(struct request){.word = "1"}, &canned));
	assert_int_equal(canned.asked, 1);
}

/* The document has the members of /weir/policy. */
static void policies_form(void **state)
{
	static const char want[] =
		"{\"name\": \"a\", \"count\": \"bytes\", \"allocator\": \"fps\", \"limit_by\": "
		"\"configuration\", \"limit_bps\": 8000.0, \"local_limit_bps\": null, "
		"\"demand_bps\": 10.0, \"global_demand_bps\": null, \"passed\": {\"packets\": 3, "
		"\"bytes\": 400}, \"dropped\": {\"packets\": 1}, \"over\": {}}";
	struct canned canned = canned_make(three_policies);
	json_t *document, *expected = json_loads(want, 0, NULL);

	(void)state;
	assert_int_equal(command_gather(command_find("policies"), &canned.source,
				 &(struct request){0}, &document),
		0);
	assert_int_equal(canned.asked, 2);
	assert_non_null(expected);
	assert_true(json_equal(json_array_get(document, 0), expected));
	assert_int_equal(
		json_real_value(json_object_get(json_array_get(document, 2), "demand_per_s")), 20);
	json_decref(expected);
	json_decref(document);
}

/* A list with a child policy has two more columns. */
static void policies_below(void **state)
{
	static const struct row rows[] = {
		{"/weir/policy_stats",
			"{\"next\": null, \"columns\": [\"name\", \"count\", \"limit_per_s\", "
			"\"parent\", \"share_per_s\"], \"policies\": [[\"link\", \"bytes\", 2000, "
			"null, null], [\"client\", \"bytes\", 1000, \"link\", 500]]}",
			0},
		{0},
	};
	struct canned canned = canned_make(rows);
	char *got = printed_document("policies", &(struct request){0}, &canned);

	(void)state;
	assert_non_null(strstr(got, "POLICY  PARENT"));
	assert_non_null(strstr(got, "MAY HAVE"));
	assert_non_null(strstr(got, "client  link"));
	assert_non_null(strstr(got, "4.00 kbit/s"));
	assert_null(strstr(got, "UNTIL"));
	free(got);
	canned = canned_make(three_policies);
	got = printed_document("policies", &(struct request){0}, &canned);
	assert_null(strstr(got, "PARENT"));
	free(got);
}

static void policies_how_many(void **state)
{
	static const char *const words[] = {
		"", "0", "-1", "+1", "1x", "x", " 1", "99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct canned canned = canned_make(three_policies);

		assert_int_equal(
			gather_fails("policies", &(struct request){.word = words[i]}, &canned),
			-EINVAL);
	}
}

static void one_policy(void **state)
{
	struct canned canned = canned_make(three_policies);
	char *got = printed_document("policy", &(struct request){.word = "a"}, &canned);

	(void)state;
	ASSERT_ROWS(got, "limit", "8.00 kbit/s", "dropped", "1 packet");
	assert_null(strstr(got, "guarantee"));
	assert_null(strstr(got, " -\n"));
	free(got);
	assert_int_equal(
		gather_fails("policy", &(struct request){.word = "gone"}, &canned), -ENOENT);
}

/* A policy without a quota has no row. */
static void budgets(void **state)
{
	struct canned canned = canned_make(three_policies);
	char *got = printed_document("quota", &(struct request){0}, &canned);

	(void)state;
	ASSERT_ROWS(got, "quotas", "1");
	assert_null(strstr(got, "messages"));
	assert_non_null(strstr(got, "\nc       500 GB    1.00 GB"));
	free(got);
}

/* One placed policy is shown with its workers. */
static void placements(void **state)
{
#define WORKER(w, rate)                                                               \
	"{\"worker\": " w ", \"buckets\": 128, \"p99_us\": 12.3, \"added_us\": 1.5, " \
	"\"rate_bps\": " rate ", \"others_bps\": 0}"
	static const struct row rows[] = {
		/* Most policies have no placement, so the list of policies stays unused. */
		{"/weir/policies", "hangs up", 0},
		{"/weir/placement", "{\"next\": 1, \"placements\": [\"a\"]}", 0},
		{"/weir/placement,1", "{\"next\": null, \"placements\": [\"b\"]}", 0},
		{"/weir/placement,b",
			"{\"name\": \"b\", \"state\": \"settled\", \"target_us\": 1000, "
			"\"used\": 2, \"rounds\": 7, \"trials\": 1, \"changes\": 1, "
			"\"moved\": 128, \"away\": 0, \"kept_back\": 3, \"called_off\": 0, "
			"\"workers\": [" WORKER("0", "8000") ", " WORKER("1", "4000") "]}",
			0},
		{0},
	};
	struct canned canned = canned_make(rows);
	char *got = printed_document("placement", &(struct request){.word = "b"}, &canned);

	(void)state;
	assert_non_null(strstr(got, "state              settled\n"));
	assert_non_null(strstr(got, "packets kept back  3\n"));
	assert_non_null(
		strstr(got, "\n     1      128  4.00 kbit/s  0 bit/s       12.3 us     1.50 us\n"));
	free(got);
	assert_prints("placement", rows,
		"POLICY  STATE     WANTED  WORKERS  ROUNDS  CHANGED  MOVED  ON THEIR WAY\n"
		"b       settled  1.00 ms        2       7        1    128             0\n");
#undef WORKER
}

static void totals_elsewhere(void **state)
{
	static const struct row rows[] = {
		{"/weir/etcd",
			"{\"state\": \"away\", \"endpoints\": [\"http://a:1\", \"http://b:1\"], "
			"\"user\": \"edge\", \"logged_in\": true, "
			"\"prefix\": \"/weir\", \"error\": \"refused\", \"next\": null, "
			"\"quotas\": [{\"policy\": \"c\", \"name\": \"c:month\", \"total_bytes\": 5e11, "
			"\"drawn_bytes\": 2e9, \"left_bytes\": 1e9, \"as_of_ms_ago\": 20, \"error\": null}, "
			"{\"policy\": \"d\", \"name\": \"d\", \"error\": \"wrong\"}]}",
			0},
		{0},
	};

	struct canned canned = canned_make(rows);
	char *got = printed_document("etcd", &(struct request){0}, &canned);

	(void)state;
	ASSERT_ROWS(got, "state", "away", "endpoints", "http://a:1, http://b:1", "user", "edge",
		"logged in", "yes", "prefix", "/weir", "error", "refused");
	assert_non_null(strstr(got, "c       c:month  500 GB  1.00 GB     2.00 GB  20.0 ms  -\n"));
	assert_non_null(
		strstr(got, "d       d             -        -           -        -  wrong\n"));
	free(got);
}

static void gossip(void **state)
{
	static const struct row rows[] = {
		{"/weir/gossip",
			"{\"sent\": 120, \"sent_bytes\": 12720, \"send_errors\": 1, "
			"\"loans\": {\"requests\": 7, \"unanswered\": 0}, "
			"\"received\": {\"accepted\": 118, \"forged\": 2}}",
			0},
		{0}};

	struct canned canned = canned_make(rows);
	char *got = printed_document("gossip", &(struct request){0}, &canned);

	(void)state;
	ASSERT_ROWS(got, "datagrams sent", "120", "bytes sent", "12.7 kB", "send errors", "1",
		"loan requests sent", "7", "accepted", "118", "forged", "2");
	assert_null(strstr(got, "impossible"));
	assert_null(strstr(got, "unanswered"));
	free(got);
}

static void drops(void **state)
{
	static const struct row rows[] = {
		{"/weir/drops", "{\"limit\": 12, \"new reason\": 3}", 0}, {0}};

	(void)state;
	assert_prints(
		"drops", rows, "REASON      PACKETS\nlimit            12\nnew reason        3\n");
}

/* A surplus is shown only if there is one. */
static void balance(void **state)
{
	static const struct row rows[] = {
		{"/weir/balance",
			"{\"received\": 12, \"transmitted\": 9, \"dropped\": 2, \"waiting\": 1, "
			"\"missing\": 0, \"surplus\": 0, \"in_work\": 128, \"wires\": "
			"[{\"wire\": \"w\", \"received\": 12, \"transmitted\": 9, "
			"\"dropped\": 2, \"waiting\": 1, \"missing\": 0}]}",
			0},
		{0}};

	(void)state;
	assert_prints("balance", rows,
		"received         12\ntransmitted      9\ndropped          2\n"
		"waiting          1\nmissing          0\nin work at most  128\n\n"
		"WIRE  RECEIVED  TRANSMITTED  DROPPED  WAITING  MISSING\n"
		"w           12            9        2        1        0\n");
}

/* --- rates and process ----------------------------------------------------------------------- */

#define COLUMNS                                                                          \
	"\"columns\": [\"name\", \"count\", \"local_limit_per_s\", \"passed_packets\", " \
	"\"passed_units\", \"dropped_packets\", \"dropped_units\"]"
#define STATS(at, next, rows) \
	"{\"at_ms\": " at ", \"next\": " next ", " COLUMNS ", \"policies\": [" rows "]}"

/* Two looks of two pages; between them one policy goes, one comes, one restarts. */
static const struct row two_looks[] = {
	{"/weir/policy_stats",
		STATS("1000.0", "2",
			"[\"a\", \"bytes\", 1000, 10, 1000, 5, 500], "
			"[\"gone\", \"bytes\", 1000, 1, 1, 1, 1]"),
		0},
	{"/weir/policy_stats,2",
		STATS("1000.0", "null",
			"[\"b\", \"packets\", 1.5, 10, 10, 0, 0], "
			"[\"anew\", \"bytes\", null, 10, 10, 0, 0]"),
		0},
	{"/weir/policy_stats",
		STATS("1500.0", "2",
			"[\"a\", \"bytes\", 1000, 20, 2000, 5, 500], "
			"[\"new\", \"bytes\", 1000, 1, 1, 1, 1]"),
		1},
	{"/weir/policy_stats,2",
		STATS("2000.0", "null",
			"[\"b\", \"packets\", 1.5, 11, 11, 3, 3], "
			"[\"anew\", \"bytes\", null, 4, 4, 0, 0]"),
		1},
	{0},
};

/* Rates use the limiter's clock; the policy with most drops is first. */
static void rates(void **state)
{
	static const struct row endless[] = {{"/weir/policy_stats", STATS("1.0", "3", ""), 0},
		{"/weir/policy_stats,3", STATS("1.0", "3", ""), 0}, {0}};
	struct canned canned = canned_make(endless);
	char *one;

	(void)state;
	assert_prints("rates", two_looks,
		"POLICY   LIMIT HERE       PASSES              DROPS\n"
		"b        1.50 pkt/s      1 pkt/s   1 pkt/s  3 pkt/s  3 pkt/s\n"
		"a       8.00 kbit/s  16.0 kbit/s  20 pkt/s  0 bit/s  0 pkt/s\n"
		"anew              -            -         -  0 bit/s  0 pkt/s\n");
	assert_int_equal(gather_fails("rates", &(struct request){0}, &canned), -EBADMSG);
	canned = canned_make(two_looks);
	one = printed_document("rates", &(struct request){.word = "1"}, &canned);
	assert_non_null(strstr(one, "\nb "));
	assert_null(strstr(one, "\na "));
	free(one);
}

#define TRIAL_COLUMNS                                                                     \
	"\"columns\": [\"name\", \"count\", \"local_limit_per_s\", \"dropped_packets\", " \
	"\"dropped_units\", \"trial_limit_per_s\", \"trial_local_limit_per_s\", "         \
	"\"trial_passed_packets\", \"trial_passed_units\", \"trial_dropped_packets\", "   \
	"\"trial_dropped_units\"]"
#define TRIALS(at, rows) \
	"{\"at_ms\": " at ", \"next\": null, " TRIAL_COLUMNS ", \"policies\": [" rows "]}"

/* The trial with most drops is first; a restarted one has no rates yet. */
static void trials(void **state)
{
	static const struct row looks[] = {
		{"/weir/policy_stats",
			TRIALS("1000.0",
				"[\"none\", \"bytes\", 1250000, 9, 9, null, null, null, null, null, "
				"null], "
				"[\"little\", \"bytes\", 1250000, 0, 0, 1250000, 625000, 10, 1000, "
				"0, 0], "
				"[\"anew\", \"bytes\", 1250000, 0, 0, 1250000, 625000, 10, 1000, 9, "
				"900], "
				"[\"much\", \"packets\", 100, 5, 5, 50, 50, 10, 10, 0, 0]"),
			0},
		{"/weir/policy_stats",
			TRIALS("2000.0",
				"[\"none\", \"bytes\", 1250000, 9, 9, null, null, null, null, null, "
				"null], "
				"[\"little\", \"bytes\", 1250000, 0, 0, 1250000, 625000, 510, "
				"626000, 1, 1000], "
				"[\"anew\", \"bytes\", 1250000, 0, 0, 1250000, 625000, 1, 100, 0, "
				"0], "
				"[\"much\", \"packets\", 100, 7, 7, 50, 50, 60, 60, 40, 40]"),
			1},
		{0}};

	(void)state;
	assert_prints("trials", looks,
		"POLICY   LIMIT HERE    DROPS   TRIAL HERE   WOULD PASS   WOULD DROP\n"
		"much      100 pkt/s  2 pkt/s     50 pkt/s     50 pkt/s     40 pkt/s\n"
		"little  10.0 Mbit/s  0 bit/s  5.00 Mbit/s  5.00 Mbit/s  8.00 kbit/s\n"
		"anew    10.0 Mbit/s  0 bit/s  5.00 Mbit/s            -            -\n");
}

static void process(void **state)
{
	static const struct row rows[] = {
		{"/weir/process",
			"{\"uptime_s\": 3, \"control\": {\"busy_share\": 0.0123, \"busy_s\": 1}, "
			"\"workers\": [{\"busy_share\": null, \"busy_s\": 0}], "
			"\"memory\": {\"resident_bytes\": 226615296}, "
			"\"pools\": [{\"name\": \"p\", \"buffers\": 2, \"free\": 1}]}",
			0},
		{0}};

	struct canned canned = canned_make(rows);
	char *got = printed_document("process", &(struct request){0}, &canned);

	(void)state;
	ASSERT_ROWS(got, "uptime", "3.00 s", "resident", "216 MiB");
	assert_null(strstr(got, "heap"));
	assert_non_null(strstr(got, "\ncontrol   1.2 %"));
	assert_non_null(strstr(got, "\nworker 0      -"));
	assert_non_null(strstr(got, "\np           2     1\n"));
	free(got);
}

/* --- status ---------------------------------------------------------------------------------- */

#define TWO_PORTS                                                                   \
	"[{\"name\": \"a\", \"port\": 0, \"link\": \"UP\", \"speed_mbps\": 10000}," \
	" {\"name\": \"b\", \"port\": 1, \"link\": \"DOWN\", \"speed_mbps\": 0}]"

static void status(void **state)
{
	static const struct row rows[] = {{"/info", "{\"version\": \"Weir 9\", \"pid\": 12}", 0},
		{"/weir/config",
			"{\"policies\": 3, \"reload\": \"idle\", \"file\": \"/etc/w.json\"}", 0},
		{"/weir/change", "{\"runs\": {\"words\": \"the file\"}}", 0},
		{"/weir/health", "{\"alarms\": [\"worker 1 is stuck\", \"so is 2\"]}", 0},
		{"/weir/process", "{\"uptime_s\": 65.5}", 0},
		{"/weir/peers",
			"{\"alive\": 1, \"sealed\": true, \"peers\": [" PEER("x", "self") "," PEER(
				"y", "lost") "," PEER("z", "alive") "," PEER("q", "lost") "]}",
			0},
		{"/weir/workers", "[{\"rx_packets\": 10, \"tx_packets\": 5}, {\"rx_packets\": 1}]",
			0},
		{"/weir/workers",
			"[{\"rx_packets\": 1010, \"tx_packets\": 405}, {\"rx_packets\": 2001}]", 1},
		{"/weir/ports", TWO_PORTS, 0},
		{"/ethdev/stats,0", "{\"ibytes\": 100, \"obytes\": 0}", 0},
		{"/ethdev/stats,0", "{\"ibytes\": 1100, \"obytes\": 0}", 1},
		{"/ethdev/stats,1", "{\"ibytes\": 0, \"obytes\": 500}", 0},
		{"/ethdev/stats,1", "{\"ibytes\": 0, \"obytes\": 750}", 1},
		{"/weir/drops", "{\"limit\": 100, \"tx_full\": 0}", 0},
		{"/weir/drops", "{\"limit\": 2100, \"tx_full\": 0}", 1},
		{"/weir/ledger", "{\"state\": \"committed\"}", 0},
		{"/weir/limits", "{\"total\": 3, \"by_schedule\": 2, \"by_override\": 1}", 0}, {0}};

	struct canned canned = canned_make(rows);
	char *got = printed_document("status", &(struct request){0}, &canned);

	(void)state;
	ASSERT_ROWS(got, "limiter", "x", "health", "CRITICAL: 2 peers are lost, 1 link is down",
		"group", "4 limiters, 1 of 3 peers alive, lost: y q; sealed", "alarms",
		"worker 1 is stuck, so is 2", "version", "Weir 9", "pid", "12", "uptime",
		"1 min 5 s", "policies", "3", "mode", "enforcing", "config",
		"/etc/w.json (unchanged)", "timed limits", "3 (by schedule: 2, by override: 1)",
		"ledger", "committed", "workers", "2", "ports", "a UP 10.0 Gbit/s, b DOWN",
		"received", "1.50 kpkt/s, 4.00 kbit/s", "sent", "200 pkt/s, 1.00 kbit/s");
	assert_non_null(strstr(got, "\nlimit       2100  1.00 kpkt/s\n"));
	assert_null(strstr(got, "reload"));
	assert_null(strstr(got, "tx_full"));
	free(got);
}

/* Rows of a server that has only these replies, after two looks. */
static char *status_with(const struct row *rows, double seconds)
{
	struct canned canned = canned_make(rows);

	canned.seconds = seconds;
	return printed_document("status", &(struct request){0}, &canned);
}

/* A server without replies, one without alarms and drops, and one that ends between two looks. */
static void status_of_others(void **state)
{
	static const struct row nothing[] = {{0}};
	static const struct row healthy[] = {{"/weir/health", "{\"alarms\": []}", 0},
		{"/weir/drops", "{\"limit\": 0}", 0},
		{"/weir/config", "{\"file\": \"f.json\", \"shadow\": true}", 0},
		{"/weir/change", "{\"runs\": {\"words\": \"apply; the file differs\"}}", 0}, {0}};
	static const struct row ends[] = {
		{"/weir/workers", "[]", 0}, {"/weir/workers", "hangs up", 1}, {0}};
	struct canned canned = canned_make(ends);
	char *got = status_with(nothing, 2);

	(void)state;
	assert_string_equal(got, "health    OK\nreceived  0 pkt/s, 0 bit/s\n"
				 "sent      0 pkt/s, 0 bit/s\n");
	free(got);
	got = status_with(healthy, 2);
	ASSERT_ROWS(got, "alarms", "none", "drops", "none", "mode", "SHADOW (nothing is enforced)",
		"config", "f.json; running: apply; the file differs");
	free(got);
	assert_int_equal(gather_fails("status", &(struct request){0}, &canned), -ECONNRESET);
	got = status_with(nothing, 0); /* no time between the looks: no rates */
	assert_string_equal(got, "health  OK\n");
	free(got);
}

/* --- reload ---------------------------------------------------------------------------------- */

#define CONFIG(state, last) "{\"reload\": \"" state "\", \"last_reload\": " last "}"
#define REFUSED             "{\"ok\": false, \"took_ms\": 2.5, \"messages\": [\"f.json: policies[0]: no\"]}"

static json_t *reload_document(const struct row *rows, unsigned *pauses)
{
	struct canned canned = canned_make(rows);
	json_t *document;

	assert_int_equal(reload_gather(&canned.source, &(struct request){0}, &document), 0);
	*pauses = canned.pauses;
	return document;
}

static void reload(void **state)
{
	static const struct row rows[] = {{"/weir/reload", "{\"reload\": \"queued\"}", 0},
		{"/weir/config", CONFIG("reading", REFUSED), 0},
		{"/weir/config", CONFIG("reading", "{\"ok\": true, \"took_ms\": 1.5}"), 1},
		{"/weir/config", CONFIG("finishing", "{\"ok\": true, \"took_ms\": 3.5}"), 2},
		{"/weir/config", CONFIG("idle", "{\"ok\": true, \"took_ms\": 3.5}"), 4}, {0}};
	unsigned pauses;
	json_t *document = reload_document(rows, &pauses);

	(void)state;
	assert_int_equal(pauses, 4);
	assert_false(reload_refused(document, stderr));
	json_decref(document);
}

static void reload_that_is_refused(void **state)
{
	static const struct row rows[] = {{"/weir/reload", "{\"reload\": \"started\"}", 0},
		{"/weir/config", CONFIG("idle", "null"), 0},
		{"/weir/config", CONFIG("idle", REFUSED), 1}, {0}};
	unsigned pauses;
	json_t *document = reload_document(rows, &pauses);
	char *text;
	size_t size;
	FILE *err = open_memstream(&text, &size);

	(void)state;
	assert_true(reload_refused(document, err));
	fclose(err);
	assert_non_null(strstr(text, "f.json: policies[0]: no\n"));
	assert_non_null(strstr(text, "nothing has changed"));
	free(text);
	json_decref(document);
}

/* A denied reload ends without a wait and names the rights it needs. */
static void reload_that_is_denied(void **state)
{
	static const struct row rows[] = {
		{"/weir/reload", "{\"denied\": \"it changes\", \"uid\": 7, \"needs\": \"uid 0\"}",
			0},
		{"/weir/config", CONFIG("idle", "{\"ok\": true}"), 0}, {0}};
	unsigned pauses;
	json_t *document = reload_document(rows, &pauses);
	char *text;
	size_t size;
	FILE *err = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(pauses, 0);
	assert_true(reload_refused(document, err));
	fclose(err);
	assert_string_equal(text, "weirctl: not permitted: this needs uid 0\n");
	free(text);
	json_decref(document);
}

#define HELD_UP(last)                                                              \
	"{\"reload\": \"finishing\", \"reload_waits_for\": \"worker 1 (CPU 3)\", " \
	"\"last_reload\": " last "}"

/* A stalled worker holds up the end of a reload; the next reload stays queued. */
static void reload_that_is_held_up(void **state)
{
	static const struct row first[] = {{"/weir/reload", "{\"reload\": \"started\"}", 0},
		{"/weir/config", CONFIG("idle", REFUSED), 0},
		{"/weir/config", HELD_UP("{\"ok\": true, \"took_ms\": 1.5}"), 1}, {0}};
	static const struct row second[] = {{"/weir/reload", "{\"reload\": \"queued\"}", 0},
		{"/weir/config", HELD_UP("{\"ok\": true, \"took_ms\": 1.5}"), 0}, {0}};
	static const struct row short_stall[] = {{"/weir/reload", "{\"reload\": \"started\"}", 0},
		{"/weir/config", CONFIG("idle", REFUSED), 0},
		{"/weir/config", HELD_UP("{\"ok\": true, \"took_ms\": 1.5}"), 1},
		{"/weir/config", CONFIG("idle", "{\"ok\": true, \"took_ms\": 1.5}"), 20}, {0}};
	unsigned pauses;
	json_t *document = reload_document(first, &pauses);
	char *text;
	size_t size;
	FILE *err = open_memstream(&text, &size);

	(void)state;
	assert_in_range(pauses, 2, 100);
	assert_false(reload_refused(document, err));
	json_decref(document);
	document = reload_document(second, &pauses);
	assert_in_range(pauses, 2, 100);
	assert_true(reload_refused(document, err));
	json_decref(document);
	fclose(err);
	assert_string_equal(text, "weirctl: the reload is queued: the one before it waits for "
				  "worker 1 (CPU 3), which is stuck\n");
	free(text);
	document = reload_document(short_stall, &pauses);
	assert_int_equal(pauses, 20);
	assert_null(json_object_get(document, "queued"));
	json_decref(document);
}

/* A reload without a file, and one that never ends. */
static void reload_of_nothing(void **state)
{
	static const struct row no_file[] = {{"/weir/config", CONFIG("idle", "null"), 0}, {0}};
	static const struct row never[] = {{"/weir/reload", "{\"reload\": \"started\"}", 0},
		{"/weir/config", CONFIG("idle", REFUSED), 0}, {0}};
	struct canned canned = canned_make(no_file);

	(void)state;
	assert_int_equal(gather_fails("reload", &(struct request){0}, &canned), -ENOENT);
	canned = canned_make(never);
	assert_int_equal(gather_fails("reload", &(struct request){0}, &canned), -ETIMEDOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts),
		cmocka_unit_test(durations),
		cmocka_unit_test(columns),
		cmocka_unit_test(kinds),
		cmocka_unit_test(long_text),
		cmocka_unit_test(pages),
		cmocka_unit_test(pages_of_a_name),
		cmocka_unit_test(policies),
		cmocka_unit_test(policies_few),
		cmocka_unit_test(policies_form),
		cmocka_unit_test(policies_below),
		cmocka_unit_test(policies_how_many),
		cmocka_unit_test(one_policy),
		cmocka_unit_test(budgets),
		cmocka_unit_test(placements),
		cmocka_unit_test(totals_elsewhere),
		cmocka_unit_test(gossip),
		cmocka_unit_test(drops),
		cmocka_unit_test(balance),
		cmocka_unit_test(rates),
		cmocka_unit_test(trials),
		cmocka_unit_test(process),
		cmocka_unit_test(status),
		cmocka_unit_test(status_of_others),
		cmocka_unit_test(reload),
		cmocka_unit_test(reload_that_is_refused),
		cmocka_unit_test(reload_that_is_denied),
		cmocka_unit_test(reload_that_is_held_up),
		cmocka_unit_test(reload_of_nothing),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests_name("weirctl", tests, NULL, NULL);
}
