/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * To be preloaded: shifts the time of day of a process by WEIR_SHIFT_S seconds. Time namespaces
 * shift all clocks except this one.
 *
 * If WEIR_SHIFT_FILE names a file, its content is used instead, and writing to it sets the clock of
 * a running process. The file has two native 8-byte numbers: the seconds, and 1 if the kernel
 * reports the clock as synchronised, or 0.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

struct shift {
	int64_t s, synchronised;
};

static const struct shift *file;
static int64_t fixed_s;

/* Runs before main(), when no thread exists. */
__attribute__((constructor)) static void find_shift(void)
{
	const char *path = getenv("WEIR_SHIFT_FILE"), *text = getenv("WEIR_SHIFT_S");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at;

	fixed_s = text ? strtoll(text, NULL, 10) : 0;
	if (!path)
		return;
	at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*file), PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		abort();
	close(fd);
	file = at;
}

static int64_t shift_s(void)
{
	return file ? __atomic_load_n(&file->s, __ATOMIC_RELAXED) : fixed_s;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
	int ret = (int)syscall(SYS_clock_gettime, id, now);

	if (ret == 0 && id == CLOCK_REALTIME)
		now->tv_sec += shift_s();
	return ret;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

int adjtimex(struct timex *kernel)
{
	int ret = (int)syscall(SYS_adjtimex, kernel);

	if (!file || ret < 0)
		return ret;
	return __atomic_load_n(&file->synchronised, __ATOMIC_RELAXED) ? TIME_OK : TIME_ERROR;
}
