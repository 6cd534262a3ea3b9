/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "weirctl talkers" with a table of replies instead of a limiter.
 */
#include "check.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "ctl_options.h"
#include "field.h"
#include "talker_key.h"

/* --- a limiter with a table of replies, each row once ---------------------------------------- */

struct row {
	const char *request, *value;
};

struct canned {
	struct source source;
	const struct row *rows; /* the last one has no request */
	unsigned next, pauses;
};

static int canned_ask(struct source *source, const char *request, json_t **value)
{
	struct canned *canned = (struct canned *)source;
	const struct row *row = &canned->rows[canned->next];

	*value = NULL;
	if (!row->request)
		return -ECONNRESET;
	assert_string_equal(request, row->request);
	canned->next++;
	*value = json_loads(row->value, JSON_DECODE_ANY, NULL);
	assert_non_null(*value);
	return 0;
}

static double canned_pause(struct source *source, unsigned ms)
{
	(void)ms;
	((struct canned *)source)->pauses++;
	return 0;
}

static const struct command *talkers(void)
{
	const struct command *command = command_find("talkers");

	assert_non_null(command);
	return command;
}

static struct canned canned_make(const struct row *rows)
{
	return (struct canned){.source = {.ask = canned_ask, .pause = canned_pause}, .rows = rows};
}

static json_t *gather_talkers(const struct row *rows, const struct request *request)
{
	struct canned canned = canned_make(rows);
	json_t *document;

	assert_int_equal(command_gather(talkers(), &canned.source, request, &document), 0);
	assert_null(canned.rows[canned.next].request);
	return document;
}

/* Returns the printed text, for free(). */
static char *print_talkers(const struct row *rows, const struct request *request, unsigned width)
{
	json_t *document = gather_talkers(rows, request);
	struct view *view = view_new();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_false(talkers()->refused(document, NULL));
	assert_int_equal(talkers()->print(document, view), 0);
	assert_int_equal(view_print(view, out, width), 0);
	view_free(view);
	fclose(out);
	json_decref(document);
	return text;
}

static void assert_prints(const struct row *rows, const struct request *request, const char *want)
{
	char *got = print_talkers(rows, request, 0);

	assert_string_equal(got, want);
	free(got);
}

#define COLUMNS                                                                         \
	"'columns': ['policy', 'verdict', 'bytes', 'stands_for', 'vlan', 'ethertype', " \
	"'source', 'destination', 'protocol', 'source_port', 'destination_port', 'new']"

/* Replaces single quotes, which are easier to read in tables. */
static struct row *rows_of(const char *const (*texts)[2], struct row *rows)
{
	unsigned n = 0;

	for (; texts[n][0]; n++) {
		char *value = strdup(texts[n][1]);

		for (char *at = value; *at; at++)
			*at = *at == '\'' ? '"' : *at;
		rows[n] = (struct row){texts[n][0], value};
	}
	rows[n] = (struct row){NULL, NULL};
	return rows;
}

static void rows_free(struct row *rows)
{
	for (; rows->request; rows++)
		free((char *)(uintptr_t)rows->value);
}

/* Two pages of a limiter that has sampled every packet. */
static const char *const whole[][2] = {
	{"/weir/talkers,", "{'talkers': 7}"},
	{"/weir/talkers_read,7",
		"{'over': false, 'seconds': 1.0, 'seen': 3, 'lost': 0, " COLUMNS ", 'packets': ["
		"['video', 'pass', 1000, 1, null, null, '192.0.2.1', '10.1.0.9', 17, 1000, 53, 0],"
		"['video', 'drop', 1000, 1, null, null, '192.0.2.1', '10.1.0.9', 17, 1000, 53, 0],"
		"['web', 'pass', 500, 1, 5, null, '2001:db8::1', '2001:db8::2', 6, 80, 81, 0]]}"},
	{"/weir/talkers_read,7", "{'over': false, 'seconds': 1.5, 'seen': 3, 'lost': 0, " COLUMNS
				 ", 'packets': []}"},
	{"/weir/talkers_read,7",
		"{'over': false, 'seconds': 2.0, 'seen': 5, 'lost': 0, " COLUMNS ", 'packets': ["
		"[null, 'pass', 60, 1, null, 2054, '02:00:00:00:00:01', 'ff:ff:ff:ff:ff:ff', "
		"null, null, null, 0],"
		"['web', 'drop', 1440, 1, null, null, '192.0.2.1', '10.1.0.7', 17, 1000, 54, 0]]}"},
	{"/weir/talkers_read,7",
		"{'over': true, 'seconds': 2.0, 'seen': 5, 'lost': 0, " COLUMNS ", 'packets': []}"},
	{NULL, NULL},
};

static void by_source(void **state)
{
	struct row rows[8];

	(void)state;
	assert_prints(rows_of(whole, rows), &(struct request){0},
		"all 5 packets of 2.00 s\n"
		"\n"
		"SOURCE             VLAN  POLICY    SHARE    +/-         RATE      +/-     PACKETS  "
		"DROPPED    +/-\n"
		"192.0.2.1             -  several  86.0 %  0.0 %  13.8 kbit/s  0 bit/s  1.50 pkt/s"
		"   66.7 %  0.0 %\n"
		"2001:db8::1           5  web      12.5 %  0.0 %  2.00 kbit/s  0 bit/s  0.50 pkt/s"
		"    0.0 %  0.0 %\n"
		"02:00:00:00:00:01     -  -         1.5 %  0.0 %    240 bit/s  0 bit/s  0.50 pkt/s"
		"    0.0 %  0.0 %\n");
	rows_free(rows);
}

static void by_flow(void **state)
{
	const struct request request = {.by = "flow", .top = 10};
	struct row rows[8];
	char *got = print_talkers(rows_of(whole, rows), &request, 0);

	(void)state;
	assert_non_null(strstr(got, "\nFLOW "));
	assert_non_null(strstr(got, "\n192.0.2.1:1000 > 10.1.0.9:53 udp "));
	assert_non_null(strstr(got, "\n192.0.2.1:1000 > 10.1.0.7:54 udp "));
	assert_non_null(strstr(got, "\n[2001:db8::1]:80 > [2001:db8::2]:81 tcp "));
	assert_non_null(strstr(got, "\n02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff 0x0806 "));
	free(got);
	rows_free(rows);
}

/* Only the first ones; by destination; and by prefixes. */
static void by_prefix(void **state)
{
	const struct request request = {.by = "destination/24", .top = 1};
	struct row rows[8];
	json_t *document = gather_talkers(rows_of(whole, rows), &request), *first;

	(void)state;
	assert_int_equal(json_array_size(json_object_get(document, "talkers")), 1);
	first = json_array_get(json_object_get(document, "talkers"), 0);
	assert_string_equal(
		json_string_value(json_object_get(first, "destination")), "10.1.0.0/24");
	assert_int_equal(json_integer_value(json_object_get(first, "samples")), 3);
	assert_near(field_number(first, "bps"), 3440 * 8 / 2.0, 1e-9);
	assert_near(field_number(document, "bps"), 4000 * 8 / 2.0, 1e-9);
	json_decref(document);
	rows_free(rows);
}

/* A sample has its possible error, the possible size of unseen talkers, and its losses. */
static void by_lot(void **state)
{
	static const char *const some[][2] = {
		{"/weir/talkers, policy=video seconds=5", "{'busy': true}"},
		{"/weir/talkers, policy=video seconds=5", "{'talkers': 8}"},
		{"/weir/talkers_read,8",
			"{'over': false, 'seconds': 5.0, 'seen': 4000, 'lost': 12, " COLUMNS
			", 'packets': ["
			"['video', 'drop', 1000, 1024, 9, null, '192.0.2.1', '10.1.0.9', 17, 1, 2, 0],"
			"['video', 'drop', 1000, 1024, 9, null, '192.0.2.1', '10.1.0.9', 17, 1, 2, 0],"
			"['video', 'drop', 1000, 1024, 9, null, '192.0.2.1', '10.1.0.9', 17, 1, 2, 0],"
			"['video', 'pass', 1000, 1024, 9, null, '192.0.2.2', '10.1.0.9', 17, 1, 2, 0]]}"},
		{"/weir/talkers_read,8",
			"{'over': true, 'seconds': 5.0, 'seen': 4000, 'lost': 12, " COLUMNS
			", 'packets': []}"},
		{NULL, NULL},
	};
	const struct request request = {.word = "video", .for_s = 5};
	struct row rows[8];

	(void)state;
	assert_prints(rows_of(some, rows), &request,
		"4 of 4000 packets in 5.00 s, chosen at random; senders of less than 614 packets/s "
		"can be missing\n"
		"12 more were lost: all rates are too low\n"
		"\n"
		"SOURCE     VLAN  POLICY   SHARE     +/-         RATE          +/-    PACKETS  "
		"DROPPED     +/-\n"
		"192.0.2.1     9  video   75.0 %  56.1 %  4.92 Mbit/s  9.53 Mbit/s  614 pkt/s  "
		"100.0 %  56.1 %\n"
		"192.0.2.2     9  video   25.0 %  75.0 %  1.64 Mbit/s  7.64 Mbit/s  205 pkt/s    "
		"0.0 %  79.3 %\n");
	rows_free(rows);
}

static void nothing_there(void **state)
{
	static const char *const nothing[][2] = {
		{"/weir/talkers, policy=-", "{'talkers': 9}"},
		{"/weir/talkers_read,9",
			"{'over': true, 'seconds': 1.0, 'seen': 0, 'lost': 0, " COLUMNS
			", 'packets': []}"},
		{NULL, NULL},
	};
	const struct request request = {.unmatched = true};
	struct row rows[4];

	(void)state;
	assert_prints(rows_of(nothing, rows), &request, "no packets in 1.00 s\n");
	rows_free(rows);
}

/* Checks the message on standard error. */
static void assert_refused(const char *answer, const char *want)
{
	const char *const texts[][2] = {{"/weir/talkers,unparsed", answer}, {NULL, NULL}};
	const struct request request = {.unparsed = true};
	struct row rows[2];
	json_t *document = gather_talkers(rows_of(texts, rows), &request);
	char *said;
	size_t size;
	FILE *err = open_memstream(&said, &size);

	assert_true(talkers()->refused(document, err));
	fclose(err);
	assert_string_equal(said, want);
	free(said);
	json_decref(document);
	rows_free(rows);
}

static void refusals(void **state)
{
	(void)state;
	assert_refused("{'refused': 'policy: there is none of that name'}",
		"weirctl: talkers: policy: there is none of that name\n");
	assert_refused("{'denied': '/weir/talkers', 'needs': 'the group weir'}",
		"weirctl: not permitted: this needs the group weir\n");
}

/*
 * A limiter that is busy with another request, or forgets this one: weirctl waits for a while, then
 * reports it.
 */
static void others_are_waited_for(void **state)
{
	static const struct row busy[] = {{"/weir/talkers,", "{\"busy\": true}"},
		{"/weir/talkers,", "{\"busy\": true}"}, {0}};
	struct canned canned = canned_make(busy);
	json_t *document;

	(void)state;
	assert_int_equal(command_gather(talkers(), &canned.source, &(struct request){0}, &document),
		-ECONNRESET);
	assert_int_equal(canned.pauses, 2);
	json_decref(document);
}

/* The limiter ends during the request. */
static void limiter_that_ends(void **state)
{
	static const char *const ends[][2] = {{"/weir/talkers,", "{'talkers': 7}"},
		{"/weir/talkers_read,7", "null"}, {"/weir/talkers_end,7", "null"}, {NULL, NULL}};
	struct row rows[4];
	struct canned canned = canned_make(rows_of(ends, rows));
	json_t *document;

	(void)state;
	assert_int_equal(command_gather(talkers(), &canned.source, &(struct request){0}, &document),
		-ENOENT);
	assert_null(canned.rows[canned.next].request);
	json_decref(document);
	rows_free(rows);
}

/* --- words and keys -------------------------------------------------------------------------- */

static void what_can_be_asked(void **state)
{
	static const struct {
		struct request request;
		bool good;
	} cases[] = {
		{{.word = "video", .by = "source"}, true},
		{{.by = "destination"}, true},
		{{.by = "flow", .unmatched = true}, true},
		{{.by = "source/24", .unparsed = true}, true},
		{{.by = "source/32"}, true},
		{{.by = "source/0"}, false},
		{{.by = "source/33"}, false},
		{{.by = "source/"}, false},
		{{.by = "source/2x"}, false},
		{{.by = "flow/24"}, false},
		{{.by = "sources"}, false},
		{{.by = ""}, false},
		{{.word = "video", .unmatched = true}, false},
		{{.unparsed = true, .unmatched = true}, false},
		{{.word = "two words"}, false},
		{{.top = 10000}, true},
		{{.top = 10001}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (talkers()->check(&cases[i].request) != cases[i].good)
			fail_msg("case %zu", i);
}

/* Checks the text of the key of a packet from /weir/talkers_read. */
static void assert_key(const char *by_text, const char *packet, const char *want)
{
	char text[256];
	struct talker_key key;
	struct talker_by by;
	json_t *members, *json;

	snprintf(text, sizeof(text), "%s", packet);
	for (char *at = text; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	members = json_loads(text, 0, NULL);
	assert_non_null(members);
	assert_true(talker_by(by_text, &by));
	talker_key_of(members, &by, &key);
	json = talker_key_json(&key, &by);
	assert_string_equal(json_string_value(json_object_get(json, "talker")), want);
	json_decref(json);
	json_decref(members);
}

static void keys_as_they_are_written(void **state)
{
	(void)state;
	assert_key("source/20", "{'source': '10.1.255.3'}", "10.1.240.0/20");
	assert_key("source/24", "{'source': '2001:db8:1:ffff::1'}", "2001:db8:1::/48");
	assert_key("source/32", "{'source': '10.1.255.3'}", "10.1.255.3");
	assert_key("source/32", "{'source': '2001:db8:1:2:3::1'}", "2001:db8:1:2::/64");
	assert_key("destination", "{'source': '10.1.2.3', 'destination': '10.9.9.9'}", "10.9.9.9");
	assert_key("source/8", "{'source': '02:aa:bb:cc:dd:ee'}", "02:aa:bb:cc:dd:ee");
	assert_key("flow", "{'source': '10.0.0.1', 'destination': '10.0.0.2', 'protocol': 47}",
		"10.0.0.1 > 10.0.0.2 gre");
	assert_key(
		"flow", "{'source': '::1', 'destination': '::2', 'protocol': 99}", "::1 > ::2 99");
	assert_key("source", "{}", "00:00:00:00:00:00");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_source),
		cmocka_unit_test(by_flow),
		cmocka_unit_test(by_prefix),
		cmocka_unit_test(by_lot),
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(refusals),
		cmocka_unit_test(others_are_waited_for),
		cmocka_unit_test(limiter_that_ends),
		cmocka_unit_test(what_can_be_asked),
		cmocka_unit_test(keys_as_they_are_written),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests_name("talkers", tests, NULL, NULL);
}
