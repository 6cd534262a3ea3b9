/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Log lines of Weir, and of EAL and its drivers.
 */
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <unistd.h>

#include <rte_common.h>
#include <rte_log.h>

/* Some thousand lines: a refused configuration has a few hundred. A power of two. */
#define RING_BYTES (UINT32_C(1) << 18)

/* The longest line that goes into the ring as one. */
#define LINE_BYTES 16384

#define LOST_BYTES 512 /* bytes of the line with the number of lost lines */

/* A file of a library that writes into the ring. Its own lock protects this struct. */
struct log_stream {
	enum log_source source;
	FILE *file;
	size_t len; /* the beginning of an incomplete line */
	char line[LINE_BYTES];
	char buffer[LINE_BYTES];
};

static struct log_stream streams[] = {{.source = LOG_OF_DPDK}, {.source = LOG_OF_STDERR}};

/*
 * The ring holds the bytes from `tail` to `head`; both only grow. The lock makes all writers one
 * producer. The thread is the consumer.
 */
static struct {
	const struct log_speakers *speakers; /* NULL: lines of libraries stay unchanged */
	pthread_mutex_t lock;
	FILE *before; /* stderr; NULL: the ring is not open */
	bool journal;
	int fd;
	sem_t filled;
	sem_t over; /* the thread has ended, except for its return */
	pthread_t thread;
	uint32_t head, tail;
	uint64_t lost, reported; /* `reported`: count at the start of the thread */
	bool ends;
	char bytes[RING_BYTES];
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void count_lost(uint64_t lines)
{
	__atomic_fetch_add(&ring.lost, lines, __ATOMIC_RELAXED);
}

/* Copies bytes to a place in the ring. Returns the place after them. */
static uint32_t copy_in(uint32_t head, const char *at, size_t len)
{
	uint32_t place = head % RING_BYTES;
	size_t first = RING_BYTES - place;

	first = len < first ? len : first;
	memcpy(ring.bytes + place, at, first);
	memcpy(ring.bytes, at + first, len - first);
	return head + (uint32_t)len;
}

void log_write(int priority, const char *line)
{
	const size_t len = strlen(line);
	char prefix[8] = "";
	size_t before = 0;
	uint32_t head, room;

	if (!ring.before) {
		fprintf(stderr, "%s\n", line);
		return;
	}
	if (ring.journal)
		before = (size_t)snprintf(prefix, sizeof(prefix), "<%d>", priority);
	pthread_mutex_lock(&ring.lock);
	head = ring.head;
	room = RING_BYTES - (head - __atomic_load_n(&ring.tail, __ATOMIC_ACQUIRE));
	if (before + len + 1 > room) {
		count_lost(1);
	} else {
		head = copy_in(head, prefix, before);
		head = copy_in(head, line, len);
		head = copy_in(head, "\n", 1);
		__atomic_store_n(&ring.head, head, __ATOMIC_RELEASE);
		sem_post(&ring.filled);
	}
	pthread_mutex_unlock(&ring.lock);
}

static void end_line(struct log_stream *stream)
{
	/* The level of the present line of DPDK: a level of syslog, or one more. */
	int priority = stream->source == LOG_OF_DPDK ? rte_log_cur_msg_loglevel() - 1
						     : LOG_PRIORITY_ERROR;

	stream->line[stream->len] = '\0';
	stream->len = 0;
	if (ring.speakers)
		ring.speakers->line(stream->source, priority, stream->line);
	else
		log_write(priority, stream->line);
}

/* Called by a stream. Stores complete lines. Never fails. */
static ssize_t take_bytes(void *cookie, const char *at, size_t len)
{
	struct log_stream *stream = cookie;

	for (size_t i = 0; i < len; i++) {
		if (at[i] == '\n' || stream->len == LINE_BYTES - 1)
			end_line(stream);
		if (at[i] != '\n')
			stream->line[stream->len++] = at[i];
	}
	return (ssize_t)len;
}

/* Can block without limit. Returns the number of bytes that the file refused. */
static size_t write_all(const char *at, size_t len)
{
	while (len > 0) {
		ssize_t n = write(ring.fd, at, len);

		if (n >= 0) {
			at += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			poll(&(struct pollfd){.fd = ring.fd, .events = POLLOUT}, 1, -1);
		} else if (errno != EINTR) {
			return len;
		}
	}
	return 0;
}

static void write_lost(uint64_t *reported)
{
	uint64_t lost = log_lost();
	const char *prefix = ring.journal ? "<4>" : "";
	char text[LOST_BYTES], *line = NULL;
	int n;

	if (lost == *reported)
		return;
	if (ring.speakers)
		line = ring.speakers->lost(lost - *reported);
	if (line)
		n = snprintf(text, sizeof(text), "%s%.*s\n", prefix, LOST_BYTES - 8, line);
	else
		n = snprintf(text, sizeof(text),
			"%sweir: %" PRIu64 " log lines before this one were "
			"lost because the reader was too slow\n",
			prefix, lost - *reported);
	if (write_all(text, (size_t)n) == 0)
		*reported = lost;
	free(line);
}

/* Writes the first contiguous piece of the ring. */
static void write_filled(uint32_t n)
{
	uint32_t place = ring.tail % RING_BYTES;
	const char *at = ring.bytes + place;
	uint64_t lines = 0;
	size_t refused;

	n = n < RING_BYTES - place ? n : RING_BYTES - place;
	refused = write_all(at, n);
	for (size_t i = n - refused; i < n; i++)
		lines += at[i] == '\n';
	count_lost(lines);
	__atomic_store_n(&ring.tail, ring.tail + n, __ATOMIC_RELEASE);
}

static void *write_ring(void *arg)
{
	uint64_t reported = ring.reported;

	(void)arg;
	for (;;) {
		bool ends = __atomic_load_n(&ring.ends, __ATOMIC_ACQUIRE);
		uint32_t n = __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE) - ring.tail;

		if (n > 0) {
			write_filled(n);
			continue;
		}
		write_lost(&reported);
		if (ends)
			break;
		sem_wait(&ring.filled);
	}
	sem_post(&ring.over);
	return NULL;
}

uint64_t log_lost(void)
{
	return __atomic_load_n(&ring.lost, __ATOMIC_RELAXED);
}

/* Returns true if journald set JOURNAL_STREAM for this stderr, so that lines have a priority. */
static bool is_journal(int fd)
{
	const char *text = getenv("JOURNAL_STREAM");
	unsigned long device, inode;
	struct stat file;

	return text && sscanf(text, "%lu:%lu", &device, &inode) == 2 && fstat(fd, &file) == 0 &&
	       file.st_dev == device && file.st_ino == inode;
}

static void close_streams(void)
{
	for (size_t i = 0; i < RTE_DIM(streams); i++) {
		if (streams[i].file)
			fclose(streams[i].file);
		if (streams[i].len > 0)
			end_line(&streams[i]);
		streams[i].file = NULL;
	}
}

static int open_streams(void)
{
	for (size_t i = 0; i < RTE_DIM(streams); i++) {
		struct log_stream *stream = &streams[i];

		stream->len = 0;
		stream->file = fopencookie(
			stream, "w", (cookie_io_functions_t){.write = take_bytes});
		if (!stream->file) {
			close_streams();
			return -ENOMEM;
		}
		setvbuf(stream->file, stream->buffer, _IOLBF, sizeof(stream->buffer));
	}
	return 0;
}

int log_open(int fd, const struct log_speakers *speakers)
{
	int err = open_streams();

	if (err)
		return err;
	ring.speakers = speakers;
	ring.fd = fd;
	ring.journal = is_journal(fd);
	ring.ends = false;
	ring.reported = log_lost();
	sem_init(&ring.filled, 0, 0);
	sem_init(&ring.over, 0, 0);
	err = pthread_create(&ring.thread, NULL, write_ring, NULL);
	if (err) {
		close_streams();
		return -err;
	}
	pthread_setname_np(ring.thread, "weir-log");
	ring.before = stderr;
	stderr = streams[LOG_OF_STDERR].file;
	rte_openlog_stream(streams[LOG_OF_DPDK].file);
	return 0;
}

void log_close(unsigned patience_s)
{
	struct timespec until;
	int ret;

	rte_openlog_stream(NULL);
	stderr = ring.before;
	close_streams();
	ring.before = NULL;
	__atomic_store_n(&ring.ends, true, __ATOMIC_RELEASE);
	sem_post(&ring.filled);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += patience_s;
	/* Not pthread_clockjoin_np(): ThreadSanitizer cannot follow it and misses the thread. */
	do
		ret = sem_clockwait(&ring.over, CLOCK_MONOTONIC, &until);
	while (ret < 0 && errno == EINTR);
	if (ret == 0)
		pthread_join(ring.thread, NULL);
}
