/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whoever logs never waits for whoever reads, and every line is written or counted. A test that
 * waits hangs, and is ended by its time limit.
 */
#include "check.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include <unistd.h>

#include "log.h"

static void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void log_info(const char *format, ...)
{
	char line[128] = "weir: ";
	va_list args;

	va_start(args, format);
	vsnprintf(line + strlen(line), sizeof(line) - strlen(line), format, args);
	va_end(args);
	log_write(6, line);
}

#define LINES   20000 /* which neither a pipe nor the ring has room for */
#define WRITERS 4

#define PATIENCE_S 60

#define HOUR_S 3600

static time_t ahead_s; /* of the wall clock, which may be set right at any time */

/* In place of the C library's. */
int clock_gettime(clockid_t id, struct timespec *now)
{
	int ret = (int)syscall(SYS_clock_gettime, id, now);

	if (ret == 0 && id == CLOCK_REALTIME)
		now->tv_sec += ahead_s;
	return ret;
}

struct reader {
	int fd;
	char *text;
	size_t len;
};

static void *read_to_end(void *arg)
{
	struct reader *r = arg;
	size_t room = 0;
	ssize_t n;

	do {
		if (room - r->len < 65536)
			r->text = realloc(r->text, room += 1 << 20);
		n = read(r->fd, r->text + r->len, room - r->len - 1);
		r->len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	r->text[r->len] = '\0';
	return NULL;
}

static void *log_lines(void *arg)
{
	for (unsigned i = 0; i < LINES / WRITERS; i++)
		log_info("%s, line %u of it", (const char *)arg, i);
	return NULL;
}

/* Lines of the text that were logged, each of which is whole; and the sum of those said lost. */
static uint64_t count_whole(const char *text, uint64_t *lost)
{
	uint64_t whole = 0;
	char line[160], name[8];

	for (*lost = 0; *text; text += strcspn(text, "\n") + 1) {
		unsigned long n;
		unsigned i;
		int end = 0;

		assert_non_null(strchr(text, '\n'));
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
		if (sscanf(line, "weir: %lu log lines before %n", &n, &end) == 1 && end > 0) {
			*lost += n;
			continue;
		}
		end = 0;
		assert_int_equal(sscanf(line, "weir: %7[a-z], line %u of it%n", name, &i, &end), 2);
		assert_int_equal(end, strlen(line));
		whole++;
	}
	return whole;
}

static void test_reader_stands_still(void **state)
{
	int ends[2];
	pthread_t reader;
	struct reader r = {0};
	uint64_t before = log_lost(), lost;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(log_open(ends[1], NULL), 0);
	for (unsigned i = 0; i < LINES; i++)
		log_info("control, line %u of it", i);
	assert_true(log_lost() > before);
	r.fd = ends[0];
	pthread_create(&reader, NULL, read_to_end, &r);
	log_close(PATIENCE_S);
	close(ends[1]);
	pthread_join(reader, NULL);
	assert_int_equal(count_whole(r.text, &lost) + lost, LINES);
	assert_int_equal(lost, log_lost() - before);
	free(r.text);
	close(ends[0]);
}

static void test_writers_at_once(void **state)
{
	static char names[WRITERS][8] = {"one", "two", "three", "four"};
	int ends[2];
	pthread_t reader, writers[WRITERS];
	struct reader r = {0};
	uint64_t before = log_lost(), lost;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	r.fd = ends[0];
	pthread_create(&reader, NULL, read_to_end, &r);
	assert_int_equal(log_open(ends[1], NULL), 0);
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, log_lines, names[i]);
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	log_close(PATIENCE_S);
	close(ends[1]);
	pthread_join(reader, NULL);
	assert_int_equal(count_whole(r.text, &lost) + lost, LINES);
	assert_int_equal(lost, log_lost() - before);
	free(r.text);
	close(ends[0]);
}

/* Whether this process has a thread of that name. */
static bool has_thread(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	bool found = false;

	assert_non_null(tasks);
	while ((task = readdir(tasks)) != NULL) {
		char path[300], comm[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		file = fopen(path, "r");
		if (file && fgets(comm, sizeof(comm), file))
			found |= strncmp(comm, name, strlen(name)) == 0;
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return found;
}

/* It has a name of its own, for who looks at the process. */
static void test_thread(void **state)
{
	int ends[2];

	(void)state;
	assert_false(has_thread("weir-log"));
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(log_open(ends[1], NULL), 0);
	assert_true(has_thread("weir-log"));
	log_close(PATIENCE_S);
	assert_false(has_thread("weir-log"));
	close(ends[0]);
	close(ends[1]);
}

static void test_nobody_reads(void **state)
{
	int ends[2];
	uint64_t before = log_lost();

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	assert_int_equal(log_open(ends[1], NULL), 0);
	for (unsigned i = 0; i < 10; i++)
		log_info("into nothing, line %u", i);
	log_close(PATIENCE_S);
	assert_int_equal(log_lost() - before, 10);
	close(ends[1]);
}

/*
 * The last: its thread stays behind, as at the end of a process whose log nobody takes; also where
 * the wall clock is set back by an hour while it is waited for.
 */
static void test_end_with_full_pipe(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(log_open(ends[1], NULL), 0);
	for (unsigned i = 0; i < LINES; i++)
		log_info("control, line %u of it", i);
	ahead_s = HOUR_S;
	log_close(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_stands_still),
		cmocka_unit_test(test_writers_at_once),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_nobody_reads),
		cmocka_unit_test(test_end_with_full_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
