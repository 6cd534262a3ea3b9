/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A table holds the addresses of the allocated blocks. So a block that a library allocated and the
 * tested code frees is not counted.
 */
#include "fault.h"

#include "check.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <rte_malloc.h>

#include <jansson.h>

#define PLACES (1U << 18)

static struct {
	unsigned kinds;
	unsigned next, at; /* requests so far; the refused one */
	bool refused;
	const char *what;
	const void *caller;
} fault;
static _Thread_local bool armed;
static uint64_t usual; /* messages without a refusal */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const void *held[PLACES];
static unsigned n_held;

/* Returns the block's place in the table, or the place to insert it. */
static unsigned place_of(const void *block)
{
	unsigned at = (unsigned)(((uintptr_t)block >> 4) * 2654435761U) % PLACES;

	while (held[at] && held[at] != block)
		at = (at + 1) % PLACES;
	return at;
}

static void *hold(void *block)
{
	if (!block || !armed)
		return block;
	pthread_mutex_lock(&lock);
	assert_true(n_held < PLACES / 2);
	held[place_of(block)] = block;
	n_held++;
	pthread_mutex_unlock(&lock);
	return block;
}

/* Removes a block. Inserts all blocks after it again, since one of them can belong in its place. */
static void let_go(const void *block)
{
	unsigned at;

	if (!block)
		return;
	pthread_mutex_lock(&lock);
	at = place_of(block);
	if (held[at]) {
		held[at] = NULL;
		n_held--;
		for (at = (at + 1) % PLACES; held[at]; at = (at + 1) % PLACES) {
			const void *other = held[at];

			held[at] = NULL;
			held[place_of(other)] = other;
		}
	}
	pthread_mutex_unlock(&lock);
}

static bool refuse(enum fault_kind kind, const char *what, const void *caller, int error)
{
	if (!armed || !(fault.kinds & kind) || fault.next++ != fault.at)
		return false;
	fault.refused = true;
	fault.what = what;
	fault.caller = caller;
	errno = error;
	return true;
}

/* ---- functions that replace those of libraries */

#define CALLER __builtin_return_address(0)

/* Defines a function of memory with its parameters and arguments. */
#define MEMORY(name, parameters, arguments)                        \
	void *__real_##name parameters;                            \
	void *__wrap_##name parameters;                            \
	void *__wrap_##name parameters                             \
	{                                                          \
		return refuse(FAULT_MEMORY, #name, CALLER, ENOMEM) \
			       ? NULL                              \
			       : hold(__real_##name arguments);    \
	}

MEMORY(malloc, (size_t size), (size))
MEMORY(calloc, (size_t n, size_t size), (n, size))
MEMORY(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
MEMORY(strdup, (const char *text), (text))
MEMORY(strndup, (const char *text, size_t len), (text, len))
MEMORY(rte_zmalloc, (const char *type, size_t size, unsigned align), (type, size, align))
MEMORY(rte_zmalloc_socket, (const char *type, size_t size, unsigned align, int socket),
	(type, size, align, socket))
MEMORY(rte_malloc_socket, (const char *type, size_t size, unsigned align, int socket),
	(type, size, align, socket))

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
	let_go(block);
	__real_free(block);
}

void __real_rte_free(void *block);
void __wrap_rte_free(void *block);
void __wrap_rte_free(void *block)
{
	let_go(block);
	__real_rte_free(block);
}

/* Replaces the previous block by a new one, even at the same address. */
static void *moved(const void *previous, void *block)
{
	if (block)
		let_go(previous);
	return hold(block);
}

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size)
{
	const void *previous = block;

	if (refuse(FAULT_MEMORY, "realloc", CALLER, ENOMEM))
		return NULL;
	return moved(previous, __real_realloc(block, size));
}

void *__real_reallocarray(void *block, size_t n, size_t size);
void *__wrap_reallocarray(void *block, size_t n, size_t size);
void *__wrap_reallocarray(void *block, size_t n, size_t size)
{
	const void *previous = block;

	if (refuse(FAULT_MEMORY, "reallocarray", CALLER, ENOMEM))
		return NULL;
	return moved(previous, __real_reallocarray(block, n, size));
}

int __real_posix_memalign(void **block, size_t alignment, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size)
{
	int rc;

	if (refuse(FAULT_MEMORY, "posix_memalign", CALLER, ENOMEM))
		return ENOMEM;
	rc = __real_posix_memalign(block, alignment, size);
	if (rc == 0)
		hold(*block);
	return rc;
}

int __real_vasprintf(char **text, const char *format, va_list args);

static int print_text(char **text, const char *name, void *caller, const char *format, va_list args)
{
	int len;

	if (refuse(FAULT_MEMORY, name, caller, ENOMEM))
		return -1;
	len = __real_vasprintf(text, format, args);
	if (len >= 0)
		hold(*text);
	return len;
}

int __wrap_vasprintf(char **text, const char *format, va_list args);
int __wrap_vasprintf(char **text, const char *format, va_list args)
{
	return print_text(text, "vasprintf", CALLER, format, args);
}

/*
 * With FORTIFY the C library calls this function in place of vasprintf(), and the next in place of
 * asprintf().
 */
int __wrap___vasprintf_chk(char **text, int flag, const char *format, va_list args);
int __wrap___vasprintf_chk(char **text, int flag, const char *format, va_list args)
{
	return print_text(text, "vasprintf", CALLER, format, args);
}

int __wrap___asprintf_chk(char **text, int flag, const char *format, ...);
int __wrap___asprintf_chk(char **text, int flag, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = print_text(text, "asprintf", CALLER, format, args);
	va_end(args);
	return len;
}

int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **text, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = print_text(text, "asprintf", CALLER, format, args);
	va_end(args);
	return len;
}

FILE *__real_open_memstream(char **text, size_t *size);
FILE *__wrap_open_memstream(char **text, size_t *size);
FILE *__wrap_open_memstream(char **text, size_t *size)
{
	return refuse(FAULT_MEMORY, "open_memstream", CALLER, ENOMEM)
		       ? NULL
		       : __real_open_memstream(text, size);
}

/* A mapping is not held in the table, since it is not freed like a block. */
void *__real_mmap64(void *at, size_t len, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t len, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	return refuse(FAULT_MEMORY, "mmap", CALLER, ENOMEM)
		       ? MAP_FAILED
		       : __real_mmap64(at, len, protection, flags, fd, offset);
}

/* Defines a function of files that returns -1 on failure. */
#define KERNEL(name, error, parameters, arguments)                                                \
	int __real_##name parameters;                                                             \
	int __wrap_##name parameters;                                                             \
	int __wrap_##name parameters                                                              \
	{                                                                                         \
		return refuse(FAULT_KERNEL, #name, CALLER, error) ? -1 : __real_##name arguments; \
	}

KERNEL(open64, EMFILE, (const char *path, int flags, mode_t mode), (path, flags, mode))
KERNEL(openat64, EMFILE, (int at, const char *path, int flags, mode_t mode),
	(at, path, flags, mode))
KERNEL(socket, EMFILE, (int domain, int type, int protocol), (domain, type, protocol))
KERNEL(eventfd, EMFILE, (unsigned value, int flags), (value, flags))
KERNEL(pipe2, EMFILE, (int ends[2], int flags), (ends, flags))
KERNEL(mkdir, ENOSPC, (const char *path, mode_t mode), (path, mode))
KERNEL(fsync, ENOSPC, (int fd), (fd))
KERNEL(bind, ENOSPC, (int fd, const struct sockaddr *to, socklen_t len), (fd, to, len))
KERNEL(listen, ENOSPC, (int fd, int n), (fd, n))
KERNEL(rename, ENOSPC, (const char *from, const char *to), (from, to))
KERNEL(renameat, ENOSPC, (int a, const char *from, int b, const char *to), (a, from, b, to))

FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode)
{
	return refuse(FAULT_KERNEL, "fopen", CALLER, EMFILE) ? NULL : __real_fopen64(path, mode);
}

typedef void *thread_function(void *context);
int __real_pthread_create(
	pthread_t *out, const pthread_attr_t *as, thread_function *f, void *context);
int __wrap_pthread_create(
	pthread_t *out, const pthread_attr_t *as, thread_function *f, void *context);
int __wrap_pthread_create(
	pthread_t *out, const pthread_attr_t *as, thread_function *f, void *context)
{
	return refuse(FAULT_KERNEL, "pthread_create", CALLER, EAGAIN)
		       ? EAGAIN
		       : __real_pthread_create(out, as, f, context);
}

/* ---- the trial */

void fault_take_json(void)
{
	json_set_alloc_funcs(__wrap_malloc, __wrap_free);
}

static unsigned open_files(void)
{
	DIR *files = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(files);
	while (readdir(files))
		n++;
	closedir(files);
	return n;
}

/* Returns a text with the place of the refusal, for addr2line. */
static const char *describe(const struct fault_subject *subject)
{
	static char text[256];
	Dl_info at = {0};

	if (fault.caller)
		dladdr(fault.caller, &at);
	snprintf(text, sizeof(text), "%s, %s %u refused (%s at %#tx of %s)", subject->name,
		subject->kinds == FAULT_MEMORY ? "memory" : "thing", fault.at, fault.what,
		(const char *)fault.caller - (const char *)at.dli_fbase - 1,
		at.dli_fname ? at.dli_fname : "?");
	return text;
}

static bool is_expected(int rc)
{
	return rc == -ENOMEM ||
	       (fault.kinds & FAULT_KERNEL && (rc == -EMFILE || rc == -ENOSPC || rc == -EAGAIN));
}

static void check_rest(const struct fault_subject *subject, unsigned blocks, unsigned files)
{
	if (n_held != blocks)
		fail_msg("%s: %d blocks left", describe(subject), (int)(n_held - blocks));
	if (open_files() != files)
		fail_msg("%s: %d files left", describe(subject), (int)(open_files() - files));
}

/* Runs the subject with one request refused; returns its result. */
static int run_armed(const struct fault_subject *subject)
{
	int rc;

	fault.next = 0;
	fault.refused = false;
	armed = true;
	rc = subject->run(subject->argument);
	armed = false;
	return rc;
}

/* Returns true if the subject succeeded despite a refusal, without a message. */
static bool is_silent(const struct fault_subject *subject, int rc, uint64_t said)
{
	return fault.refused && rc == 0 && (!subject->said || subject->said() - said <= usual);
}

static bool try_one(const struct fault_subject *subject, unsigned *unsaid)
{
	unsigned blocks = n_held, files = open_files();
	uint64_t said = subject->said ? subject->said() : 0;
	int rc = run_armed(subject);

	if (!fault.refused)
		assert_int_equal(rc, subject->result);
	if (is_silent(subject, rc, said) && (*unsaid)++ >= subject->unsaid)
		fail_msg("%s: and nobody minds", describe(subject));
	if (fault.refused && rc && rc != subject->result && rc != subject->words &&
		!is_expected(rc))
		fail_msg("%s: says %d, %s", describe(subject), rc, strerror(-rc));
	check_rest(subject, blocks, files);
	return fault.refused;
}

/* On a busy machine most runs can report that they were late. */
#define USUAL_RUNS 12

/* Returns the least number of messages of several runs. */
static uint64_t usually_said(const struct fault_subject *subject)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < USUAL_RUNS; i++) {
		uint64_t said = subject->said ? subject->said() : 0;

		assert_int_equal(subject->run(subject->argument), subject->result);
		said = subject->said ? subject->said() - said : 0;
		least = said < least ? said : least;
	}
	return least;
}

void fault_try(const struct fault_subject *subject)
{
	unsigned unsaid = 0;

	fault.kinds = 0;
	usual = usually_said(subject);
	fault.kinds = subject->kinds;
	fault.at = 0;
	while (try_one(subject, &unsaid))
		fault.at++;
	if (fault.at < subject->at_least)
		fail_msg("%s: asks for %u things alone", subject->name, fault.at);
}
