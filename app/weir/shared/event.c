/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reports events.
 */
#include "event.h"

#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>

#include "base/time.h"
#include "clock.h"
#include "log.h"

#define WORD_BYTES 1500 /* bytes of one word, so that the rest of the line has room */

/* Replaces unprintable characters, which could forge a line or control a terminal. */
static void write_printable(char *at, size_t size, const char *word)
{
	size_t n = 0;

	for (; word && *word && n + 1 < size; word++)
		at[n++] = (unsigned char)*word >= ' ' && (unsigned char)*word < 0x7f ? *word : '?';
	at[n] = '\0';
}

static const struct event_field *find_field(
	const struct event_field *fields, const char *name, size_t len)
{
	for (; fields->name; fields++)
		if (strlen(fields->name) == len && strncmp(fields->name, name, len) == 0)
			return fields;
	return NULL;
}

/* `format` is the part after the colon, "2" or "+2", or "". */
static void write_field(char *at, size_t size, const struct event_field *field, const char *format)
{
	bool sign = *format == '+';
	int decimals = format[sign] >= '0' && format[sign] <= '9' ? format[sign] - '0' : 0;

	if (field->kind == EVENT_WORD)
		write_printable(at, size < WORD_BYTES ? size : WORD_BYTES, field->word);
	else if (field->kind == EVENT_COUNT)
		snprintf(at, size, "%" PRIu64, field->count);
	else
		snprintf(at, size, sign ? "%+.*f" : "%.*f", decimals, field->real);
}

void event_fill(char text[EVENT_TEXT], const char *template, const struct event_field *fields)
{
	size_t n = 0;

	while (*template && n + 1 < EVENT_TEXT) {
		size_t len = strcspn(template + 1, ":}");
		const struct event_field *field = *template == '{'
							  ? find_field(fields, template + 1, len)
							  : NULL;

		if (!field) {
			text[n++] = *template ++;
			continue;
		}
		template += 1 + len;
		write_field(text + n, EVENT_TEXT - n, field, template + (*template == ':'));
		n += strlen(text + n);
		template += strcspn(template, "}");
		template += *template == '}';
	}
	text[n] = '\0';
}

json_t *event_value(const struct event_field *field)
{
	char word[EVENT_TEXT];

	if (field->kind == EVENT_COUNT)
		return json_integer((json_int_t)field->count);
	if (field->kind == EVENT_REAL)
		return json_real(field->real);
	write_printable(word, WORD_BYTES, field->word);
	return json_string(word);
}

bool event_window_due(const struct event_window *window, uint64_t now_ns)
{
	return window->held > 0 && now_ns - window->began_ns >= EVENT_WINDOW_NS;
}

bool event_window_admit(struct event_window *window, unsigned most, uint64_t now_ns)
{
	if (most == 0)
		return true;
	if (window->lines == 0 || now_ns - window->began_ns >= EVENT_WINDOW_NS)
		*window = (struct event_window){.began_ns = now_ns};
	if (window->lines < most) {
		window->lines++;
		return true;
	}
	window->held++;
	return false;
}

#define NAME_BYTES 32
#define LAST_BYTES 256 /* text of the last suppressed line */
#define TIME_BYTES 40

struct row {
	const char *id, *text;
	enum log_level level;
	unsigned most;
	enum event_id ends;
};

#define EVENT_ROW(id, level, most, ends, text) {#id, text, LEVEL_##level, most, EVENT_##ends},
static const struct row rows[EVENTS] = {EVENT_ROWS(EVENT_ROW)};
#undef EVENT_ROW

/* The suppressed lines of a row and of its end. */
struct held_back {
	struct event_window window;
	char last[LAST_BYTES];
};

static struct {
	enum log_level level; /* atomic accesses only, also for format */
	enum log_format format;
	pthread_mutex_t lock; /* held for moments; protects the members below */
	struct held_back held[EVENTS];
	uint64_t number; /* number of the newest event in kept */
	unsigned n_kept;
	struct kept_event {
		uint64_t number;
		json_t *object;
		enum event_id id;
	} kept[EVENTS_KEPT + 1]; /* by number; the last place is for the next one */
	unsigned kept_of[EVENTS];
} events = {.level = LEVEL_INFO, .lock = PTHREAD_MUTEX_INITIALIZER};

static const char *level_name(enum log_level level)
{
	static const char *const names[] = {
		[LEVEL_ERROR] = "error",
		[LEVEL_WARNING] = "warning",
		[LEVEL_INFO] = "info",
		[LEVEL_DEBUG] = "debug",
	};

	return names[level];
}

static void write_name(char name[NAME_BYTES], enum event_id id)
{
	size_t n = 0;

	for (const char *at = rows[id].id; *at && n + 1 < NAME_BYTES; at++)
		name[n++] = (char)tolower((unsigned char)*at);
	name[n] = '\0';
}

/* Makes the object that is written and kept. Returns NULL without memory. */
static json_t *make_object(
	enum event_id id, enum log_level level, const char *text, const struct event_field *fields)
{
	char name[NAME_BYTES], when[TIME_BYTES];
	struct timespec now;
	json_t *object;
	struct tm tm;
	size_t n;

	write_name(name, id);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(when, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(when + n, TIME_BYTES - n, ".%06ldZ", now.tv_nsec / 1000);
	object = json_pack("{s:s, s:s, s:s, s:s}", "time", when, "level", level_name(level),
		"event", name, "text", text);
	for (; object && fields->name; fields++)
		json_object_set_new(object, fields->name, event_value(fields));
	return object;
}

/* Returns a line for free(), or NULL without memory. */
static char *make_line(enum event_id id, const char *text, const json_t *object)
{
	const char *label = id == EVENT_DRIVER || id == EVENT_STDERR ? "" : "weir: ";
	char *line;

	if (object && __atomic_load_n(&events.format, __ATOMIC_RELAXED) == FORMAT_JSON)
		return json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER);
	return asprintf(&line, "%s%s", label, text) < 0 ? NULL : line;
}

/* Removes and returns the oldest event of the row with the most kept events. */
static json_t *evict_event(void)
{
	enum event_id most = 0;
	unsigned i = 0;
	json_t *object;

	for (enum event_id id = 0; id < EVENTS; id++)
		if (events.kept_of[id] > events.kept_of[most])
			most = id;
	while (events.kept[i].id != most)
		i++;
	object = events.kept[i].object;
	events.kept_of[most]--;
	events.n_kept--;
	memmove(&events.kept[i], &events.kept[i + 1], (events.n_kept - i) * sizeof(*events.kept));
	return object;
}

static void keep_object(enum event_id id, json_t *object)
{
	json_t *evicted = NULL;

	pthread_mutex_lock(&events.lock);
	events.kept[events.n_kept++] = (struct kept_event){
		++events.number, json_incref(object), id};
	events.kept_of[id]++;
	json_object_set_new(object, "number", json_integer((json_int_t)events.number));
	if (events.n_kept > EVENTS_KEPT)
		evicted = evict_event();
	pthread_mutex_unlock(&events.lock);
	json_decref(evicted);
}

/* Writes an event that passed the level and the rate limit. */
static void write_event(
	enum event_id id, enum log_level level, const char *text, const struct event_field *fields)
{
	json_t *object = make_object(id, level, text, fields);
	char *line;

	if (object)
		keep_object(id, object);
	line = make_line(id, text, object);
	log_write(level, line ? line : text);
	free(line);
	json_decref(object);
}

static void log_held(enum event_id id, const struct held_back *held)
{
	char name[NAME_BYTES], text[EVENT_TEXT];
	const struct event_field fields[] = {event_word("of", name),
		event_count("lines", held->window.held),
		event_count("seconds", EVENT_WINDOW_NS / SECOND_NS), event_word("last", held->last),
		{0}};

	write_name(name, id);
	event_fill(text, rows[EVENT_LINES_HELD].text, fields);
	write_event(EVENT_LINES_HELD, LEVEL_WARNING, text, fields);
}

/* Copies and clears the suppressed lines of a finished window. Returns false if there are none. */
static bool take_held(enum event_id id, uint64_t now_ns, struct held_back *copy)
{
	struct held_back *held = &events.held[id];
	bool due = event_window_due(&held->window, now_ns);

	if (due) {
		*copy = *held;
		held->window = (struct event_window){0};
	}
	return due;
}

static void log_at(enum event_id id, enum log_level level, const struct event_field *fields)
{
	enum event_id trouble = rows[id].ends;
	enum log_level from = trouble == id ? level : RTE_MIN(level, rows[trouble].level);
	struct held_back *held = &events.held[trouble], copy;
	uint64_t now = control_now();
	char text[EVENT_TEXT];
	bool due, admitted;

	if (from > __atomic_load_n(&events.level, __ATOMIC_RELAXED))
		return;
	event_fill(text, rows[id].text, fields);
	pthread_mutex_lock(&events.lock);
	due = take_held(trouble, now, &copy);
	admitted = event_window_admit(&held->window, rows[trouble].most, now);
	if (!admitted)
		snprintf(held->last, sizeof(held->last), "%.*s", LAST_BYTES - 1, text);
	pthread_mutex_unlock(&events.lock);
	if (due)
		log_held(trouble, &copy);
	if (admitted)
		write_event(id, level, text, fields);
}

void event_say(enum event_id id, const struct event_field *fields)
{
	log_at(id, rows[id].level, fields);
}

/* Writes a line of EAL, a driver or a library. Called by log.c. */
static void log_line(enum log_source source, int priority, const char *line)
{
	const struct event_field fields[] = {event_word("line", line), {0}};
	enum log_level level = priority <= LEVEL_ERROR     ? LEVEL_ERROR
			       : priority <= LEVEL_WARNING ? LEVEL_WARNING
			       : priority <= LEVEL_INFO    ? LEVEL_INFO
							   : LEVEL_DEBUG;

	if (source == LOG_OF_DPDK)
		log_at(EVENT_DRIVER, level, fields);
	else
		log_at(EVENT_STDERR, strstr(line, "warning: ") ? LEVEL_WARNING : LEVEL_ERROR,
			fields);
}

static char *lost_line(uint64_t lines)
{
	const struct event_field fields[] = {event_count("lines", lines), {0}};
	char text[EVENT_TEXT], *line;
	json_t *object;

	event_fill(text, rows[EVENT_LINES_LOST].text, fields);
	object = make_object(EVENT_LINES_LOST, LEVEL_WARNING, text, fields);
	line = make_line(EVENT_LINES_LOST, text, object);
	json_decref(object);
	return line;
}

void events_configure(const struct log_config *config)
{
	__atomic_store_n(&events.level, config->level, __ATOMIC_RELAXED);
	__atomic_store_n(&events.format, config->format, __ATOMIC_RELAXED);
}

struct log_config events_configured(void)
{
	return (struct log_config){
		.level = __atomic_load_n(&events.level, __ATOMIC_RELAXED),
		.format = __atomic_load_n(&events.format, __ATOMIC_RELAXED),
	};
}

int events_open(int fd, const struct log_config *config)
{
	static const struct log_speakers speakers = {.line = log_line, .lost = lost_line};

	events_configure(config);
	return log_open(fd, &speakers);
}

static void log_all_held(uint64_t now_ns)
{
	for (enum event_id id = 0; id < EVENTS; id++) {
		struct held_back copy;
		bool due;

		pthread_mutex_lock(&events.lock);
		due = take_held(id, now_ns, &copy);
		pthread_mutex_unlock(&events.lock);
		if (due)
			log_held(id, &copy);
	}
}

void events_close(unsigned patience_s)
{
	log_all_held(UINT64_MAX);
	log_close(patience_s);
}

uint64_t events_next(void)
{
	uint64_t next = UINT64_MAX;

	pthread_mutex_lock(&events.lock);
	for (enum event_id id = 0; id < EVENTS; id++)
		if (events.held[id].window.held)
			next = RTE_MIN(next, events.held[id].window.began_ns + EVENT_WINDOW_NS);
	pthread_mutex_unlock(&events.lock);
	return next;
}

void events_review(uint64_t now_ns)
{
	if (now_ns >= events_next())
		log_all_held(now_ns);
}

uint64_t events_number(void)
{
	uint64_t number;

	pthread_mutex_lock(&events.lock);
	number = events.number + 1;
	pthread_mutex_unlock(&events.lock);
	return number;
}

json_t *events_from(uint64_t *number)
{
	json_t *object = NULL;
	unsigned i = 0;

	pthread_mutex_lock(&events.lock);
	while (i < events.n_kept && events.kept[i].number < *number)
		i++;
	if (i < events.n_kept) {
		*number = events.kept[i].number;
		object = json_incref(events.kept[i].object);
	}
	pthread_mutex_unlock(&events.lock);
	return object;
}

json_t *events_get(uint64_t number)
{
	uint64_t found = number;
	json_t *object = events_from(&found);

	if (found == number)
		return object;
	json_decref(object);
	return NULL;
}

void events_describe(FILE *out)
{
	fputs("| event | level | most | ends | text |\n|---|---|---|---|---|\n", out);
	for (enum event_id id = 0; id < EVENTS; id++) {
		const struct row *row = &rows[id];
		char name[NAME_BYTES], trouble[NAME_BYTES] = "", most[16] = "";

		write_name(name, id);
		if (row->ends != id)
			write_name(trouble, row->ends);
		if (rows[row->ends].most)
			snprintf(most, sizeof(most), "%u", rows[row->ends].most);
		fprintf(out, "| `%s` | %s | %s | %s%s%s | `%s` |\n", name, level_name(row->level),
			most, trouble[0] ? "`" : "", trouble, trouble[0] ? "`" : "", row->text);
	}
}
