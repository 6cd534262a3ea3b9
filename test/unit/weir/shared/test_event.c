/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The log has each event once, as text or as JSON, with a priority if journald reads it. Suppressed
 * lines are counted. The clock stands still until a test moves it.
 */
#include "check.h"
#include "scope.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <jansson.h>
#include <rte_log.h>

#include "base/prng.h"
#include "event.h"
#include "log.h"

#define WORD_MOST 1499 /* letters of a word, as in event.c */

static uint64_t boot_ns = 1000 * SECOND;

/* Replaces the function of the C library. The time of day is constant. */
int clock_gettime(clockid_t id, struct timespec *now)
{
	if (id == CLOCK_REALTIME) {
		*now = (struct timespec){1767323045, 987654321};
		return 0;
	}
	if (id != CLOCK_BOOTTIME)
		return (int)syscall(SYS_clock_gettime, id, now);
	*now = (struct timespec){(time_t)(boot_ns / SECOND), (long)(boot_ns % SECOND)};
	return 0;
}

/* --- the text -------------------------------------------------------------------------------- */

TEST(test_fill)
{
	static const struct event_field fields[] = {
		{.name = "who", .kind = EVENT_WORD, .word = "me"},
		{.name = "n", .kind = EVENT_COUNT, .count = UINT64_MAX},
		{.name = "x", .kind = EVENT_REAL, .real = 1.25},
		{.name = "bad", .kind = EVENT_WORD, .word = "a\nweir: b\x1b[31m\xc3\xa9"},
		{.name = "edge", .kind = EVENT_WORD, .word = "\x1f \x7e\x7f"},
		{.name = "none", .kind = EVENT_WORD, .word = NULL}, {0}};
	static const struct {
		const char *template, *want;
	} rows[] = {
		{"", ""},
		{"plain", "plain"},
		{"{who}", "me"},
		{"{who}{who} {n}.", "meme 18446744073709551615."},
		{"{x:1}|{x:+2}|{x:0}", "1.2|+1.25|1"},
		{"{x:9}|{x:/}|{x::}|{x:}|{x:+}", "1.250000000|1|1|1|+1"},
		{"{n:+2}|{who:1}", "18446744073709551615|me"},
		{"{edge}", "? ~?"},
		{"{nobody} {", "{nobody} {"},
		{"{who", "me"},
		{"{wh}{whoo}", "{wh}{whoo}"},
		{"[{none}]", "[]"},
		{"{bad}", "a?weir: b?[31m??"},
	};
	char text[EVENT_TEXT];

	for (size_t i = 0; i < COUNT(rows); i++) {
		event_fill(text, rows[i].template, fields);
		assert_string_equal(text, rows[i].want);
	}
}

/* A text of any length ends in the buffer, and its beginning is complete. */
TEST(test_fill_long)
{
	static char word[3 * EVENT_TEXT], template[3 * EVENT_TEXT];
	const struct event_field fields[] = {event_word("w", word), {0}};
	char text[EVENT_TEXT];
	json_t *value;

	memset(word, 'x', sizeof(word) - 1);
	event_fill(text, "{w}|{w} {w} end", fields);
	assert_int_equal(strspn(text, "x"), WORD_MOST);
	assert_int_equal(text[WORD_MOST], '|');
	assert_int_equal(strspn(text + WORD_MOST + 1, "x"), EVENT_TEXT - 2 - WORD_MOST);
	value = event_value(fields);
	assert_int_equal(json_string_length(value), WORD_MOST);
	json_decref(value);
	word[WORD_MOST] = '\0';
	event_fill(text, "{w}|", fields);
	assert_int_equal(strlen(text), WORD_MOST + 1);
	memset(template, 'y', sizeof(template) - 1);
	event_fill(text, template, fields);
	assert_int_equal(strlen(text), EVENT_TEXT - 1);
}

/* --- how often ------------------------------------------------------------------------------- */

TEST(test_window)
{
	const uint64_t t = 77 * SECOND, end = t + EVENT_WINDOW_NS;
	/* Lines with a limit of 2: time, admission, and number of suppressed lines. */
	static const struct {
		uint64_t after;
		bool admitted;
		uint32_t held;
	} rows[] = {
		{0, true, 0},
		{0, true, 0},
		{1, false, 1},
		{EVENT_WINDOW_NS - 1, false, 2},
	};
	struct event_window window = {0};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(
			event_window_admit(&window, 2, t + rows[i].after), rows[i].admitted);
		assert_int_equal(window.held, rows[i].held);
	}
	assert_false(event_window_due(&window, end - 1));
	assert_true(event_window_due(&window, end));
	assert_true(event_window_admit(&window, 2, end));
	assert_int_equal(window.held, 0);
	assert_false(event_window_due(&window, end + EVENT_WINDOW_NS));
	window = (struct event_window){0};
	for (unsigned i = 0; i < 1000; i++)
		assert_true(event_window_admit(&window, 0, t));
}

/* --- when a trouble begins and ends ----------------------------------------------------------- */

TEST(test_trouble)
{
	/* Checks of a trouble that ends after 5 s without a new case. */
	static const struct {
		uint64_t at_s, count;
		enum trouble_news news;
		uint64_t counted;
	} rows[] = {
		{1, 7, TROUBLE_SAME, 7}, /* before the first check */
		{2, 7, TROUBLE_SAME, 7},
		{3, 8, TROUBLE_BEGINS, 1},
		{4, 20, TROUBLE_SAME, 13},
		{8, 20, TROUBLE_SAME, 13},
		{9, 20, TROUBLE_ENDS, 13},
		{10, 20, TROUBLE_SAME, 13},
		{100, 21, TROUBLE_BEGINS, 1},
		{104, 22, TROUBLE_SAME, 2},
		{108, 22, TROUBLE_SAME, 2},
		{109, 22, TROUBLE_ENDS, 2},
	};
	struct trouble trouble = {0};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(
			trouble_look(&trouble, rows[i].count, rows[i].at_s * SECOND, 5 * SECOND),
			rows[i].news);
		assert_int_equal(trouble_counted(&trouble), rows[i].counted);
	}
}

TEST(test_total)
{
	const uint64_t total = 65536 * 1000, spent = 1000 + 1500, near = total / 10;
	const struct {
		enum total_level before;
		uint64_t left;
		enum total_level level;
	} rows[] = {
		{TOTAL_PLENTY, total, TOTAL_PLENTY},
		{TOTAL_PLENTY, near + 1, TOTAL_PLENTY},
		{TOTAL_PLENTY, near, TOTAL_NEAR_END},
		{TOTAL_NEAR_END, near + near / 2, TOTAL_NEAR_END},
		{TOTAL_NEAR_END, near + near / 2 + 1, TOTAL_PLENTY},
		{TOTAL_NEAR_END, spent + 1, TOTAL_NEAR_END},
		{TOTAL_NEAR_END, spent, TOTAL_SPENT_ALL},
		{TOTAL_PLENTY, 0, TOTAL_SPENT_ALL},
		{TOTAL_SPENT_ALL, 2 * spent, TOTAL_SPENT_ALL},
		{TOTAL_SPENT_ALL, 2 * spent + 1, TOTAL_NEAR_END},
		{TOTAL_SPENT_ALL, total, TOTAL_PLENTY},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(
			total_level(rows[i].before, rows[i].left, total, 1500), rows[i].level);
}

/* --- lines of the log ------------------------------------------------------------------------- */

static FILE *file;

static void open_log(enum log_level level, enum log_format format)
{
	file = tmpfile();
	assert_non_null(file);
	assert_int_equal(
		events_open(fileno(file), &(struct log_config){.level = level, .format = format}),
		0);
}

/* Returns all lines, for free(). Expects this number. */
static char *close_log(unsigned lines)
{
	static const struct log_config usual = {.level = LEVEL_INFO};
	char *text = calloc(1, 1 << 20);
	unsigned n = 0;

	events_close(60);
	events_configure(&usual);
	rewind(file);
	assert_int_not_equal(fread(text, 1, (1 << 20) - 1, file), lines ? 0 : 1);
	fclose(file);
	for (const char *at = text; *at; at++)
		n += *at == '\n';
	if (n != lines)
		print_error("%s", text);
	assert_int_equal(n, lines);
	return text;
}

static unsigned count_of(const char *text, const char *words)
{
	unsigned n = 0;

	for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
		n++;
	return n;
}

/* Starts a new window for each test. */
static int wait_long(void **state)
{
	boot_ns += 1000 * SECOND;
	return 0;
}

static void lose_peer(const char *name)
{
	event(PEER_LOST, event_word("peer", name), event_count("limiters", 3));
}

TEST_WITH(test_text_lines, wait_long, NULL)
{
	ENDED_BY(free_at) char *text;

	open_log(LEVEL_INFO, FORMAT_TEXT);
	lose_peer("fra");
	event(PEER_HEARD, event_word("peer", "fra"));
	event(TSC_JUMPED, event_real("ms", -1.5));
	text = close_log(3);
	assert_int_equal(strncmp(text, "weir: peer fra: ", 16), 0);
	assert_int_equal(count_of(text, " 1/3 "), 1);
	assert_int_equal(count_of(text, "\nweir: peer fra: "), 1);
	assert_int_equal(count_of(text, "\nweir: TSC: "), 1);
	assert_int_equal(count_of(text, " -1.500 ms "), 1);
}

TEST_WITH(test_json_lines, wait_long, NULL)
{
	uint64_t number = events_number();
	json_t *object, *kept;
	ENDED_BY(free_at) char *text;

	open_log(LEVEL_INFO, FORMAT_JSON);
	event(PEER_LOST, event_word("peer", "a\"b\n"), event_count("limiters", 3));
	text = close_log(1);
	object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(object);
	assert_string_equal(json_string_value(json_object_get(object, "event")), "peer_lost");
	assert_string_equal(json_string_value(json_object_get(object, "level")), "warning");
	assert_string_equal(json_string_value(json_object_get(object, "peer")), "a\"b?");
	assert_int_equal(json_integer_value(json_object_get(object, "limiters")), 3);
	assert_int_equal(json_integer_value(json_object_get(object, "number")), number);
	assert_non_null(strstr(json_string_value(json_object_get(object, "text")), "peer a\"b?: "));
	assert_non_null(strstr(json_string_value(json_object_get(object, "text")), " 1/3 "));
	assert_string_equal(
		json_string_value(json_object_get(object, "time")), "2026-01-02T03:04:05.987654Z");
	kept = events_get(number);
	assert_true(json_equal(kept, object));
	json_decref(kept);
	json_decref(object);
}

/* A level that shows the beginning shows the end too, although the end is only info. */
TEST_WITH(test_levels, wait_long, NULL)
{
	static const struct {
		enum log_level level;
		unsigned lines;
	} rows[] = {{LEVEL_ERROR, 1}, {LEVEL_WARNING, 3}, {LEVEL_INFO, 4}, {LEVEL_DEBUG, 4}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		open_log(rows[i].level, FORMAT_TEXT);
		event(LINK_HANGS);
		event(STOPPED);
		lose_peer("fra");
		event(PEER_HEARD, event_word("peer", "fra"));
		free(close_log(rows[i].lines));
	}
}

/* The log has 50 lines of a trouble and its end, then the number of the others and the last. */
TEST_WITH(test_held, wait_long, NULL)
{
	const char *held, *last;
	ENDED_BY(free_at) char *text;

	open_log(LEVEL_INFO, FORMAT_TEXT);
	for (unsigned i = 0; i < 25; i++) {
		lose_peer("fra");
		event(PEER_HEARD, event_word("peer", "fra"));
	}
	assert_int_equal(events_next(), UINT64_MAX);
	lose_peer("fra");
	event(PEER_HEARD, event_word("peer", "ams"));
	assert_int_equal(events_next(), boot_ns + EVENT_WINDOW_NS);
	events_review(boot_ns + EVENT_WINDOW_NS - 1);
	assert_int_equal(events_next(), boot_ns + EVENT_WINDOW_NS);
	boot_ns += EVENT_WINDOW_NS;
	events_review(boot_ns);
	assert_int_equal(events_next(), UINT64_MAX);
	events_review(boot_ns);
	lose_peer("lon");
	text = close_log(52);
	assert_int_equal(count_of(text, "weir: peer fra: "), 50);
	held = strstr(text, "weir: peer_lost: 2 more lines ");
	assert_non_null(held);
	assert_non_null(strstr(held, " 10 s"));
	last = strstr(held, "peer ams: ");
	assert_non_null(last);
	assert_true(last < strchr(held, '\n'));
	assert_int_equal(strncmp(strchr(held, '\n'), "\nweir: peer lon: ", 16), 0);
}

/* The next event reports the suppressed lines before a review, and so does the end. */
TEST_WITH(test_held_until_said, wait_long, NULL)
{
	ENDED_BY(free_at) char *text;

	open_log(LEVEL_INFO, FORMAT_TEXT);
	for (unsigned i = 0; i < 51; i++)
		lose_peer("fra");
	boot_ns += EVENT_WINDOW_NS;
	for (unsigned i = 0; i < 52; i++)
		lose_peer("ams");
	text = close_log(102);
	assert_int_equal(count_of(text, "peer_lost: 1 more lines"), 1);
	assert_int_equal(count_of(text, "peer_lost: 2 more lines"), 1);
}

/* Lines of EAL and drivers are in the log once, with their level. */
TEST_WITH(test_lines_of_others, wait_long, NULL)
{
	int type = rte_log_register_type_and_pick_level("test.event", RTE_LOG_DEBUG);
	ENDED_BY(free_at) char *text;

	assert_true(type >= 0);
	rte_log_set_global_level(RTE_LOG_DEBUG);
	open_log(LEVEL_WARNING, FORMAT_JSON);
	rte_log(RTE_LOG_ERR, (uint32_t)type, "PMD: %s\n", "broken");
	rte_log(RTE_LOG_NOTICE, (uint32_t)type, "PMD: of no interest\n");
	rte_log(RTE_LOG_WARNING, (uint32_t)type, "PMD: two ");
	rte_log(RTE_LOG_WARNING, (uint32_t)type, "parts\n");
	fprintf(stderr, "weir: a key file: ");
	fprintf(stderr, "bad\nweir: x: warning: y\n");
	text = close_log(4);
	assert_int_equal(count_of(text, "\"event\":\"driver\""), 2);
	assert_int_equal(count_of(text, "\"event\":\"stderr\""), 2);
	assert_int_equal(count_of(text, "\"level\":\"error\""), 2);
	assert_int_equal(count_of(text, "\"line\":\"PMD: two parts\""), 1);
	assert_int_equal(count_of(text, "\"line\":\"weir: a key file: bad\""), 1);
}

/* DPDK has the levels of syslog. The log has fewer. */
TEST_WITH(test_levels_of_others, wait_long, NULL)
{
	static const struct {
		uint32_t level;
		const char *want;
	} rows[] = {
		{RTE_LOG_EMERG, "error"},
		{RTE_LOG_ALERT, "error"},
		{RTE_LOG_CRIT, "error"},
		{RTE_LOG_ERR, "error"},
		{RTE_LOG_WARNING, "warning"},
		{RTE_LOG_NOTICE, "info"},
		{RTE_LOG_INFO, "info"},
		{RTE_LOG_DEBUG, "debug"},
	};
	int type = rte_log_register_type_and_pick_level("test.level", RTE_LOG_DEBUG);

	assert_true(type >= 0);
	rte_log_set_global_level(RTE_LOG_DEBUG);
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *object;
		char *text;

		open_log(LEVEL_DEBUG, FORMAT_JSON);
		rte_log(rows[i].level, (uint32_t)type, "PMD: said\n");
		text = close_log(1);
		object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		assert_string_equal(
			json_string_value(json_object_get(object, "level")), rows[i].want);
		assert_string_equal(json_string_value(json_object_get(object, "event")), "driver");
		json_decref(object);
		free(text);
	}
}

static void set_journal(FILE *of)
{
	struct stat stat;
	char text[64];

	assert_int_equal(fstat(fileno(of), &stat), 0);
	snprintf(text, sizeof(text), "%lu:%lu", (unsigned long)stat.st_dev,
		(unsigned long)stat.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
}

/* Only journald gets priorities. JOURNAL_STREAM shows that it is the reader. */
TEST_WITH(test_priorities, wait_long, NULL)
{
	static const struct log_config config = {.level = LEVEL_INFO};
	char *text;

	for (unsigned ours = 0; ours < 2; ours++) {
		FILE *another = tmpfile();

		file = tmpfile();
		set_journal(ours ? file : another);
		assert_int_equal(events_open(fileno(file), &config), 0);
		event(LINK_HANGS);
		lose_peer("fra");
		event(STOPPED);
		text = close_log(3);
		assert_int_equal(strncmp(text, "<3>weir: ", 9) == 0, ours);
		assert_int_equal(count_of(text, "\n<4>weir: peer fra"), ours);
		assert_int_equal(count_of(text, "\n<6>weir: stopped"), ours);
		assert_int_equal(count_of(text, "<"), ours ? 3 : 0);
		free(text);
		fclose(another);
	}
	unsetenv("JOURNAL_STREAM");
}

/* --- events in memory ------------------------------------------------------------------------- */

TEST_WITH(test_kept, wait_long, NULL)
{
	uint64_t first = events_number();

	open_log(LEVEL_INFO, FORMAT_TEXT);
	for (unsigned i = 0; i < EVENTS_KEPT + 10; i++)
		event(PERIOD_BEGINS, event_word("policy", "p"), event_count("period", i),
			event_count("unused", 0));
	for (unsigned i = 0; i < EVENTS_KEPT; i++)
		event(STOPPED);
	free(close_log(50 + EVENTS_KEPT + 1));
	assert_int_equal(events_number(), first + 50 + EVENTS_KEPT + 1);
	assert_null(events_get(0));
	assert_null(events_get(events_number()));
	for (uint64_t i = events_number() - EVENTS_KEPT / 4; i < events_number(); i++) {
		json_t *object = events_get(i);

		assert_int_equal(json_integer_value(json_object_get(object, "number")), i);
		json_decref(object);
	}
}

/* Random events, most of them of one row. Each row keeps its last ones, in their order. */
TEST_WITH(test_kept_of_each, wait_long, NULL)
{
	static const enum event_id rare[] = {EVENT_RUNS, EVENT_LAST_GOOD, EVENT_STOPPING,
		EVENT_TSC_DOUBTED, EVENT_SHADOW_ENDED, EVENT_RELOAD_HANGS, EVENT_LINK_HANGS};
	const struct event_field none[] = {{0}};
	uint64_t last[EVENTS] = {0}, before = 0, from = 0;
	unsigned kept = 0, n = 0;
	struct prng prng;
	json_t *object;

	prng_seed(&prng, 1);
	open_log(LEVEL_INFO, FORMAT_TEXT);
	for (unsigned i = 0; i < 8 * EVENTS_KEPT; i++) {
		enum event_id id = prng_below(&prng, 100) ? EVENT_STOPPED
							  : rare[prng_below(&prng, 7)];

		boot_ns += SECOND;
		last[id] = events_number();
		event_say(id, none);
		n++;
	}
	while ((object = events_from(&from)) != NULL) {
		assert_true(from > before);
		for (enum event_id id = 0; id < EVENTS; id++)
			if (last[id] == from)
				last[id] = 0;
		before = from++;
		kept++;
		json_decref(object);
	}
	for (enum event_id id = 0; id < EVENTS; id++)
		assert_int_equal(last[id], 0);
	assert_int_equal(kept, EVENTS_KEPT);
	free(close_log(n));
}

/* --- lines without a reader ------------------------------------------------------------------- */

#define UNTAKEN 20000 /* lines; more than a pipe and the ring hold */

struct taker {
	int fd;
	FILE *lines;
};

static void *take_to_end(void *context)
{
	struct taker *taker = context;
	char bytes[4096];
	ssize_t n;

	while ((n = read(taker->fd, bytes, sizeof(bytes))) > 0)
		fwrite(bytes, 1, (size_t)n, taker->lines);
	return NULL;
}

/* Writes all lines before a reader starts. Returns the lines of the reader, for free(). */
static char *say_too_much(enum log_format format, uint64_t *lost)
{
	const struct log_config config = {.level = LEVEL_INFO, .format = format};
	const struct log_config usual = {.level = LEVEL_INFO};
	uint64_t before = log_lost();
	struct taker taker;
	pthread_t thread;
	char *text;
	size_t size;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(events_open(ends[1], &config), 0);
	for (unsigned i = 0; i < UNTAKEN; i++)
		event(RUNS, event_word("what", "one of many"));
	taker = (struct taker){ends[0], open_memstream(&text, &size)};
	assert_non_null(taker.lines);
	assert_int_equal(pthread_create(&thread, NULL, take_to_end, &taker), 0);
	events_close(60);
	events_configure(&usual);
	close(ends[1]);
	pthread_join(thread, NULL);
	close(ends[0]);
	fclose(taker.lines);
	*lost = log_lost() - before;
	assert_true(*lost > 0);
	return text;
}

/* A line in the usual format has the number of missing lines. */
TEST_WITH(test_lines_lost, wait_long, NULL)
{
	uint64_t lost, said = 0, taken = 0;
	char *text, *line, *rest;

	text = say_too_much(FORMAT_TEXT, &lost);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long n;
		int end = 0;

		if (strcmp(line, "weir: runs one of many") == 0) {
			taken++;
			continue;
		}
		assert_int_equal(sscanf(line, "weir: %lu log lines before %n", &n, &end), 1);
		assert_true(end > 0);
		said += n;
	}
	assert_int_equal(said, lost);
	assert_int_equal(taken + lost, UNTAKEN);
	free(text);
}

TEST_WITH(test_lines_lost_of_json, wait_long, NULL)
{
	uint64_t lost, said = 0, taken = 0;
	char *text, *line, *rest, words[128];

	text = say_too_much(FORMAT_JSON, &lost);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		uint64_t n = (uint64_t)json_integer_value(json_object_get(object, "lines"));

		assert_non_null(object);
		if (n == 0) {
			assert_string_equal(
				json_string_value(json_object_get(object, "event")), "runs");
			taken++;
		} else {
			snprintf(words, sizeof(words), "%lu log lines ", (unsigned long)n);
			assert_string_equal(
				json_string_value(json_object_get(object, "event")), "lines_lost");
			assert_string_equal(
				json_string_value(json_object_get(object, "level")), "warning");
			assert_int_equal(strncmp(json_string_value(json_object_get(object, "text")),
						 words, strlen(words)),
				0);
			said += n;
		}
		json_decref(object);
	}
	assert_int_equal(said, lost);
	assert_int_equal(taken + lost, UNTAKEN);
	free(text);
}
