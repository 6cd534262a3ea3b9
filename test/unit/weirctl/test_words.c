/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command line of weirctl without a limiter: words, options, keys, health and the order of top.
 */
#include "check.h"

#include <getopt.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_options.h"
#include "health.h"
#include "command.h"
#include "terminal.h"
#include "top.h"

/* --- commands -------------------------------------------------------------------------------- */

/* Expects the command, or a message. */
static void assert_meant(const char *word, const char *want)
{
	char *said;
	size_t size;
	FILE *err = open_memstream(&said, &size);
	const struct command *command = command_meant(commands, word, err);

	fclose(err);
	if (command)
		assert_string_equal(command->name, want);
	else
		assert_non_null(strstr(said, want));
	assert_true(!command == (size > 0));
	free(said);
}

static void commands_meant(void **state)
{
	(void)state;
	assert_meant("status", "status");
	assert_meant("stat", "status");
	assert_meant("policy", "policy"); /* complete, although another one starts the same */
	assert_meant("led", "ledger");
	assert_meant("poli", "weirctl: poli: policies or policy?\n");
	assert_meant("po", "weirctl: po: policies, policy or ports?\n");
	assert_meant("statsu", "did you mean \"status\"?");
	assert_meant("polcies", "did you mean \"policies\"?");
	assert_meant("nonsense", "weirctl: nonsense: no such command: see ");
	assert_meant("", "no such command");
}

/* Each command has a help text, an example that calls it, and a function. */
static void table_of_commands(void **state)
{
	(void)state;
	for (const struct command *each = commands; each->name; each++) {
		size_t len = strlen(each->name);

		assert_true(each->help && strlen(each->help) + 28 <= 80);
		assert_memory_equal(each->example, each->name, len);
		assert_true(each->example[len] == '\0' || each->example[len] == ' ');
		assert_ptr_equal(command_find(each->name), each);
		assert_true(strcmp(each->name, "watch") == 0 || each->run ||
			    ((each->gather || each->asks) && each->print));
		assert_true(!each->names || each->wants || each->takes || each->many);
	}
	assert_null(command_find("nonsense"));
}

/* --- options --------------------------------------------------------------------------------- */

static bool parse_line(const char *line, struct options *options, char words[512])
{
	static char *argv[32];
	int argc = 0;

	snprintf(words, 512, "%s", line);
	for (char *word = strtok_r(words, " ", &words); word && argc < 31;
		word = strtok_r(NULL, " ", &words))
		argv[argc++] = word;
	argv[argc] = NULL;
	optind = 0;
	return options_parse(argc, argv, commands, options);
}

static void options(void **state)
{
	static const struct {
		const char *line;
		bool good;
	} cases[] = {
		{"weirctl status", true},
		{"weirctl stat", true},
		{"weirctl --json -s a.sock -s b.sock status", true},
		{"weirctl policies 5 --sort drops", true},
		{"weirctl watch --interval 0.5 --count 3 policies 5", true},
		{"weirctl --inter 2 watch rates", true},
		{"weirctl top --sort share 20", true},
		{"weirctl check --warning busy=90 --critical alarms=off", true},
		{"weirctl policy", false},
		{"weirctl policy a b", false},
		{"weirctl watch", false},
		{"weirctl watch watch status", false},
		{"weirctl watch reload", false},
		{"weirctl watch policy video", true},
		{"weirctl watch policy set video limit=1Mbit/s", false},
		{"weirctl watch policy remove video", false},
		{"weirctl watch policy apply changes.json", false},
		{"weirctl watch ledger video", true},
		{"weirctl watch ledger forget video", false},
		{"weirctl watch ledger forget --all-unused", false},
		{"weirctl watch explain 10.9.9.9 10.1.2.3 udp 53 53", true},
		{"weirctl watch top", false},
		{"weirctl --interval 1 status", false},
		{"weirctl watch --interval 0 status", false},
		{"weirctl watch --interval nan status", false},
		{"weirctl top --count 0", false},
		{"weirctl top --sort drops", false},
		{"weirctl policies --sort share", false},
		{"weirctl policies --warning a=1", false},
		{"weirctl check --warning bussy=90", false},
		{"weirctl check --warning busy", false},
		{"weirctl check --warning busy=", false},
		{"weirctl check --warning busy=x", false},
		{"weirctl check --warning =1", false},
		{"weirctl names nonsense", false},
		{"weirctl --jsno status", false},
		{"weirctl -s a -n b status", false},
		{"weirctl -x status", false},
		{"weirctl -s", false},
		{"weirctl", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char words[512];
		struct options parsed;

		if (parse_line(cases[i].line, &parsed, words) != cases[i].good)
			fail_msg("%s: not %s", cases[i].line, cases[i].good ? "taken" : "refused");
	}
}

static void options_taken(void **state)
{
	char words[512];
	struct options got;

	(void)state;
	assert_true(parse_line("weirctl -s a -s b --wide watch --interval 2 rates 7", &got, words));
	assert_true(got.watch && got.wide && got.n_boxes == 2);
	assert_string_equal(got.boxes[0].socket, "a");
	assert_string_equal(got.boxes[1].socket, "b");
	assert_string_equal(got.command->name, "rates");
	assert_string_equal(got.request.word, "7");
	assert_true(got.request.interval_s == 2);
}

/* --- names ----------------------------------------------------------------------------------- */

static int three_names(struct source *source, const char *request, json_t **value)
{
	(void)source;
	*value = strcmp(request, "/weir/policies") == 0
			 ? json_pack("{s:[sss], s:n}", "policies", "video", "guests", "guest-wifi",
				   "next")
		 : strcmp(request, "/weir/peers") == 0
			 ? json_pack("{s:[{s:s}], s:n}", "peers", "name", "edge-fra-1", "next")
			 : json_null();
	return 0;
}

static void names(void **state)
{
	static const struct {
		enum names kind;
		const char *text, *want;
	} cases[] = {
		{NAMES_POLICIES, "vidoe", "video"},
		{NAMES_POLICIES, "vid", "video"},
		{NAMES_POLICIES, "guest", "guests"},
		{NAMES_POLICIES, "gu", NULL}, /* two start like this */
		{NAMES_POLICIES, "", NULL},
		{NAMES_POLICIES, "zebra", NULL},
		{NAMES_PEERS, "edge-far-1", "edge-fra-1"},
		{NAMES_PEERS, "edge", "edge-fra-1"},
		{NAMES_NONE, "video", NULL},
	};
	struct source source = {.ask = three_names};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *got = names_meant(&source, cases[i].kind, cases[i].text);

		if (!cases[i].want)
			assert_null(got);
		else
			assert_string_equal(got, cases[i].want);
		free(got);
	}
}

/* --- keys ------------------------------------------------------------------------------------ */

static void keys(void **state)
{
	static const struct {
		const char *text;
		int key;
		unsigned used;
	} cases[] = {
		{"q", 'q', 1},
		{"qd", 'q', 1},
		{"\033[A", KEY_UP, 3},
		{"\033OBx", KEY_DOWN, 3},
		{"\033[5~", KEY_PAGE_UP, 4},
		{"\033[6~q", KEY_PAGE_DOWN, 4},
		{"\033[1;5Cq", KEY_NONE, 6}, /* Ctrl and an arrow: no key, and q is read */
		{"\033[15~q", KEY_NONE, 5},
		{"\033", KEY_NONE, 1},
		{"\033\033[A", KEY_NONE, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned used;

		assert_int_equal(
			terminal_key(cases[i].text, (unsigned)strlen(cases[i].text), &used),
			cases[i].key);
		assert_int_equal(used, cases[i].used);
	}
}

/* --- health ---------------------------------------------------------------------------------- */

#define WELL                                                                              \
	"\"health\": {\"alarms\": [], \"totals_spent\": 0}, \"peers\": {\"alive\": 1, "   \
	"\"peers\": [{}, {}]}, \"ports\": [{\"link\": \"UP\"}], \"ledger\": {\"state\": " \
	"\"committed\"}, \"config\": {\"last_reload\": {\"ok\": true}}, \"rates\": "      \
	"{\"drops_pps\": {\"limit\": 1000, \"quota\": 9, \"tx_full\": 0}}"

static void health(void **state)
{
	static const struct {
		const char *json;
		enum health_state want;
	} cases[] = {
		{"{}", HEALTH_OK}, /* an older server, without the member */
		{"{" WELL "}", HEALTH_OK},
		{"{" WELL ", \"health\": {\"alarms\": [\"stuck\"]}}", HEALTH_WARNING},
		{"{" WELL ", \"health\": {\"totals_spent\": 1}}", HEALTH_WARNING},
		{"{" WELL ", \"peers\": {\"alive\": 0, \"peers\": [{}, {}]}}", HEALTH_WARNING},
		{"{" WELL ", \"peers\": {\"alive\": 0, \"peers\": [{}]}}", HEALTH_OK},
		{"{" WELL ", \"ports\": [{\"link\": \"UP\"}, {\"link\": \"DOWN\"}]}",
			HEALTH_CRITICAL},
		{"{" WELL ", \"ledger\": {\"state\": \"recovering\"}}", HEALTH_WARNING},
		{"{" WELL ", \"ledger\": {\"state\": \"committing\"}}", HEALTH_OK},
		{"{" WELL ", \"ledger\": {\"state\": \"failing\"}}", HEALTH_CRITICAL},
		{"{" WELL ", \"config\": {\"last_reload\": {\"ok\": false}}}", HEALTH_WARNING},
		{"{" WELL ", \"config\": {\"last_reload\": {\"ok\": false, \"superseded\": true}}}",
			HEALTH_OK},
		{"{" WELL ", \"config\": {\"last_reload\": null}}", HEALTH_OK},
		{"{" WELL ", \"rates\": {\"drops_pps\": {\"tx_full\": 1}}}", HEALTH_WARNING},
		{"{" WELL ", \"rates\": null}", HEALTH_OK},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *json = json_loads(cases[i].json, 0, NULL);

		if (health_state(json) != cases[i].want)
			fail_msg("%s: %s", cases[i].json, health_names[health_state(json)]);
		json_decref(json);
	}
	assert_int_equal(health_worse(HEALTH_UNKNOWN, HEALTH_OK), HEALTH_UNKNOWN);
	assert_int_equal(health_worse(HEALTH_UNKNOWN, HEALTH_WARNING), HEALTH_WARNING);
	assert_int_equal(health_worse(HEALTH_CRITICAL, HEALTH_UNKNOWN), HEALTH_CRITICAL);
	assert_int_equal(health_of(1, &(struct health_limits){NAN, NAN}), HEALTH_OK);
	assert_int_equal(health_of(5, &(struct health_limits){1, 5}), HEALTH_CRITICAL);
	assert_int_equal(health_of(4.9, &(struct health_limits){1, 5}), HEALTH_WARNING);
	assert_int_equal(health_of(NAN, &(struct health_limits){1, 5}), HEALTH_OK);
}

static void table_of_metrics(void **state)
{
	unsigned n = 0;

	(void)state;
	while (health_metrics[n].name)
		n++;
	assert_int_equal(n, HEALTH_METRICS);
}

/* --- the order of top ------------------------------------------------------------------------ */

static void assert_order(const struct targets *targets, const char *order, const char *want)
{
	size_t n;
	struct top_row *rows = top_rows(targets, order, &n);
	char got[64] = "";

	for (size_t i = 0; i < n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s%s", i ? " " : "",
			rows[i].box, rows[i].name);
	assert_string_equal(got, want);
	free(rows);
}

static void order_of_top(void **state)
{
	struct target each[] = {
		{.name = (char *)"1"}, {.name = (char *)"2"}, {.name = (char *)"3"}};
	const struct targets targets = {.each = each, .n = 3};

	(void)state;
	each[0].last.document = json_loads(
		"{\"policies\": [{\"name\": \"b\", \"dropped_pps\": 5, \"demand_bps\": 1, "
		"\"share\": 0.5, \"passed_pps\": 1}, {\"name\": \"a\", \"dropped_pps\": null, "
		"\"demand_per_s\": 9, \"share\": null, \"passed_pps\": 3}]}",
		0, NULL);
	each[1].last.document = json_loads(
		"{\"policies\": [{\"name\": \"a\", \"dropped_pps\": 7, \"demand_bps\": 4, "
		"\"share\": 0.6, \"passed_pps\": 2}]}",
		0, NULL);
	assert_order(&targets, NULL, "2a 1b 1a");
	assert_order(&targets, "dropping", "2a 1b 1a");
	assert_order(&targets, "demand", "1a 2a 1b");
	assert_order(&targets, "share", "2a 1b 1a");
	assert_order(&targets, "passing", "1a 2a 1b");
	assert_order(&targets, "name", "1a 2a 1b");
	json_decref(each[0].last.document);
	json_decref(each[1].last.document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_meant),
		cmocka_unit_test(table_of_commands),
		cmocka_unit_test(options),
		cmocka_unit_test(options_taken),
		cmocka_unit_test(names),
		cmocka_unit_test(keys),
		cmocka_unit_test(health),
		cmocka_unit_test(table_of_metrics),
		cmocka_unit_test(order_of_top),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
