/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Robustness and cost of the ledger's store (doc/design/ledger.md has the figures):
 *
 *     bench_store kill DIR N       N times: a writer is killed (SIGKILL) at a random moment
 *     bench_store damage DIR N     N times: a byte, sector or page is changed, or a file is cut
 *     bench_store full DIR         fills DIR, which is a small file system, and makes room again
 *     bench_store commits DIR N RECORDS BYTES
 *                                  N commits of RECORDS each; prints microseconds, a line for each
 *
 * DIR is created or emptied first. After a kill, damage or a full disk, an open must fail, or show
 * all acknowledged commits and at most one more, never a part of one. A commit's content follows
 * from its number, so the store's whole content is computable at each.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/prng.h"
#include "store/store.h"

#define IDS     400
#define MOST    1200 /* bytes of a record */
#define KIND    1
#define FILES   2 /* the records, and possibly a journal */
#define LOOKS_S 20
#define SEED    1

static const char *const names[FILES] = {"records", "records-journal"};

static void die_store(const char *what, int err)
{
	fprintf(stderr, "bench_store: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void remove_all(const char *dir)
{
	char command[4200];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command))
		die_store(dir, -errno);
}

/* ---- expected content */

struct model {
	uint64_t round[IDS]; /* the commit that wrote it last; 0: none */
	uint64_t commits;
};

/* Chooses the commit's records: id 0 is always among them. */
static unsigned choose_record_ids(uint64_t commit, uint32_t ids[IDS])
{
	struct prng prng;
	unsigned n;

	prng_seed(&prng, commit);
	n = 1 + prng_below(&prng, 1U << prng_below(&prng, 8));
	ids[0] = 0;
	for (unsigned i = 1; i < n; i++)
		ids[i] = prng_below(&prng, IDS);
	return n;
}

static void model_advance(struct model *model)
{
	uint32_t ids[IDS];
	unsigned n = choose_record_ids(++model->commits, ids);

	for (unsigned i = 0; i < n; i++)
		model->round[ids[i]] = model->commits;
}

/* Writes the commit's number, and bytes that follow from it. */
static size_t compose_record(uint8_t bytes[MOST], uint32_t id, uint64_t commit)
{
	struct prng prng;
	size_t len;

	prng_seed(&prng, commit << 16 ^ id);
	len = sizeof(commit) + prng_below(&prng, MOST - sizeof(commit));
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)prng_next(&prng);
	memcpy(bytes, &commit, sizeof(commit));
	return len;
}

struct content {
	uint64_t round[IDS];
	bool wrong;
};

static int read_one(void *context, uint64_t id, const void *record, size_t len)
{
	struct content *content = context;
	uint8_t want[MOST];
	uint64_t commit = 0;

	if (id >= IDS || len < sizeof(commit)) {
		content->wrong = true;
		return 0;
	}
	memcpy(&commit, record, sizeof(commit));
	if (len != compose_record(want, id, commit) || memcmp(record, want, len) != 0)
		content->wrong = true;
	content->round[id] = commit;
	return 0;
}

/*
 * Returns 0 if the store equals the model, or is one commit ahead, which advances the model;
 * otherwise -EILSEQ.
 */
static int compare_store(struct store *store, struct model *model)
{
	struct content content = {0};
	int err = store_each(store, KIND, read_one, &content);

	if (err)
		return err;
	if (content.round[0] == model->commits + 1)
		model_advance(model);
	if (content.wrong || memcmp(content.round, model->round, sizeof(model->round)) != 0)
		return -EILSEQ;
	return 0;
}

static int commit_and_wait(struct store *store)
{
	struct pollfd fd = {.fd = store_fd(store), .events = POLLIN};
	int err = store_commit(store);

	if (err == 0)
		poll(&fd, 1, -1);
	return err ? err : store_result(store);
}

static int write_commit(struct store *store, uint64_t commit)
{
	uint8_t bytes[MOST];
	uint32_t ids[IDS];
	unsigned n = choose_record_ids(commit, ids);

	for (unsigned i = 0; i < n; i++)
		if (store_put(store, KIND, ids[i], bytes, compose_record(bytes, ids[i], commit)))
			die_store("put", -ENOMEM);
	return commit_and_wait(store);
}

/* Opens and compares; returns 0, the store's error, or -EILSEQ. */
static int open_and_compare(const char *dir, struct model *model)
{
	struct store *store;
	uint64_t epoch;
	int err = store_open(dir, &store, &epoch);

	if (err)
		return err;
	err = compare_store(store, model);
	store_close(store);
	return err;
}

/* ---- kill -9 */

static __attribute__((noreturn)) void write_forever(
	const char *dir, uint64_t commit, uint64_t *acknowledged)
{
	struct store *store;
	uint64_t epoch;
	int err = store_open(dir, &store, &epoch);

	while (err == 0) {
		err = write_commit(store, ++commit);
		if (err == 0)
			__atomic_store_n(acknowledged, commit, __ATOMIC_RELEASE);
	}
	die_store("writer", err);
	abort();
}

/* Kills a writer that starts with the model. Afterwards the model has the acknowledged commits. */
static void kill_writer(
	const char *dir, struct model *model, uint64_t *acknowledged, struct prng *prng)
{
	struct timespec nap = {.tv_nsec = prng_below(prng, 1U << (15 + prng_below(prng, 12)))};
	int status;
	pid_t pid;

	*acknowledged = model->commits;
	pid = fork();
	if (pid == 0)
		write_forever(dir, model->commits, acknowledged);
	nanosleep(&nap, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!WIFSIGNALED(status))
		die_store("the writer has ended by itself", -EIO);
	while (model->commits < *acknowledged)
		model_advance(model);
}

static void *shared_memory(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static bool is_hot(const char *dir)
{
	char path[4200], first = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, names[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, &first, 1) != 1)
			first = 0;
		close(fd);
	}
	return first != 0;
}

static void make_store(const char *dir)
{
	int err;

	remove_all(dir);
	err = store_create(dir, (struct store_identity){0, 1});
	if (err)
		die_store(dir, err);
}

static int run_kills(const char *dir, unsigned n)
{
	uint64_t *acknowledged = shared_memory(sizeof(*acknowledged));
	struct model model = {0};
	struct prng prng;
	unsigned hot = 0;

	prng_seed(&prng, SEED);
	make_store(dir);
	for (unsigned i = 0; i < n; i++) {
		int err;

		kill_writer(dir, &model, acknowledged, &prng);
		hot += is_hot(dir);
		err = open_and_compare(dir, &model);
		if (err)
			die_store("after a kill", err);
	}
	printf("%u kills, %" PRIu64 " commits, %u journals rolled back: nothing lost\n", n,
		model.commits, hot);
	return 0;
}

/* ---- damage */

struct image {
	uint8_t *bytes[FILES];
	size_t len[FILES];
};

static void load_image(const char *dir, struct image *image)
{
	char path[4200];

	for (unsigned i = 0; i < FILES; i++) {
		struct stat st = {0};
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			fstat(fd, &st);
		image->len[i] = (size_t)st.st_size;
		image->bytes[i] = malloc(image->len[i] + 1);
		if (fd >= 0 && read(fd, image->bytes[i], image->len[i]) < 0)
			die_store(path, -errno);
		close(fd);
	}
}

static void save_image(const char *dir, const struct image *image)
{
	char path[4200];

	for (unsigned i = 0; i < FILES; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
		if (!image->len[i])
			continue;
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, image->bytes[i], image->len[i]) < 0)
			die_store(path, -errno);
		close(fd);
	}
}

enum damage { BIT, BYTE, SECTOR, PAGE, CUT, KINDS };

/* Damages one place of one file; each third is in the file's first pages, which identify it. */
static void damage_file(const char *dir, const struct image *image, struct prng *prng)
{
	static const size_t sizes[] = {[BIT] = 1, [BYTE] = 1, [SECTOR] = 512, [PAGE] = 4096};
	unsigned file = image->len[1] ? prng_below(prng, FILES) : 0;
	enum damage kind = (enum damage)prng_below(prng, KINDS);
	size_t len = image->len[file], from = prng_below(prng, 3) ? len : len < 512 ? len : 512;
	size_t at = prng_below(prng, (uint32_t)from), n;
	char path[4200];
	uint8_t *bytes = calloc(1, 4096);
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, names[file]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (kind == CUT) {
		if (ftruncate(fd, (off_t)at))
			die_store(path, -errno);
	} else {
		n = sizes[kind];
		at = at / n * n;
		if (kind == SECTOR || kind == BYTE)
			for (size_t i = 0; i < n; i++)
				bytes[i] = (uint8_t)prng_next(prng);
		if (kind == BIT)
			bytes[0] = image->bytes[file][at] ^ (uint8_t)(1 << prng_below(prng, 8));
		if (pwrite(fd, bytes, n < len - at ? n : len - at, (off_t)at) < 0)
			die_store(path, -errno);
	}
	free(bytes);
	close(fd);
}

/* Opens the store and continues writing: damage must not show later either. */
static int use_store(const char *dir, const struct model *known)
{
	struct model model = *known;
	struct store *store;
	uint64_t epoch;
	int err = store_open(dir, &store, &epoch);

	if (err)
		return err;
	err = compare_store(store, &model);
	for (unsigned i = 0; i < 3 && err == 0; i++) {
		err = write_commit(store, model.commits + 1);
		if (err == 0)
			model_advance(&model);
	}
	store_close(store);
	return err ? err : open_and_compare(dir, &model);
}

enum outcome { REFUSED, RIGHT, WRONG, CRASHED, HUNG, OUTCOMES };

static enum outcome try_store_in_child(const char *dir, const struct model *model)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(LOOKS_S);
		status = use_store(dir, model);
		_exit(status == 0 ? RIGHT : status == -EILSEQ ? WRONG : REFUSED);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGALRM ? HUNG : CRASHED;
	return (enum outcome)WEXITSTATUS(status);
}

static void damage_many(const char *dir, const struct model *model, unsigned n, const char *what)
{
	unsigned outcomes[OUTCOMES] = {0};
	struct image image;
	struct prng prng;

	prng_seed(&prng, SEED);
	load_image(dir, &image);
	for (unsigned i = 0; i < n; i++) {
		save_image(dir, &image);
		damage_file(dir, &image, &prng);
		outcomes[try_store_in_child(dir, model)]++;
	}
	printf("%s, %u places: %u refused, %u right, %u wrong, %u crashed, %u hung\n", what, n,
		outcomes[REFUSED], outcomes[RIGHT], outcomes[WRONG], outcomes[CRASHED],
		outcomes[HUNG]);
}

/* Kills a writer repeatedly, until one has left a journal if that is wanted. */
static bool prepare_store(
	const char *dir, struct model *model, uint64_t *acknowledged, bool want_journal)
{
	struct prng prng;
	char journal[4200];

	snprintf(journal, sizeof(journal), "%s/%s", dir, names[1]);
	prng_seed(&prng, SEED);
	make_store(dir);
	*model = (struct model){0};
	for (unsigned i = 0; i < 2000; i++) {
		kill_writer(dir, model, acknowledged, &prng);
		if (want_journal && i >= 20 && is_hot(dir))
			return true;
		if (open_and_compare(dir, model))
			die_store("after a kill", -EILSEQ);
		if (i >= 20 && (!want_journal || access(journal, F_OK)))
			return !want_journal;
	}
	return false;
}

static int run_damage(const char *dir, unsigned n)
{
	uint64_t *acknowledged = shared_memory(sizeof(*acknowledged));
	struct model model;

	if (prepare_store(dir, &model, acknowledged, false))
		damage_many(dir, &model, n, "closed");
	if (prepare_store(dir, &model, acknowledged, true))
		damage_many(dir, &model, n, "killed in a commit");
	return 0;
}

/* ---- full disk */

/* Writes large records until none fits; then the small ones must be unchanged. */
static int run_full(const char *dir)
{
	static uint8_t large[64 << 10];
	struct model model = {0};
	struct store *store;
	unsigned failed = 0, kept = 0;
	uint64_t epoch;
	int err;

	make_store(dir);
	err = store_open(dir, &store, &epoch);
	for (uint32_t id = 0; err == 0 && failed < 50; id++) {
		if (write_commit(store, model.commits + 1) == 0) {
			model_advance(&model);
			kept += failed > 0;
		}
		store_put(store, KIND + 1, id, large, sizeof(large));
		failed += commit_and_wait(store) == -ENOSPC;
	}
	if (err == 0)
		store_close(store);
	err = err ? err : open_and_compare(dir, &model);
	printf("full: %u large commits refused, %u of 49 small ones kept beside; opened again: %s\n",
		failed, kept, strerror(-err));
	return 0;
}

/* ---- time */

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int run_commits(const char *dir, unsigned n, unsigned records, size_t len)
{
	uint8_t *bytes = calloc(1, len);
	struct store *store;
	struct prng prng;
	uint64_t epoch;
	int err;

	prng_seed(&prng, SEED);
	if (access(dir, F_OK))
		make_store(dir);
	err = store_open(dir, &store, &epoch);
	for (unsigned i = 0; i < n && err == 0; i++) {
		double began;

		for (unsigned k = 0; k < records; k++) {
			memset(bytes, (int)prng_next(&prng), len);
			store_put(store, KIND, prng_below(&prng, 20 * records), bytes, len);
		}
		began = now_us();
		err = commit_and_wait(store);
		printf("%.0f\n", now_us() - began);
	}
	if (err)
		die_store(dir, err);
	store_close(store);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "", *dir = argc > 2 ? argv[2] : "";
	unsigned n = argc > 3 ? (unsigned)atoi(argv[3]) : 0;

	if (strcmp(what, "kill") == 0 && n > 0)
		return run_kills(dir, n);
	if (strcmp(what, "damage") == 0 && n > 0)
		return run_damage(dir, n);
	if (strcmp(what, "full") == 0)
		return run_full(dir);
	if (strcmp(what, "commits") == 0 && argc == 6)
		return run_commits(dir, n, (unsigned)atoi(argv[4]), (size_t)atol(argv[5]));
	fprintf(stderr, "Usage: bench_store kill|damage DIR N | full DIR | commits DIR N RECORDS "
			"BYTES\n");
	return 2;
}
