/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Generates server replies with random values and asserts properties of the text output. No row
 * lacks a value. A fault counter of 0 has no row. Every other number has a row, with its unit.
 * Printing leaves the document unchanged, so --json writes raw numbers.
 */
#include "check.h"

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

#define REPLIES   ROUNDS(300)
#define LINES     256
#define PATHS     256
#define PATH_MAX_ 96

/* A complete reply of a view. */
static const struct view_case {
	const char *command, *json;
	bool counters;        /* its table lists counters by name */
	const char *unshown;  /* "|a.b|": numbers that only --json has */
	const char *zero_row; /* "|a.b|": counts with a row even at 0 */
} cases[] = {
	{"status",
		"{'info': {'version': 'Weir 9', 'pid': 12},"
		" 'config': {'file': '/etc/w.json', 'policies': 3, 'reload': 'reading',"
		"  'shadow': false, 'last_reload': {'ok': true, 'at': '2026-11-22T21:48:36Z'}},"
		" 'health': {'alarms': ['worker 1 is stalled']},"
		" 'change': {'runs': {'words': 'the file'}},"
		" 'process': {'uptime_s': 65.5},"
		" 'peers': {'alive': 1, 'sealed': true, 'peers': [{'name': 'x', 'state': 'self'},"
		"  {'name': 'y', 'state': 'lost'}]},"
		" 'ledger': {'state': 'committed'},"
		" 'limits': {'total': 3, 'by_schedule': 2, 'by_override': 1},"
		" 'workers': [{}], 'ports': [{'name': 'a', 'link': 'UP', 'speed_mbps': 10000}],"
		" 'drops': {'limit': 2, 'tx_full': 3, 'queue_full': 4, 'stopped': 0},"
		" 'rates': {'rx_pps': 1500.0, 'tx_pps': 200.0, 'rx_bps': 4000.0, 'tx_bps': 1000.0,"
		"  'drops_pps': {'limit': 1000.0, 'tx_full': 0.5, 'stopped': 0.0}}}",
		true, "|peers.alive|",
		"|info.pid|config.policies|limits.by_schedule|limits.by_override|drops.limit|"
		"drops.tx_full|"},
	{"policy",
		"{'name': 'p', 'match': {'dst': '192.0.2.0/24', 'vlan': 'any'}, 'matches': 2,"
		" 'allocator': 'fps', 'guarantee': 'soft', 'meter': 'token-bucket',"
		" 'count': 'bytes', 'accounting': 'l3', 'per': 'src', 'action': 'shape',"
		" 'mark': 'ef', 'interval_ms': 50, 'limit_bps': 1e7, 'limit_by': 'schedule',"
		" 'limit_until': '2026-11-23T18:00:00Z', 'configured_limit': '5Mbit/s',"
		" 'burst_bytes': 75000,"
		" 'parent': {'name': 'q', 'weight': 2, 'guaranteed_bps': 1e6, 'share_bps': 5e6},"
		" 'children': 3, 'peers_lost': 1, 'effective_limit_bps': 9e6,"
		" 'local_limit_bps': 8e6, 'local_burst_bytes': 6000, 'demand_bps': 1e5,"
		" 'global_demand_bps': 2e5, 'weight': 1.5, 'global_weight': 3.5,"
		" 'regime': 'idle', 'flows_sampled': 4, 'flow_rate_bps': 7e5,"
		" 'passed': {'packets': 3190, 'bytes': 3190000},"
		" 'dropped': {'packets': 2, 'bytes': 2000}, 'over': {'packets': 5},"
		" 'fallback': {'packets': 6},"
		" 'colours': {'aware': true,"
		"  'peak': {'limit_bps': 2e7, 'burst_bytes': 9000, 'local_limit_bps': 1e7},"
		"  'excess': {'limit_bps': 3e7, 'burst_bytes': 8000, 'local_limit_bps': 2e6},"
		"  'green': {'packets': 7, 'bytes': 700, 'action': 'pass'},"
		"  'yellow': {'packets': 8, 'bytes': 800, 'action': 'mark'},"
		"  'red': {'packets': 9, 'bytes': 900, 'action': 'drop'}},"
		" 'sources': {'busy': 3, 'capacity': 4096, 'overflows': 2, 'displaced': 1},"
		" 'classes': {'by': 'dscp', 'backlogged': 2},"
		" 'shape': {'waiting_packets': 3, 'waiting_bytes': 4500, 'marked': 2,"
		"  'delay_us': {'p50': 100, 'p95': 200, 'p99': 300, 'p99_9': 400},"
		"  'dropped': {'queue_full': 1, 'pool_full': 2, 'codel': 3, 'delay_exceeded': 4,"
		"   'stopped': 5}},"
		" 'slo': {'target_us': 1000, 'p99_us': 900, 'p99_10s_us': 800, 'met': true},"
		" 'trial': {'limit_bps': 4e6, 'local_limit_bps': 2e6, 'burst_bytes': 3000,"
		"  'meter': 'token-bucket', 'age_s': 90, 'passed': {'packets': 11},"
		"  'dropped': {'packets': 12, 'bytes': 1200}}}",
		false, "||",
		"|matches|parent.weight|weight|global_weight|passed.packets|passed.bytes|"
		"dropped.packets|sources.busy|sources.capacity|classes.backlogged|"
		"shape.waiting_packets|trial.passed.packets|trial.dropped.packets|"
		"burst_bytes|local_burst_bytes|colours.peak.burst_bytes|colours.excess.burst_bytes|"
		"trial.burst_bytes|"},
	{"policy",
		"{'name': 'p', 'count': 'packets', 'limit_per_s': 100, 'local_limit_per_s': 50,"
		" 'demand_per_s': 7, 'flow_rate_per_s': 3, 'passed': {'packets': 1}}",
		false, "||", "|passed.packets|"},
	{"gossip",
		"{'sent': 120, 'sent_bytes': 12720, 'received_bytes': 11000, 'send_errors': 1,"
		" 'socket_drops': 2, 'wrong_source': 3, 'unknown_policy': 4, 'implausible': 5,"
		" 'received': {'accepted': 118, 'forged': 2, 'replay': 0}}",
		true, "||", "|sent|sent_bytes|received_bytes|"},
	{"ledger",
		"{'state': 'committed', 'identity': 'ab', 'neighbours_of_other_ledgers': 1,"
		" 'messages_of_other_ledgers': 2, 'invalid_statements': 3, 'store': '/var/lib/w',"
		" 'error': 'disk', 'epoch': 4, 'began_without_memory': false,"
		" 'recovering_policies': 5, 'rounds': 15, 'failures': 1, 'last_round_ms': 12.5,"
		" 'longest_round_ms': 49.5, 'lease_ms': 5000, 'expired': 2, 'messages_sent': 16,"
		" 'messages_received': 12, 'malformed': 1, 'grants': 2, 'adoptions': 3,"
		" 'each': [{'name': 'p', 'limit_bps': 1e7}]}",
		false, "||", "|epoch|rounds|messages_sent|messages_received|"},
	{"ledger",
		"{'name': 'p', 'limit_bps': 1e7, 'share_bps': 5e6, 'balance_bps': 4e6,"
		" 'usable_bps': 3e6, 'usable_for_ms': 4860, 'free_bps': 2e6, 'in_flight_bps': 1e6,"
		" 'promised_bps': 9e5, 'inherited_bps': 8e5, 'recovering': false,"
		" 'edges': [{'peer': 'y', 'alive': true}]}",
		false, "||", "||"},
	{"process",
		"{'limiter': 'x', 'version': '9', 'pid': 12, 'uptime_s': 3.5,"
		" 'memory': {'resident_bytes': 226615296, 'heap_bytes': 671088640,"
		"  'heap_used_bytes': 201326592}, 'pools': [{'name': 'p', 'buffers': 2, 'free': 1}]}",
		false, "||",
		"|pid|memory.resident_bytes|memory.heap_bytes|memory.heap_used_bytes|"},
};

/* --- random values --------------------------------------------------------------------------- */

static uint64_t seed;

static unsigned random_below(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % n;
}

/* A number that is not 0, of any size that a reply can hold. */
static json_t *random_number(bool whole)
{
	static const double sizes[] = {1, 999, 1000, 1024, 65536, 1e6, 4294967295.0, 1e12};
	double value = sizes[random_below(8)] + random_below(100);

	return whole ? json_integer((json_int_t)value) : json_real(value + 0.25);
}

static json_t *random_value(const json_t *old)
{
	switch (random_below(6)) {
	case 0:
		return json_integer(0);
	case 1:
		return json_null();
	case 2:
		return NULL; /* the server does not have it */
	case 3:
		return json_string("");
	case 4:
		return random_number(json_is_integer(old));
	default:
		return json_deep_copy(old);
	}
}

/* --- members of a document ------------------------------------------------------------------- */

struct paths {
	char path[PATHS][PATH_MAX_];
	unsigned n;
};

static bool is_listed(const char *list, const char *word)
{
	char entry[PATH_MAX_ + 4];

	snprintf(entry, sizeof(entry), "|%s|", word);
	return strstr(list, entry) != NULL;
}

/* Adds the paths of all members that are no objects and no lists. */
static void collect(const json_t *object, const char *prefix, struct paths *paths)
{
	const char *name;
	json_t *member;

	json_object_foreach ((json_t *)object, name, member) {
		char path[PATH_MAX_];

		snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", name);
		if (json_is_object(member)) {
			collect(member, path, paths);
		} else if (!json_is_array(member)) {
			assert_true(paths->n < PATHS);
			strcpy(paths->path[paths->n++], path);
		}
	}
}

/* Returns the object that holds the member, whose name is written to `name`. */
static json_t *holder_of(json_t *document, const char *path, const char **name)
{
	const char *dot;

	while ((dot = strchr(path, '.'))) {
		char member[PATH_MAX_];

		snprintf(member, sizeof(member), "%.*s", (int)(dot - path), path);
		document = json_object_get(document, member);
		path = dot + 1;
	}
	*name = path;
	return document;
}

static json_t *member_of(json_t *document, const char *path)
{
	const char *name;
	json_t *holder = holder_of(document, path, &name);

	return json_object_get(holder, name);
}

/* Takes the value over; NULL removes the member. */
static void put_member(json_t *document, const char *path, json_t *value)
{
	const char *name;
	json_t *holder = holder_of(document, path, &name);

	if (value)
		json_object_set_new(holder, name, value);
	else
		json_object_del(holder, name);
}

static json_t *document_of(const struct view_case *one)
{
	char *text = strdup(one->json);
	json_t *document;

	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	document = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(document);
	return document;
}

/* --- text as lines --------------------------------------------------------------------------- */

/* Lines with each gap of two or more blanks as one tab: widths depend on the other rows. */
struct lines {
	char *text;
	char *line[LINES];
	unsigned n, details; /* rows before the first empty line */
};

static void squeeze(char *line)
{
	char *to = line;

	for (const char *from = line; *from;) {
		size_t blanks = strspn(from, " ");

		if (blanks > 1)
			*to++ = '\t';
		else if (blanks == 1)
			*to++ = ' ';
		else
			*to++ = *from++;
		from += blanks;
	}
	*to = '\0';
}

static struct lines render(const struct view_case *one, json_t *document)
{
	const struct command *command = command_find(one->command);
	json_t *before = json_deep_copy(document);
	struct lines lines = {.details = LINES};
	struct view *view = view_new();
	size_t size;
	FILE *out = open_memstream(&lines.text, &size);
	char *rest, *line;

	assert_int_equal(command->print(document, view), 0);
	assert_int_equal(view_print(view, out, 0), 0);
	view_free(view);
	fclose(out);
	assert_true(json_equal(before, document)); /* --json writes this document */
	json_decref(before);
	rest = lines.text;
	while ((line = strsep(&rest, "\n")) && (rest || *line)) {
		assert_true(lines.n < LINES);
		squeeze(line);
		if (!*line && lines.details == LINES)
			lines.details = lines.n;
		lines.line[lines.n++] = line;
	}
	if (lines.details == LINES)
		lines.details = lines.n;
	return lines;
}

/* Returns the first line of `a` that `b` does not have, or NULL. */
static const char *new_line(const struct lines *a, const struct lines *b)
{
	for (unsigned i = 0; i < a->n; i++) {
		bool found = false;

		for (unsigned j = 0; j < b->n; j++)
			found |= strcmp(a->line[i], b->line[j]) == 0;
		if (!found)
			return a->line[i];
	}
	return NULL;
}

/* The text with one member changed, as lines to be freed. */
static struct lines render_with(const struct view_case *one, const char *path, json_t *value)
{
	json_t *document = document_of(one);
	struct lines lines;

	put_member(document, path, value);
	lines = render(one, document);
	json_decref(document);
	return lines;
}

static bool ends_in(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && strcmp(path + n - m, end) == 0;
}

/* --- properties ------------------------------------------------------------------------------ */

static void assert_rows(const struct view_case *one, const struct lines *lines)
{
	for (unsigned i = 0; i < lines->details; i++) {
		const char *value = strchr(lines->line[i], '\t');

		if (!value || !value[1] || strcmp(value + 1, "-") == 0 || strstr(value, ", -") ||
			strncmp(value + 1, "-,", 2) == 0)
			fail_msg("%s, seed %llu: a row without a value: \"%s\"", one->command,
				(unsigned long long)seed, lines->line[i]);
	}
	for (unsigned i = lines->details; one->counters && i < lines->n; i++)
		if (ends_in(lines->line[i], "\t0") || strstr(lines->line[i], "\t0\t0 pkt/s"))
			fail_msg("%s: a counter of 0: \"%s\"", one->command, lines->line[i]);
}

/* Replies in which any member is zero, absent, null, empty, another number or as it was. */
static void random_replies(void **state)
{
	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		json_t *whole = document_of(&cases[c]);
		struct paths paths = {0};

		collect(whole, "", &paths);
		for (unsigned round = 0; round < REPLIES; round++) {
			json_t *document = json_deep_copy(whole);
			struct lines lines;

			seed = round * 1000 + c;
			for (unsigned i = 0; i < paths.n; i++)
				put_member(document, paths.path[i],
					random_value(member_of(whole, paths.path[i])));
			lines = render(&cases[c], document);
			assert_rows(&cases[c], &lines);
			free(lines.text);
			json_decref(document);
		}
		json_decref(whole);
	}
}

/* Units, one of which stands behind a number with such a name; NULL: a count without a unit. */
static const char *const *units_of(const char *path)
{
	static const char *const bits[] = {"bit/s", NULL}, *const bytes[] = {"B", NULL};
	static const char *const times[] = {" s", " ms", " us", " min", " h", NULL};
	static const char *const packets[] = {"pkt/s", "packets a second", NULL},
				 *const counts[] = {"packet", NULL};

	if (ends_in(path, "_bps"))
		return bits;
	if (ends_in(path, "bytes"))
		return bytes;
	if (ends_in(path, "_pps") || ends_in(path, "_per_s") || strstr(path, "drops_pps."))
		return packets;
	if (ends_in(path, "_us") || ends_in(path, "_ms") || ends_in(path, "_s") ||
		strstr(path, "delay_us."))
		return times;
	return ends_in(path, ".packets") || ends_in(path, "_packets") ? counts : NULL;
}

static void assert_unit(const char *path, const char *line)
{
	const char *const *unit = units_of(path);
	bool found = !unit;

	for (; unit && *unit; unit++)
		found |= strstr(line, *unit) != NULL;
	if (!found)
		fail_msg("%s: no unit in \"%s\"", path, line);
}

static bool is_counter(const char *path)
{
	const char *const *unit = units_of(path);

	return !unit || strcmp(unit[0], "packet") == 0 || strcmp(unit[0], "B") == 0;
}

/* One number at a time: its row comes with any number but 0, and has its unit. */
static void assert_number(const struct view_case *one, const char *path, bool whole)
{
	struct lines absent = render_with(one, path, NULL);
	struct lines zero = render_with(one, path, json_integer(0));

	for (unsigned i = 0; i < 20; i++) {
		struct lines with = render_with(one, path, random_number(whole));
		const char *line = new_line(&with, &absent);

		if (!line)
			fail_msg("%s: %s is not shown", one->command, path);
		assert_unit(path, line);
		free(with.text);
	}
	if (is_counter(path) && !is_listed(one->zero_row, path) && new_line(&zero, &absent))
		fail_msg("%s: %s of 0 has a row: \"%s\"", one->command, path,
			new_line(&zero, &absent));
	if (is_listed(one->zero_row, path) && strncmp(path, "limits.", 7) != 0 &&
		!new_line(&zero, &absent))
		fail_msg("%s: %s of 0 has no row", one->command, path);
	free(absent.text);
	free(zero.text);
}

static void each_number(void **state)
{
	unsigned n = 0;

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		json_t *whole = document_of(&cases[c]);
		struct paths paths = {0};

		seed = c;
		collect(whole, "", &paths);
		for (unsigned i = 0; i < paths.n; i++) {
			const json_t *member = member_of(whole, paths.path[i]);

			if (!json_is_number(member) || is_listed(cases[c].unshown, paths.path[i]))
				continue;
			assert_number(&cases[c], paths.path[i], json_is_integer(member));
			n++;
		}
		json_decref(whole);
	}
	assert_true(n > 100);
}

/* No text of a reply is lost. */
static void each_text(void **state)
{
	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		json_t *whole = document_of(&cases[c]);
		struct paths paths = {0};

		collect(whole, "", &paths);
		for (unsigned i = 0; i < paths.n; i++) {
			struct lines with;
			bool found = false;

			if (!json_is_string(member_of(whole, paths.path[i])) ||
				ends_in(paths.path[i], "last_reload.at") ||
				ends_in(paths.path[i], "count"))
				continue;
			with = render_with(&cases[c], paths.path[i], json_string("zebra"));
			for (unsigned line = 0; line < with.n; line++)
				found |= strstr(with.line[line], "zebra") != NULL;
			if (!found)
				fail_msg("%s: text of %s is not shown", cases[c].command,
					paths.path[i]);
			free(with.text);
		}
		json_decref(whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_replies),
		cmocka_unit_test(each_number),
		cmocka_unit_test(each_text),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests_name("shown", tests, NULL, NULL);
}
