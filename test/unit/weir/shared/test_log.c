/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A log call never waits for the reader, and each line is written or counted. A test that waits
 * would hang, and is ended by its time limit.
 */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <rte_log.h>

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

#define LINES   20000 /* more than a pipe and the ring hold */
#define WRITERS 4

#define PATIENCE_S 60

#define HOUR_S 3600

#define RING_BYTES (1 << 18) /* same as in log.c */
#define LINE_MOST  16383     /* longer lines of other writers are split */

static time_t ahead_s; /* shift of the wall clock */

/* Replaces the function of the C library. */
int clock_gettime(clockid_t id, struct timespec *now)
{
	int ret = (int)syscall(SYS_clock_gettime, id, now);

	if (ret == 0 && id == CLOCK_REALTIME)
		now->tv_sec += ahead_s;
	return ret;
}

/* Calls that fail; for streams, after `left` successful ones. */
static struct {
	bool thread, streams;
	unsigned left;
} refuse;

FILE *__real_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);
FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);
int __real_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions)
{
	if (refuse.streams && refuse.left-- == 0)
		return NULL;
	return __real_fopencookie(cookie, mode, functions);
}

int __wrap_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return refuse.thread ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
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

/*
 * Counts the lines of the text, which must be complete, and sums up the lost lines that it reports.
 */
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

TEST(test_reader_stands_still)
{
	int ends[2];
	pthread_t reader;
	struct reader r = {0};
	uint64_t before = log_lost(), lost;

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

TEST(test_writers_at_once)
{
	static char names[WRITERS][8] = {"one", "two", "three", "four"};
	int ends[2];
	pthread_t reader, writers[WRITERS];
	struct reader r = {0};
	uint64_t before = log_lost(), lost;

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

/* Returns true if this process has a thread of this name. */
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

/* The thread has a name, for tools that list threads. */
TEST(test_thread)
{
	int ends[2];

	assert_false(has_thread("weir-log"));
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(log_open(ends[1], NULL), 0);
	assert_true(has_thread("weir-log"));
	log_close(PATIENCE_S);
	assert_false(has_thread("weir-log"));
	close(ends[0]);
	close(ends[1]);
}

TEST(test_nobody_reads)
{
	int ends[2];
	uint64_t before = log_lost();

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

/* --- exact output ----------------------------------------------------------------------------- */

/* Reads to the end and expects this text. */
static void expect_text(int fd, const char *want)
{
	struct reader r = {.fd = fd};

	read_to_end(&r);
	assert_string_equal(r.text, want);
	free(r.text);
}

/* A line is written immediately, not with the next one. An empty line too. */
TEST(test_at_once)
{
	static const char *const lines[] = {"", "weir: a line", ""};
	int ends[2];
	char text[64];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(log_open(ends[1], NULL), 0);
	for (size_t i = 0; i < COUNT(lines); i++) {
		size_t len = strlen(lines[i]) + 1, n = 0;

		log_write(6, lines[i]);
		while (n < len)
			n += (size_t)read(ends[0], text + n, len - n);
		assert_memory_equal(text, lines[i], len - 1);
		assert_int_equal(text[len - 1], '\n');
	}
	log_close(PATIENCE_S);
	close(ends[1]);
	expect_text(ends[0], "");
	close(ends[0]);
}

static void be_journal(int fd)
{
	struct stat stat;
	char text[64];

	assert_int_equal(fstat(fd, &stat), 0);
	snprintf(text, sizeof(text), "%lu:%lu", (unsigned long)stat.st_dev,
		(unsigned long)stat.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
}

static size_t fill_pipe(int fd)
{
	static const char junk[4096];
	size_t all = 0;
	ssize_t n;

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while ((n = write(fd, junk, sizeof(junk))) > 0)
		all += (size_t)n;
	return all;
}

/* The ring, which is not drained, accepts lines up to its last byte. */
static void expect_full(bool journal)
{
	static char line[1024];
	const unsigned fit = RING_BYTES / sizeof(line);
	uint64_t before = log_lost(), lost;
	int ends[2];
	struct reader r = {0};
	pthread_t reader;
	size_t junk;

	assert_int_equal(pipe(ends), 0);
	junk = fill_pipe(ends[1]);
	if (journal)
		be_journal(ends[1]);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1 - (journal ? strlen("<6>") : 0)] = '\0';
	assert_int_equal(log_open(ends[1], NULL), 0);
	for (unsigned i = 0; i < fit; i++)
		log_write(6, line);
	assert_int_equal(log_lost(), before);
	log_write(6, "");
	assert_int_equal(log_lost(), before + 1);
	r.fd = ends[0];
	assert_int_equal(pthread_create(&reader, NULL, read_to_end, &r), 0);
	log_close(PATIENCE_S);
	close(ends[1]);
	pthread_join(reader, NULL);
	assert_memory_equal(r.text + junk, journal ? "<6>x" : "xxxx", 4);
	assert_memory_equal(r.text + junk + RING_BYTES - 4, "xxx\n", 4);
	assert_int_equal(strncmp(r.text + junk + RING_BYTES, "<4>", 3) == 0, journal);
	assert_int_equal(count_whole(r.text + junk + RING_BYTES + (journal ? 3 : 0), &lost), 0);
	assert_int_equal(lost, 1);
	free(r.text);
	close(ends[0]);
	unsetenv("JOURNAL_STREAM");
}

TEST(test_full)
{
	expect_full(false);
	expect_full(true);
}

/* A file is journald's socket if both its numbers agree. */
TEST(test_journal)
{
	static const struct {
		const char *format;
		unsigned device, inode; /* difference to the real numbers */
		bool journal;
	} rows[] = {
		{"%lu:%lu", 0, 0, true},
		{"%lu:%lu", 1, 0, false},
		{"%lu:%lu", 0, 1, false},
		{"%lu", 0, 0, false},
		{"", 0, 0, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct stat stat;
		int ends[2];
		char text[64];

		assert_int_equal(pipe(ends), 0);
		assert_int_equal(fstat(ends[1], &stat), 0);
		snprintf(text, sizeof(text), rows[i].format,
			(unsigned long)stat.st_dev + rows[i].device,
			(unsigned long)stat.st_ino + rows[i].inode);
		setenv("JOURNAL_STREAM", text, 1);
		assert_int_equal(log_open(ends[1], NULL), 0);
		log_write(5, "line");
		log_close(PATIENCE_S);
		close(ends[1]);
		expect_text(ends[0], rows[i].journal ? "<5>line\n" : "line\n");
		close(ends[0]);
	}
	unsetenv("JOURNAL_STREAM");
}

/*
 * Output of other writers becomes lines with their priority. An unfinished line ends when the log
 * closes.
 */
TEST(test_others)
{
	static char word[LINE_MOST + 3], want[2 * LINE_MOST];
	FILE *before = stderr;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	be_journal(ends[1]);
	memset(word, 'w', sizeof(word) - 1);
	snprintf(want, sizeof(want),
		"<3>one\n<3>\n<4>PMD: two\n<3>%.*s\n<3>ww\n<6>PMD: end\n"
		"<3>of all\n",
		LINE_MOST, word);
	assert_int_equal(log_open(ends[1], NULL), 0);
	assert_ptr_not_equal(stderr, before);
	assert_int_equal(fprintf(stderr, "one\n\n"), 5);
	assert_true(rte_log(RTE_LOG_WARNING, RTE_LOGTYPE_USER1, "PMD: two\n") >= 0);
	assert_int_equal(fprintf(stderr, "%s\n", word), sizeof(word));
	assert_true(rte_log(RTE_LOG_INFO, RTE_LOGTYPE_USER1, "PMD: end") >= 0);
	assert_int_equal(fprintf(stderr, "of all"), 6);
	assert_false(ferror(stderr));
	log_close(PATIENCE_S);
	assert_ptr_equal(stderr, before);
	close(ends[1]);
	expect_text(ends[0], want);
	close(ends[0]);
	unsetenv("JOURNAL_STREAM");
}

/* Without a thread or a stream the log is not open, and lines go where they went before. */
TEST(test_refused)
{
	static const struct {
		int ret;
		bool thread, streams;
		unsigned left;
	} rows[] = {
		{-EAGAIN, true, false, 0},
		{-ENOMEM, false, true, 0},
		{-ENOMEM, false, true, 1},
	};
	FILE *before = stderr;

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text;
		size_t size;
		FILE *said = open_memstream(&text, &size);

		assert_non_null(said);
		stderr = said;
		refuse.thread = rows[i].thread;
		refuse.streams = rows[i].streams;
		refuse.left = rows[i].left;
		assert_int_equal(log_open(STDOUT_FILENO, NULL), rows[i].ret);
		refuse.thread = refuse.streams = false;
		assert_ptr_equal(stderr, said);
		log_write(6, "as ever");
		stderr = before;
		fclose(said);
		assert_string_equal(text, "as ever\n");
		free(text);
	}
}

/*
 * The last test: its thread stays, as at the end of a process whose log is not read. The wait also
 * ends if the wall clock is set back by an hour.
 */
TEST(test_end_with_full_pipe)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(log_open(ends[1], NULL), 0);
	for (unsigned i = 0; i < LINES; i++)
		log_info("control, line %u of it", i);
	ahead_s = HOUR_S;
	log_close(0);
}
