/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Data that was reported as durable is there: after SIGKILL, on a full disk, and next to damage.
 * Each test has its own directory below one that is made for the run.
 */
#include "check.h"
#include "scope.h"

#include <poll.h>
#include <signal.h>
#include <time.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "base/prng.h"
#include "store/store.h"

END_POINTER(store_close, struct store *)

#define LIMIT_MS 60000
#define KIND     1
#define NOBODY   65534

static char top[] = "/tmp/weir-store-XXXXXX";

struct place {
	char dir[64], file[96];
};

static struct place make_store_place(const char *name)
{
	struct place p;

	snprintf(p.dir, sizeof(p.dir), "%s/%s", top, name);
	snprintf(p.file, sizeof(p.file), "%s/records", p.dir);
	return p;
}

static struct store *open_test_store(const struct place *p, uint64_t want)
{
	struct store *store = NULL;
	uint64_t epoch = 0;

	assert_int_equal(store_look(p->dir), 0); /* in any state after a crash */
	assert_int_equal(store_open(p->dir, &store, &epoch), 0);
	if (want)
		assert_int_equal(epoch, want);
	return store;
}

static int wait_commit_end(struct store *store)
{
	struct pollfd fd = {.fd = store_fd(store), .events = POLLIN};

	assert_int_equal(poll(&fd, 1, LIMIT_MS), 1);
	return store_result(store);
}

static int commit_then_wait(struct store *store)
{
	assert_int_equal(store_commit(store), 0);
	return wait_commit_end(store);
}

static void put_text(struct store *store, uint8_t kind, uint64_t id, const char *text)
{
	assert_int_equal(store_put(store, kind, id, text, strlen(text)), 0);
}

/* Appends everything of a kind to one line, "id=text " each. */
static int append_record_line(void *context, uint64_t id, const void *record, size_t len)
{
	char *line = context;
	size_t used = strlen(line);

	snprintf(line + used, 200 - used, "%" PRIu64 "=%.*s ", id, (int)len, (const char *)record);
	return 0;
}

static void assert_records(struct store *store, uint8_t kind, const char *want)
{
	char line[200] = "";

	assert_int_equal(store_each(store, kind, append_record_line, line), 0);
	assert_string_equal(line, want);
}

TEST(test_starts_are_counted)
{
	struct place p = make_store_place("starts");
	struct store *store = NULL;
	uint64_t epoch = 77;

	assert_int_equal(store_open(p.dir, &store, &epoch), -ENOENT);
	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), -EEXIST);
	assert_int_equal(
		store_open_recovering(p.dir, STORE_CLOCK_LEAST_S, &store, &epoch), -EEXIST);
	for (uint64_t i = 1; i < 10; i++) {
		store = open_test_store(&p, i);
		assert_false(store_recovering(store));
		if (i % 3 == 0)
			assert_int_equal(commit_then_wait(store), 0);
		store_close(store);
	}
	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), -EEXIST);
	store_close(NULL);
}

/*
 * A store that started recovering stays so: records of policies that it lacks may have been lost.
 */
TEST(test_recovering)
{
	struct place p = make_store_place("blank");
	ENDED_BY(store_close_at) struct store *store;
	uint64_t epoch;

	assert_int_equal(store_open_recovering(p.dir, 0, &store, &epoch), -ETIME);
	assert_int_equal(
		store_open_recovering(p.dir, STORE_CLOCK_LEAST_S - 1, &store, &epoch), -ETIME);
	assert_int_equal(store_open(p.dir, &store, &epoch), -ENOENT);
	assert_int_equal(store_open_recovering(p.dir, STORE_CLOCK_LEAST_S, &store, &epoch), 0);
	assert_int_equal(epoch, STORE_CLOCK_LEAST_S + 1);
	assert_true(store_recovering(store));
	store_close(store);
	store = open_test_store(&p, epoch + 1);
	assert_true(store_recovering(store));
	put_text(store, KIND, 1, "one");
	assert_int_equal(commit_then_wait(store), 0);
	store_close(store);
	store = open_test_store(&p, epoch + 2);
	assert_true(store_recovering(store));
}

/* A user who may write a directory but not read it can have a store in it. */
TEST(test_unreadable_parent)
{
	struct place parent = make_store_place("unread"), p = make_store_place("unread/store");
	int status;
	pid_t pid;

	assert_int_equal(mkdir(parent.dir, 0700), 0);
	assert_int_equal(chmod(parent.dir, 0300), 0);
	assert_int_equal(chmod(top, 0711), 0);
	assert_true(geteuid() != 0 || chown(parent.dir, NOBODY, NOBODY) == 0);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY))
			_exit(2);
		_exit(access(parent.dir, R_OK) == 0 ||
			store_create(p.dir, (struct store_identity){0, 1}) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(parent.dir, 0700), 0);
	assert_int_equal(store_look(p.dir), 0);
}

/* An existing empty directory is not a store, and neither is one with half of a store. */
TEST(test_directory)
{
	struct place p = make_store_place("directory"), deep = make_store_place("none/deep");
	struct store *store = NULL;
	char half[120] = "";
	uint64_t epoch;
	int fd;

	assert_int_equal(mkdir(p.dir, 0700), 0);
	assert_int_equal(store_look(p.dir), -ENOENT);
	assert_int_equal(store_open(p.dir, &store, &epoch), -ENOENT);
	snprintf(half, sizeof(half), "%s.new", p.file);
	fd = open(half, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, half, sizeof(half)), sizeof(half));
	close(fd);
	assert_int_equal(store_open(p.dir, &store, &epoch), -ENOENT);
	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	assert_int_equal(access(half, F_OK), -1);
	store_close(open_test_store(&p, 1));
	assert_int_equal(store_create(deep.dir, (struct store_identity){0, 1}), -ENOENT);
	assert_int_equal(
		store_open_recovering(deep.dir, STORE_CLOCK_LEAST_S, &store, &epoch), -ENOENT);
	assert_int_equal(store_create("/dev/null", (struct store_identity){0, 1}), -ENOTDIR);
}

TEST(test_records)
{
	struct place p = make_store_place("records");
	ENDED_BY(store_close_at) struct store *store;

	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	store = open_test_store(&p, 1);
	assert_records(store, KIND, "");
	put_text(store, KIND, 2, "two");
	put_text(store, KIND, 0, "");
	put_text(store, KIND, 256, "first");
	put_text(store, 0, 5, "of kind 0");
	put_text(store, 255, UINT32_MAX, "last");
	put_text(store, KIND, 256, "second");
	assert_int_equal(commit_then_wait(store), 0);
	put_text(store, KIND, 2, "2");
	store_discard(store);
	put_text(store, KIND, 3, "never handed over");
	store_close(store);
	store = open_test_store(&p, 2);
	assert_records(store, KIND, "0= 2=two 256=second ");
	assert_records(store, 0, "5=of kind 0 ");
	assert_records(store, 2, "");
	assert_records(store, 254, "");
	assert_records(store, 255, "4294967295=last ");
	put_text(store, KIND, 2, "2");
	assert_int_equal(commit_then_wait(store), 0);
	store_close(store);
	store = open_test_store(&p, 3);
	assert_records(store, KIND, "0= 2=2 256=second ");
}

static int refuse_second(void *context, uint64_t id, const void *record, size_t len)
{
	(void)id, (void)record, (void)len;
	return ++*(int *)context == 2 ? -EDOM : 1;
}

TEST(test_each_stops)
{
	struct place p = make_store_place("stops");
	ENDED_BY(store_close_at) struct store *store;
	int calls = 0;

	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	store = open_test_store(&p, 1);
	for (uint32_t id = 0; id < 4; id++)
		put_text(store, KIND, id, "x");
	assert_int_equal(commit_then_wait(store), 0);
	assert_int_equal(store_each(store, KIND, refuse_second, &calls), -EDOM);
	assert_int_equal(calls, 2);
}

/* One commit at a time, whose end is reported once; close waits for a running commit. */
TEST(test_ends_are_told_once)
{
	struct place p = make_store_place("ends");
	ENDED_BY(store_close_at) struct store *store;
	struct pollfd fd;

	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	store = open_test_store(&p, 1);
	fd = (struct pollfd){.fd = store_fd(store), .events = POLLIN};
	assert_int_equal(store_result(store), -EAGAIN);
	assert_int_equal(store_commit(store), 0); /* an empty commit is durable soon */
	assert_int_equal(store_commit(store), -EBUSY);
	put_text(store, KIND, 1, "waits");
	assert_int_equal(poll(&fd, 1, LIMIT_MS), 1);
	assert_int_equal(store_commit(store), -EBUSY);
	assert_int_equal(store_result(store), 0);
	assert_int_equal(store_result(store), -EAGAIN);
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(store_commit(store), 0);
	store_close(store);
	store = open_test_store(&p, 2);
	assert_records(store, KIND, "1=waits ");
}

/* In one process and in another; also for creation. */
TEST(test_one_owner)
{
	struct place p = make_store_place("owner");
	struct store *store, *other = NULL;
	uint64_t epoch;
	int status;
	pid_t pid;

	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	store = open_test_store(&p, 1);
	assert_int_equal(store_look(p.dir), -EBUSY);
	assert_int_equal(store_open(p.dir, &other, &epoch), -EBUSY);
	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), -EBUSY);
	pid = fork();
	if (pid == 0)
		_exit(store_open(p.dir, &other, &epoch) == -EBUSY ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	store_close(store);
	store_close(open_test_store(&p, 2));
}

/* Fills a record with bytes that depend on its id and round, so that no other one equals it. */
static size_t fill_record_bytes(uint8_t *bytes, size_t most, uint64_t id, uint64_t round)
{
	struct prng prng;
	size_t len;

	prng_seed(&prng, (uint64_t)id << 32 ^ round);
	len = prng_below(&prng, (uint32_t)most);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)prng_next(&prng);
	return len;
}

#define MODEL_IDS  3000
#define MODEL_MOST 2500

struct model {
	uint64_t round[MODEL_IDS]; /* 0: never put */
	uint64_t seed;
	unsigned seen;
};

static int compare_model_record(void *context, uint64_t id, const void *record, size_t len)
{
	struct model *model = context;
	uint8_t want[MODEL_MOST];

	if (id >= MODEL_IDS || model->round[id] == 0 ||
		len != fill_record_bytes(want, sizeof(want), id, model->round[id]) ||
		memcmp(record, want, len) != 0)
		fail_msg("seed %" PRIu64 ": record %" PRIu64, model->seed, id);
	model->seen++;
	return 0;
}

static void assert_model(struct store *store, struct model *model)
{
	unsigned known = 0;

	model->seen = 0;
	assert_int_equal(store_each(store, KIND, compare_model_record, model), 0);
	for (unsigned id = 0; id < MODEL_IDS; id++)
		known += model->round[id] != 0;
	assert_int_equal(model->seen, known);
}

/* Some megabytes, in commits of any size, each record written several times. */
TEST(test_grows)
{
	static struct model model = {.seed = 1};
	struct place p = make_store_place("grows");
	uint8_t bytes[MODEL_MOST];
	struct store *store;
	struct prng prng;

	prng_seed(&prng, model.seed);
	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	for (uint64_t start = 1; start < 4; start++) {
		store = open_test_store(&p, start);
		assert_model(store, &model);
		for (unsigned commits = 0; commits < 20; commits++) {
			uint32_t n = 1 + prng_below(&prng, 1U << prng_below(&prng, 13));

			for (uint32_t i = 0; i < n; i++) {
				uint32_t id = prng_below(&prng, MODEL_IDS);
				size_t len;

				model.round[id]++;
				len = fill_record_bytes(bytes, sizeof(bytes), id, model.round[id]);
				assert_int_equal(store_put(store, KIND, id, bytes, len), 0);
			}
			assert_int_equal(commit_then_wait(store), 0);
			assert_model(store, &model);
		}
		store_close(store);
	}
}

/* ---- crashes */

#define CRASH_IDS 16

/* Shared memory with the rounds reported as durable, which survives the child's death. */
struct told {
	uint64_t epoch, round;
};

/* Each commit has all ids, with the same round. */
static void put_round(struct store *store, uint64_t round)
{
	for (uint32_t id = 0; id < CRASH_IDS; id++)
		if (store_put(store, KIND, id, &round, sizeof(round)))
			_exit(2);
}

static __attribute__((noreturn)) void commit_forever(
	const struct place *p, uint64_t round, struct told *told)
{
	struct store *store;
	uint64_t epoch;

	if (store_open(p->dir, &store, &epoch))
		_exit(1);
	__atomic_store_n(&told->epoch, epoch, __ATOMIC_RELEASE);
	while (true) {
		struct pollfd fd = {.fd = store_fd(store), .events = POLLIN};

		put_round(store, ++round);
		if (store_commit(store) || poll(&fd, 1, LIMIT_MS) != 1 || store_result(store))
			_exit(3);
		__atomic_store_n(&told->round, round, __ATOMIC_RELEASE);
	}
}

struct rounds {
	uint64_t round;
	unsigned n;
};

static int same_round(void *context, uint64_t id, const void *record, size_t len)
{
	struct rounds *rounds = context;
	uint64_t round;

	assert_int_equal(len, sizeof(round));
	memcpy(&round, record, sizeof(round));
	assert_int_equal(id, rounds->n);
	if (rounds->n++)
		assert_int_equal(round, rounds->round);
	rounds->round = round;
	return 0;
}

/* Waits for a random moment, during the opening or after it. */
static void wait_some(const struct told *told, uint64_t epoch, struct prng *prng)
{
	struct timespec nap = {.tv_nsec = prng_below(prng, 1U << (16 + prng_below(prng, 11)))};
	const struct timespec tick = {.tv_nsec = 100000};
	bool opened_first = prng_below(prng, 4) != 0;

	for (unsigned i = 0; opened_first && i < 10 * LIMIT_MS; i++) {
		if (__atomic_load_n(&told->epoch, __ATOMIC_ACQUIRE) != epoch)
			break;
		nanosleep(&tick, NULL);
	}
	nanosleep(&nap, NULL);
}

/* Kills a child; returns the round that it left. */
static uint64_t crash_store_child(
	const struct place *p, uint64_t round, struct told *told, struct prng *prng)
{
	struct rounds rounds = {0};
	uint64_t before = told->epoch;
	struct store *store;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		commit_forever(p, round, told);
	wait_some(told, before, prng);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_true(told->epoch >= before);
	store = open_test_store(p, 0);
	assert_int_equal(store_each(store, KIND, same_round, &rounds), 0);
	assert_true(rounds.n == CRASH_IDS || told->round == 0);
	assert_true(rounds.round >= told->round);     /* reported rounds are there */
	assert_true(rounds.round <= told->round + 1); /* at most the one in progress is added */
	store_close(store);
	return rounds.round;
}

TEST(test_sigkill)
{
	struct told *told = mmap(
		NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const uint64_t seed = 1;
	struct place p = make_store_place("crash");
	uint64_t round = 0, epoch = 0;
	unsigned crashes = ROUNDS(120), opens = 0;
	struct prng prng;

	assert_ptr_not_equal(told, MAP_FAILED);
	prng_seed(&prng, seed);
	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	for (unsigned i = 0; i < crashes; i++) {
		uint64_t before = told->epoch;

		told->round = round;
		round = crash_store_child(&p, round, told, &prng);
		opens += told->epoch != before;
		assert_true(told->epoch == before || told->epoch > epoch);
		epoch = told->epoch;
	}
	/* The test opens it once for each crash, and each child at most once. */
	store_close(open_test_store(&p, 0));
	assert_true(opens > 0 && round > 0);
	print_message(
		"%u crashes, %u children had opened, %" PRIu64 " commits\n", crashes, opens, round);
	munmap(told, sizeof(*told));
}

/* ---- full disks */

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/*
 * With no room for a page, or for a block, the store reports that, keeps its data, and continues
 * when there is room.
 */
TEST(test_full_disk)
{
	static uint8_t large[1 << 20];
	struct place p = make_store_place("full"), other = make_store_place("full-new");
	struct store *store, *none = NULL;
	uint64_t epoch;

	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	store = open_test_store(&p, 1);
	put_text(store, KIND, 1, "before");
	assert_int_equal(commit_then_wait(store), 0);
	signal(SIGXFSZ, SIG_DFL); /* a thread of the store does not receive it */
	limit_files(0);
	put_text(store, KIND, 1, "lost");
	assert_int_equal(commit_then_wait(store), -ENOSPC);
	assert_int_equal(store_commit(store), 0);
	assert_int_equal(
		wait_commit_end(store), -ENOSPC); /* even an empty commit must be written */
	limit_files(512 << 10);
	put_text(store, KIND, 2, "after");
	assert_int_equal(commit_then_wait(store), 0);
	assert_int_equal(store_put(store, KIND, 3, large, sizeof(large)), 0);
	put_text(store, KIND, 2, "lost");
	assert_int_equal(commit_then_wait(store), -ENOSPC);
	put_text(store, KIND, 4, "small");
	assert_int_equal(commit_then_wait(store), 0);
	store_close(store);
	signal(SIGXFSZ, SIG_IGN);
	limit_files(0);
	assert_int_equal(store_open(p.dir, &none, &epoch), -ENOSPC);
	assert_int_equal(store_create(other.dir, (struct store_identity){0, 1}), -ENOSPC);
	assert_int_equal(store_open(other.dir, &none, &epoch), -ENOENT);
	limit_files(RLIM_INFINITY);
	store = open_test_store(&p, 2);
	assert_records(store, KIND, "1=before 2=after 4=small ");
	store_close(store);
	assert_int_equal(store_create(other.dir, (struct store_identity){0, 1}), 0);
}

static int records_descriptor(const struct place *p)
{
	struct stat file, st;

	assert_int_equal(stat(p->file, &file), 0);
	for (int fd = 3; fd < 64; fd++)
		if (fstat(fd, &st) == 0 && st.st_ino == file.st_ino && st.st_dev == file.st_dev)
			return fd;
	fail_msg("no descriptor of %s", p->file);
	return -1;
}

/* The journal is written, but the file cannot be, and cannot be rolled back: the store survives. */
TEST(test_file_fails)
{
	struct place p = make_store_place("fails");
	struct store *store;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(full >= 0);
	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	store = open_test_store(&p, 1);
	put_text(store, KIND, 1, "before");
	assert_int_equal(commit_then_wait(store), 0);
	assert_int_equal(dup3(full, records_descriptor(&p), O_CLOEXEC) < 0, 0);
	put_text(store, KIND, 1, "perhaps");
	assert_true(commit_then_wait(store) < 0);
	put_text(store, KIND, 2, "after");
	assert_int_equal(commit_then_wait(store), 0);
	store_close(store);
	store = open_test_store(&p, 2);
	assert_records(store, KIND, "1=before 2=after ");
	store_close(store);
	close(full);
}

TEST(test_removed)
{
	struct place p = make_store_place("removed");
	ENDED_BY(store_close_at) struct store *store;

	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	store = open_test_store(&p, 1);
	put_text(store, KIND, 1, "one");
	assert_int_equal(unlink(p.file), 0);
	assert_int_equal(commit_then_wait(store), -ENOENT);
	assert_int_equal(commit_then_wait(store), -ENOENT);
}

/* ---- damage */

static size_t size_of(const struct place *p)
{
	struct stat st;

	assert_int_equal(stat(p->file, &st), 0);
	return (size_t)st.st_size;
}

static void make_some(const struct place *p, const char *text)
{
	char filler[6000];
	ENDED_BY(store_close_at) struct store *store;

	assert_int_equal(store_create(p->dir, (struct store_identity){0, 1}), 0);
	store = open_test_store(p, 1);
	memset(filler, 0x5a, sizeof(filler));
	for (uint32_t id = 0; id < 300; id++)
		put_text(store, KIND, id, text);
	for (uint32_t id = 0; id < 100; id++)
		assert_int_equal(store_put(store, KIND + 1, id, filler, sizeof(filler)), 0);
	assert_int_equal(commit_then_wait(store), 0);
}

static void assert_damaged(const struct place *p)
{
	struct store *store = NULL;
	uint64_t epoch;

	assert_int_equal(store_look(p->dir), -EBADMSG);
	assert_int_equal(store_open(p->dir, &store, &epoch), -EBADMSG);
	assert_int_equal(store_create(p->dir, (struct store_identity){0, 1}), -EEXIST);
}

TEST(test_cut_off)
{
	struct place p = make_store_place("cut");
	size_t size;

	make_some(&p, "ledger");
	size = size_of(&p);
	assert_true(size >= (512 << 10));
	assert_int_equal(truncate(p.file, (off_t)size), 0);
	store_close(open_test_store(&p, 2));
	for (size_t left = size - 4000; left > 0; left /= 2) {
		assert_int_equal(truncate(p.file, (off_t)left), 0);
		assert_damaged(&p);
	}
	assert_int_equal(truncate(p.file, 0), 0);
	assert_damaged(&p);
	/* Zeros of equal length. */
	assert_int_equal(truncate(p.file, (off_t)size), 0);
	assert_damaged(&p);
}

static void overwrite_file(const struct place *p, size_t at, const void *bytes, size_t len)
{
	int fd = open(p->file, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, (off_t)at), len);
	close(fd);
}

static int count_record(void *context, uint64_t id, const void *record, size_t len)
{
	assert_int_equal(len, 6);
	assert_memory_equal(record, "ledger", 6);
	++*(unsigned *)context;
	return 0;
}

/* Pages of zeros, one at a time, which a file system may leave after a power failure. */
TEST(test_zeroed_pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct place p = make_store_place("zeros");
	unsigned refused = 0, i;
	uint8_t *zeros = calloc(1, page);

	assert_non_null(zeros);
	make_some(&p, "ledger");
	for (i = 0; i < size_of(&p) / page; i++) {
		uint8_t *was = malloc(page);
		struct store *store = NULL;
		int fd = open(p.file, O_RDONLY | O_CLOEXEC);
		unsigned seen = 0;
		uint64_t epoch;
		int err;

		assert_non_null(was);
		assert_int_equal(pread(fd, was, page, (off_t)(i * page)), page);
		close(fd);
		overwrite_file(&p, i * page, zeros, page);
		err = store_open(p.dir, &store, &epoch);
		if (err == 0) {
			err = store_each(store, KIND, count_record, &seen);
			store_close(store);
		}
		if (err)
			assert_int_equal(err, -EBADMSG);
		else
			assert_int_equal(seen, 300);
		refused += err != 0;
		if (err)
			overwrite_file(&p, i * page, was, page);
		free(was);
	}
	free(zeros);
	assert_true(refused >= 3);
}

/* Returns the offset of a text in the file, from `from` on; 0: not found. */
static size_t find_in_file(const struct place *p, const char *text, size_t from)
{
	size_t size = size_of(p), at = 0;
	uint8_t *bytes = malloc(size), *found;
	int fd = open(p->file, O_RDONLY | O_CLOEXEC);

	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, size), size);
	close(fd);
	found = memmem(bytes + from, size - from, text, strlen(text));
	if (found)
		at = (size_t)(found - bytes);
	free(bytes);
	return at;
}

/* One byte of a record changes, at each copy of it. */
TEST(test_changed_record)
{
	struct place p = make_store_place("changed");
	size_t at = 0;

	make_some(&p, "ledger");
	store_close(open_test_store(&p, 2));
	while ((at = find_in_file(&p, "ledger", at + 1)) != 0)
		overwrite_file(&p, at + 5, "e", 1);
	assert_damaged(&p);
}

/* Changes the file with SQLite, so that it is consistent except for its contents. */
static void change_by_sql(const struct place *p, const char *sql)
{
	sqlite3 *sqlite;

	assert_int_equal(sqlite3_open(p->file, &sqlite), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(sqlite), SQLITE_OK);
}

/* The file is consistent, but a record is missing, extra, or changed. */
TEST(test_changed_content)
{
	static const char *const changes[] = {
		"DELETE FROM records WHERE kind = 1 AND id = 0",
		"UPDATE records SET kind = 3 WHERE kind = 1 AND id = 0",
		"UPDATE records SET record = x'00' WHERE kind = 1 AND id = 0",
		"INSERT INTO records VALUES (7, 0, x'00')",
		"UPDATE head SET epoch = 1",
		"UPDATE head SET recovering = 1",
		"UPDATE head SET seal = seal + 1",
		"DELETE FROM head",
		"DROP TABLE records",
		"UPDATE head SET identity_low = identity_low + 1",
		"UPDATE head SET identity_high = 1",
		"PRAGMA user_version = 0",
		"PRAGMA application_id = 7",
	};

	for (size_t i = 0; i < COUNT(changes); i++) {
		char name[32];
		struct place p;

		snprintf(name, sizeof(name), "content%zu", i);
		p = make_store_place(name);
		make_some(&p, "ledger");
		store_close(open_test_store(&p, 2));
		change_by_sql(&p, changes[i]);
		assert_damaged(&p);
	}
}

/* A store of a later version is refused with that reason, and does not change. */
TEST(test_later_version)
{
	struct place p = make_store_place("later");
	const struct store_identity other = {3, 4};
	struct store *store = NULL;
	uint64_t epoch;

	make_some(&p, "ledger");
	change_by_sql(&p, "PRAGMA user_version = 4");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(store_look(p.dir), -EPROTONOSUPPORT);
		assert_int_equal(store_open(p.dir, &store, &epoch), -EPROTONOSUPPORT);
		assert_int_equal(store_create(p.dir, other), -EEXIST);
		assert_int_equal(
			store_open_recovering(p.dir, STORE_CLOCK_LEAST_S, &store, &epoch), -EEXIST);
	}
	change_by_sql(&p, "PRAGMA user_version = 3");
	store_close(open_test_store(&p, 2));
}

/* A store of the previous version after its second start, word for word. */
static const char version_1[] =
	"PRAGMA application_id = 1466263922; PRAGMA user_version = 1;"
	"CREATE TABLE head (epoch INTEGER, recovering INTEGER, commits INTEGER, seal INTEGER);"
	"CREATE TABLE records (key INTEGER PRIMARY KEY, record BLOB);"
	"INSERT INTO head VALUES (2, 0, 3, 6922560757036163918);"
	"INSERT INTO records VALUES (4294967303, x'6C6564676572');"
	"INSERT INTO records VALUES (8589934599, x'756E697473');";

/* Its records have no names, so it is refused, and does not change. */
TEST(test_earlier_version)
{
	struct place p = make_store_place("earlier");
	struct store *store = NULL;
	uint64_t epoch;

	assert_int_equal(mkdir(p.dir, 0700), 0);
	change_by_sql(&p, version_1);
	for (int version = 1; version < 3; version++) {
		assert_int_equal(store_look(p.dir), -ENODATA);
		assert_int_equal(store_open(p.dir, &store, &epoch), -ENODATA);
		assert_int_equal(store_create(p.dir, (struct store_identity){3, 4}), -EEXIST);
		change_by_sql(&p, "PRAGMA user_version = 2");
	}
}

/*
 * The identity is there from the first start on; a store that began without gets it with a commit.
 */
TEST(test_identity)
{
	struct place p = make_store_place("identity"), lost = make_store_place("identity-lost");
	ENDED_BY(store_close_at) struct store *store = NULL;
	uint64_t epoch;

	assert_int_equal(store_create(p.dir, (struct store_identity){11, 12}), 0);
	for (unsigned start = 1; start < 3; start++) {
		store = open_test_store(&p, start);
		assert_int_equal(store_identity(store).high, 11);
		assert_int_equal(store_identity(store).low, 12);
		store_close(store);
	}
	assert_int_equal(store_open_recovering(lost.dir, STORE_CLOCK_LEAST_S, &store, &epoch), 0);
	assert_int_equal(store_identity(store).high | store_identity(store).low, 0);
	assert_int_equal(store_set_identity(store, (struct store_identity){13, 14}), 0);
	store_close(store);
	store = open_test_store(&lost, 0);
	assert_int_equal(store_identity(store).high | store_identity(store).low, 0);
	assert_int_equal(store_set_identity(store, (struct store_identity){13, 14}), 0);
	assert_int_equal(store_commit(store), 0);
	assert_int_equal(store_set_identity(store, (struct store_identity){1, 1}), -EBUSY);
	assert_int_equal(wait_commit_end(store), 0);
	store_close(store);
	store = open_test_store(&lost, 0);
	assert_true(store_recovering(store));
	assert_int_equal(store_identity(store).high, 13);
	assert_int_equal(store_identity(store).low, 14);
}

/* A change of the header in the bytes of the file. */
TEST(test_changed_head)
{
	struct place p = make_store_place("head");
	size_t at;

	make_some(&p, "ledger");
	at = find_in_file(&p, "Weir", 0);
	assert_true(at > 0);
	overwrite_file(&p, at, "X", 1);
	assert_damaged(&p);
}

/* Leaves a commit interrupted in the middle, by the end of its process. */
static void leave_journal(const struct place *p)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
		struct store *store = open_test_store(p, 0);

		put_text(store, KIND, 1, "lost");
		if (dup3(full, records_descriptor(p), O_CLOEXEC) < 0 ||
			commit_then_wait(store) == 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A journal belongs to one file, and would damage another. So a new store removes it. */
TEST(test_journal_of_another)
{
	struct place p = make_store_place("journal");
	ENDED_BY(store_close_at) struct store *store;

	make_some(&p, "ledger");
	leave_journal(&p);
	store = open_test_store(&p, 0);
	store_close(store);
	leave_journal(&p);
	assert_int_equal(unlink(p.file), 0);
	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	store = open_test_store(&p, 1);
	assert_records(store, KIND, "");
}

/* Only its owner can read it, for any mode of the directory. */
TEST(test_mode)
{
	struct place p = make_store_place("mode");
	struct stat st;

	assert_int_equal(mkdir(p.dir, 0755), 0);
	assert_int_equal(store_create(p.dir, (struct store_identity){0, 1}), 0);
	assert_int_equal(stat(p.file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

TEST(test_other_file)
{
	static const char text[] = "# notes\n";
	struct place p = make_store_place("other");
	uint8_t bytes[4096];

	make_some(&p, "ledger");
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)text[i % (sizeof(text) - 1)];
	for (size_t at = 0; at < size_of(&p); at += sizeof(bytes))
		overwrite_file(&p, at, bytes, sizeof(bytes));
	assert_damaged(&p);
}

static int make_top(void **state)
{
	return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

TEST_GROUP(make_top, remove_top)
