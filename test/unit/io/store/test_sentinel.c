/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A store is opened only in its newest state and on its machine. Random histories of starts,
 * commits, crashes before or after any write of the sentinel, copies and restored copies: the
 * newest state opens, and every older one is refused. A store that another process changes while it
 * is open is closed.
 */
#include "check.h"

#include <poll.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "base/prng.h"
#include "store/sentinel.h"
#include "store/store.h"

#define LIMIT_MS 60000
#define COPIES   8

static char top[] = "/dev/shm/weir-sentinel-XXXXXX"; /* no disk to wait for */
static uint64_t machine = 7;
static int writes_left = -1; /* sentinel writes before a crash; -1: none */

int __wrap_store_machine(uint64_t *out);
int __wrap_store_machine(uint64_t *out)
{
	*out = machine;
	return 0;
}

int __real_sentinel_write(struct sentinel *sentinel, uint64_t commits, uint64_t word, bool sync);
int __wrap_sentinel_write(struct sentinel *sentinel, uint64_t commits, uint64_t word, bool sync);

int __wrap_sentinel_write(struct sentinel *sentinel, uint64_t commits, uint64_t word, bool sync)
{
	if (writes_left == 0)
		_exit(0);
	writes_left -= writes_left > 0;
	return __real_sentinel_write(sentinel, commits, word, sync);
}

static void run_shell(const char *format, const char *a, const char *b)
{
	char command[512];

	snprintf(command, sizeof(command), format, a, b);
	assert_int_equal(system(command), 0);
}

struct life {
	char dir[64], copy[COPIES][80], scratch[80];
	bool copied[COPIES];
	uint64_t value;
};

static struct life begin_life(const char *name)
{
	struct life life = {0};

	snprintf(life.dir, sizeof(life.dir), "%s/%s", top, name);
	snprintf(life.scratch, sizeof(life.scratch), "%s.scratch", life.dir);
	for (unsigned i = 0; i < COPIES; i++)
		snprintf(life.copy[i], sizeof(life.copy[i]), "%s.copy%u", life.dir, i);
	assert_int_equal(store_create(life.dir, (struct store_identity){0, 1}), 0);
	return life;
}

static void copy_store(const char *from, const char *to)
{
	run_shell("rm -rf %s%s", to, "");
	run_shell("cp -a %s %s", from, to);
}

/* Commits in the file, also if its journal must be replayed first. */
static uint64_t commits_in(const struct life *life, const char *directory)
{
	char file[96];
	sqlite3_stmt *statement;
	sqlite3 *sqlite;
	uint64_t commits;

	copy_store(directory, life->scratch);
	snprintf(file, sizeof(file), "%s/records", life->scratch);
	assert_int_equal(sqlite3_open(file, &sqlite), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(sqlite, "SELECT commits FROM head", -1, &statement, NULL), 0);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	commits = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(sqlite);
	return commits;
}

static int commit_value(struct store *store, uint64_t value)
{
	struct pollfd fd = {.fd = store_fd(store), .events = POLLIN};

	assert_int_equal(store_put(store, 1, (uint32_t)(value % 5), &value, sizeof(value)), 0);
	assert_int_equal(store_commit(store), 0);
	assert_int_equal(poll(&fd, 1, LIMIT_MS), 1);
	return store_result(store);
}

/* Starts in a child, which commits, and can end before any write of the sentinel. */
static void run_start(struct life *life, struct prng *prng)
{
	unsigned n = prng_below(prng, 3);
	int status, crash = prng_below(prng, 4) ? (int)prng_below(prng, 3) : -1;
	pid_t pid = fork();

	if (pid == 0) {
		struct store *store;
		uint64_t epoch;

		writes_left = crash;
		if (store_open(life->dir, &store, &epoch))
			_exit(1);
		for (unsigned i = 0; i < n; i++)
			if (commit_value(store, life->value + i))
				_exit(2);
		store_close(store);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	life->value += n;
}

/* Restores a copy: refused if it is older than the sentinel's number, good if it is the newest. */
static void restore_copy(struct life *life, unsigned i, unsigned *refused)
{
	uint64_t newest = commits_in(life, life->dir), old = commits_in(life, life->copy[i]);
	struct sentinel sentinel;
	char now[80];
	int err;

	assert_int_equal(sentinel_read(&sentinel, life->dir), 0);
	snprintf(now, sizeof(now), "%s.now", life->dir);
	copy_store(life->dir, now);
	copy_store(life->copy[i], life->dir);
	err = store_look(life->dir);
	if (sentinel.sequence && old < sentinel.commits)
		assert_int_equal(err, -EILSEQ);
	else if (old == newest)
		assert_int_equal(err, 0);
	*refused += err != 0;
	copy_store(now, life->dir);
	assert_int_equal(store_look(life->dir), 0);
}

TEST(test_histories)
{
	unsigned refused = 0;

	for (uint64_t seed = 1; seed <= ROUNDS(6); seed++) {
		struct life life;
		struct prng prng;
		char name[16];

		snprintf(name, sizeof(name), "life%u", (unsigned)seed);
		life = begin_life(name);
		prng_seed(&prng, seed);
		for (unsigned step = 0; step < 40; step++) {
			unsigned i = prng_below(&prng, COPIES), what = prng_below(&prng, 3);

			if (what == 0)
				run_start(&life, &prng);
			else if (what == 1 || !life.copied[i])
				copy_store(life.dir, life.copy[i]);
			else
				restore_copy(&life, i, &refused);
			life.copied[i] |= what == 1;
			assert_int_equal(store_look(life.dir), 0);
		}
	}
	assert_true(refused > 0);
}

/* Only an operator's decision makes an older store, or one of another machine, acceptable. */
TEST(test_accepted)
{
	struct life life = begin_life("accepted");
	struct store *store = NULL;
	struct prng prng;
	uint64_t epoch;

	prng_seed(&prng, 1);
	copy_store(life.dir, life.copy[0]); /* made by a version without owners */
	run_start(&life, &prng);
	copy_store(life.dir, life.copy[1]);
	assert_int_equal(store_open(life.dir, &store, &epoch), 0);
	copy_store(life.dir, life.copy[2]); /* in this start */
	assert_int_equal(commit_value(store, 1), 0);
	store_close(store);
	for (unsigned i = 3; i-- > 0;) {
		copy_store(life.copy[i], life.dir);
		assert_int_equal(store_look(life.dir), -EILSEQ);
		assert_int_equal(store_open(life.dir, &store, &epoch), -EILSEQ);
		assert_int_equal(store_accept(life.dir), 0);
		assert_int_equal(store_look(life.dir), 0);
	}
	machine = 8;
	assert_int_equal(store_look(life.dir), -EXDEV);
	assert_int_equal(store_open(life.dir, &store, &epoch), -EXDEV);
	machine = 0; /* such as in a container */
	assert_int_equal(store_look(life.dir), 0);
	machine = 8;
	assert_int_equal(store_accept(life.dir), 0);
	assert_int_equal(store_open(life.dir, &store, &epoch), 0);
	store_close(store);
	machine = 7;
	assert_int_equal(store_look(life.dir), -EXDEV);
}

/* A sentinel that is missing, damaged or not writable costs its protection, and no start. */
TEST(test_lost_sentinel)
{
	struct life life = begin_life("lost");
	struct store *store;
	char path[80];
	uint64_t epoch;

	snprintf(path, sizeof(path), "%s.sentinel", life.dir);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(store_open(life.dir, &store, &epoch), 0);
		assert_int_equal(store_sentinel_missing(store), i > 0);
		assert_int_equal(store_sentinel_error(store) != 0, i == 3);
		assert_int_equal(commit_value(store, i), 0);
		store_close(store);
		unlink(path);
		if (i == 1)
			run_shell("head -c 9000 /dev/zero > %s%s", path, "");
		else if (i == 2)
			assert_int_equal(mkfifo(path, 0600), 0);
	}
}

/* Files of a store are exchanged or written while it is open: closed until they are back. */
TEST(test_exchanged)
{
	static const struct {
		const char *change; /* uses the store and an older copy */
		int result;
	} rows[] = {
		{"rm %s/records* && cp -a %s/* $0", -ESTALE},
		{"cat %.0s%s/records > $0/records", -ESTALE},
		{"touch %s/records %.0s", 0},
		{"cp %s/records $0.r %.0s && mv $0.r $0/records", 0},
		{"mv %s/records %.0s$0/r2", -ENOENT},
		{"mv %s/records %.0s$0/r2 && mkfifo $0/records", -EMEDIUMTYPE},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char name[24], now[80], text[300], command[512];
		struct store *store;
		struct life life;
		uint64_t epoch;

		snprintf(name, sizeof(name), "exchanged%zu", i);
		life = begin_life(name);
		snprintf(now, sizeof(now), "%s.now", life.dir);
		assert_int_equal(store_open(life.dir, &store, &epoch), 0);
		assert_int_equal(commit_value(store, 1), 0);
		copy_store(life.dir, life.copy[0]);
		assert_int_equal(commit_value(store, 6), 0);
		copy_store(life.dir, now);
		snprintf(text, sizeof(text), rows[i].change, life.dir, life.copy[0]);
		snprintf(command, sizeof(command), "sh -c '%s' %s", text, life.dir);
		assert_int_equal(system(command), 0);
		assert_int_equal(commit_value(store, 11), rows[i].result);
		if (rows[i].result) {
			assert_int_equal(commit_value(store, 16), rows[i].result);
			snprintf(text, sizeof(text), "rm -f %s/* && cp -a %s/* %s", life.dir, now,
				life.dir);
			assert_int_equal(system(text), 0);
			assert_int_equal(commit_value(store, 21), 0);
		}
		store_close(store);
	}
}

static int make_top(void **state)
{
	return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
	run_shell("rm -rf %s%s", top, "");
	return 0;
}

TEST_GROUP(make_top, remove_top)
