/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A reload, or another change, in which an allocation or system call fails at any point. It returns
 * an error and leaves nothing behind: of the read configuration, of prepared memory, or in force.
 */
#include "instance_world.h"
#include "scope.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "change.h"
#include "clock.h"
#include "config/load.h"
#include "fault.h"
#include "json/seen.h"
#include "kept.h"
#include "policy_txn.h"
#include "store/store.h"

#define SOFT "{'name': 'soft', 'match': {'vlan': 1}, 'limit': '1Gbit/s'}"
#define FIRM "{'name': 'firm', 'match': {'vlan': 2}, 'limit': '1Gbit/s', 'guarantee': 'hard'}"
#define SOURCES                                                                       \
	"{'name': 'sources', 'match': {'dst': '2001:db8::/32'}, 'limit': '1Mbit/s', " \
	"'per': 'src/64', 'sources': 1024}"
#define SHAPED(more)                                                                         \
	"{'name': 'shaped', 'match': {'dst': '10.0.0.0/8'}, 'limit': '10Mbit/s', 'action': " \
	"'shape', 'shape': {'delay': '50ms'}" more "}"
#define TREE                                                                           \
	"{'name': 'top', 'limit': '2Gbit/s'}, {'name': 'leaf', 'match': {'vlan': 3}, " \
	"'limit': '1Gbit/s', 'parent': 'top'}"
#define TIMED                                                                                      \
	"{'name': 'timed', 'match': {'vlan': 7}, 'limit': '1Mbit/s', 'schedule': {'zone': 'UTC', " \
	"'entries': [{'days': 'daily', 'from': '00:00', 'to': '12:00', 'limit': '2Mbit/s'}]}}"
/* An address of this process only, because other processes run the same test; and a store. */
#define GROUP                                                                         \
	"'gossip': {'listen': '127.%1$u.%2$u.87:7946', 'insecure': true, 'roster': [" \
	"{'name': 'test', 'address': '127.%1$u.%2$u.87:7946'}, "                      \
	"{'name': 'peer', 'address': '127.%1$u.%2$u.88:7946'}]}, "                    \
	"'ledger': {'store': '%3$s', 'lease': '2s', 'promise': 0}, "

static struct instance_world world;

/*
 * The TSC is measured once, because that takes longer than all the rest and many limiters are
 * opened.
 */
void __real_tsc_clock_start(struct tsc_clock *clock, const struct tsc_reading *from);
void __wrap_tsc_clock_start(struct tsc_clock *clock, const struct tsc_reading *from);
void __wrap_tsc_clock_start(struct tsc_clock *clock, const struct tsc_reading *from)
{
	static struct tsc_clock measured;

	if (measured.hz == 0)
		__real_tsc_clock_start(&measured, from);
	*clock = measured;
}

/* Prepares the policies of the file. Returns 0 or a negative errno. */
static int prepare(struct policy_txn **x)
{
	char *text;
	size_t size;
	FILE *err = open_memstream(&text, &size);
	int rc;

	if (!err)
		return -ENOMEM;
	rc = policy_txn_prepare(&world.inst, world.file, world.inst.clock.hz, err, x);
	fclose(err);
	assert_true(rc == 0 || !*x);
	free(text);
	return rc;
}

static unsigned slots_free(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < world.inst.slots.capacity; i++)
		n += world.inst.slots.policy[i] == SLOT_FREE;
	return n;
}

static int prepare_in_vain(const void *argument)
{
	struct policy_txn *x = NULL;
	int rc = prepare(&x);

	assert_int_equal(slots_free(), world.inst.slots.capacity - world.inst.n_policies);
	policy_txn_free(x);
	return rc;
}

static const struct {
	const char *name, *before, *after;
	unsigned unsaid; /* failures that are allowed to have no error */
	bool store;
} exchanges[] = {
	{"soft", SOFT, SOFT ", " SOURCES ", " TREE, 7, false},
	{"shaped", SHAPED(""), SHAPED(", 'accounting': 'l2'") ", " TIMED, 2, false},
	{"stays", SHAPED("") ", " TREE,
		"{'name': 'new', 'match': {'vlan': 9}, 'limit': '1Mbit/s'}, " SHAPED(
			", 'slo': {'p99': '50ms'}") ", " TREE,
		2, false},
	{"trial", SOFT,
		"{'name': 'soft', 'match': {'vlan': 1}, 'limit': '1Gbit/s', 'trial': {'limit': "
		"'2Gbit/s'}}",
		2, false},
	{"ledger", SOFT, SOFT ", " FIRM, 12, true},
};

static void open_world(const char *before, const char *store)
{
	unsigned id = (unsigned)getpid();
	ENDED_BY(free_at) char *more = NULL;

	if (asprintf(&more, GROUP, 1 + id / 256 % 254, id % 256, store) < 0)
		abort();
	instance_world_open_more(&world, store[0] ? more : "", before);
	world.more = store[0] ? strdup(more) : "";
}

static void close_world(bool store)
{
	const char *more = world.more;

	instance_world_close(&world);
	if (store)
		free((char *)(uintptr_t)more);
}

static void make_store(char *directory)
{
	assert_non_null(mkdtemp(directory));
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(store_create(directory, (struct store_identity){0}), 0);
}

static void unlink_all(const char *directory)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

/* A prepared change is freed wherever its preparation fails. */
TEST(test_prepared)
{
	char store[] = "/tmp/weir-refused-XXXXXX";

	make_store(store);
	for (size_t i = 0; i < COUNT(exchanges); i++) {
		open_world(exchanges[i].before, exchanges[i].store ? store : "");
		instance_world_write(&world, exchanges[i].after);
		fault_try(&(struct fault_subject){.name = exchanges[i].name,
			.run = prepare_in_vain,
			.kinds = FAULT_MEMORY | FAULT_KERNEL,
			.words = -EINVAL, /* the error for an unreadable zone names it */
			.unsaid = exchanges[i].unsaid,
			.at_least = 20});
		close_world(exchanges[i].store);
	}
	unlink_all(store);
}

/* Runs a function in its own thread, where no call fails. */
static void run_aside(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The policies in force, and the new ones. */
struct exchanged {
	const char *before, *after;
	struct policy_txn *x; /* prepared */
};

static void *open_aside(void *argument)
{
	struct exchanged *exchanged = argument;

	open_world(exchanged->before, "");
	instance_world_write(&world, exchanged->after);
	return prepare(&exchanged->x) ? NULL : exchanged;
}

/* The change might be in force or not. */
static void *close_aside(void *argument)
{
	struct exchanged *exchanged = argument;

	for (unsigned i = 0; i < 4; i++) {
		policy_txn_finish(exchanged->x);
		instance_world_turn_all(&world);
	}
	policy_txn_free(exchanged->x);
	close_world(false);
	return NULL;
}

/* Either all changes are in force or none. */
static int commit(const void *argument)
{
	struct exchanged exchanged = *(const struct exchanged *)argument;
	uint64_t generation;
	unsigned n;
	int rc;

	run_aside(open_aside, &exchanged);
	assert_non_null(exchanged.x);
	generation = world.inst.publisher.current->generation;
	n = world.inst.n_policies;
	rc = policy_txn_commit(exchanged.x);
	if (rc)
		assert_int_equal(world.inst.n_policies, n);
	assert_true(world.inst.publisher.current->generation == generation + (rc == 0));
	run_aside(close_aside, &exchanged);
	return rc;
}

TEST(test_committed)
{
	for (size_t i = 0; i < COUNT(exchanges); i++) {
		const struct exchanged exchanged = {exchanges[i].before, exchanges[i].after, NULL};

		if (exchanges[i].store) /* each instance would need that address */
			continue;
		fault_try(&(struct fault_subject){.name = exchanges[i].name,
			.run = commit,
			.argument = &exchanged,
			.kinds = FAULT_MEMORY,
			.unsaid = 4, /* terms and times of schedules follow later */
			.at_least = 2});
	}
}

/* A limiter that keeps two records: the file, and the file with one single change. */
struct kept_box {
	char directory[32];
	struct kept *kept;
	struct config *config;
};

static void take_change(struct kept_box *box, struct change *change)
{
	struct kept *kept = box->kept;
	int file;

	assert_int_equal(change_read(change, &world.inst, stderr), 0);
	assert_int_equal(change_keep(change, &world.inst, stderr), 0);
	assert_int_equal(change_end(change, kept, 0, NULL), 0);
	kept->confirm.running = kept->confirm.good = change->number;
	json_decref(kept->about);
	kept->about = json_incref(change->about);
	file = change->file; /* closed by change_clear() */
	assert_true(file >= 0);
	change_clear(change);
	assert_int_equal(fcntl(file, F_GETFD), -1);
	assert_int_equal(change->file, -1);
}

/* Clears the caches in memory. */
static void forget_seen(struct kept *kept)
{
	kept_have(kept, 0, NULL);
	seen_free(kept->file_seen);
	kept->file_seen = NULL;
}

#define SET(name, limit) "{\"do\":\"set\",\"name\":\"" name "\",\"keys\":{\"limit\":\"" limit "\"}}"

static void open_box(struct kept_box *box)
{
	struct change change = {
		.request = {.kind = CHANGE_POLICY, .uid = -1, .pid = -1, .fd = -1}, .file = -1};
	struct kept *kept;
	uint64_t number;

	strcpy(box->directory, "/tmp/weir-refused-XXXXXX");
	assert_non_null(mkdtemp(box->directory));
	open_world(SOFT ", " TREE, "");
	assert_int_equal(kept_open(box->directory, stderr, &box->kept), 0);
	kept = world.inst.kept = box->kept;
	world.inst.file = world.file;
	assert_int_equal(kept_choose(kept, world.file, stderr, &box->config), 0);
	assert_int_equal(keep_write(kept->keep, kept->about, kept->document, &number), 0);
	assert_int_equal(keep_confirm(kept->keep, number), 0);
	kept->confirm.running = kept->confirm.good = change.running = change.good = number;
	change.request.edit = json_loads(SET("soft", "3Gbit/s"), 0, NULL);
	take_change(box, &change);
	forget_seen(kept);
}

static void close_box(struct kept_box *box)
{
	close_world(false);
	kept_close(box->kept);
	config_free(box->config);
	unlink_all(box->directory);
}

static int sealed(const char *text)
{
	int fd = memfd_create("configuration", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
	return fd;
}

struct asked {
	const char *name;
	enum change_kind kind;
	const char *sent; /* sealed, or NULL */
	unsigned unsaid;
	int words; /* error if a file cannot be read */
};

/* Ends a change with an error. Nothing is confirmed, so no record is removed. */
static int end_in_vain(struct change *change, struct kept *kept, FILE *err)
{
	int rc = change_keep(change, &world.inst, err);

	if (rc == 0)
		assert_true(change->number > 0);
	return rc ? rc : change_end(change, kept, -EBUSY, "no room");
}

/*
 * Reads a change that is not committed. JSON that cannot be parsed for lack of memory is reported
 * as invalid.
 */
static int read_in_vain(const void *argument)
{
	const struct asked *asked = argument;
	struct kept *kept = world.inst.kept;
	struct change change = {.request = {.kind = asked->kind, .uid = -1, .pid = -1, .fd = -1},
		.running = kept->confirm.running,
		.good = kept->confirm.good,
		.file = -1};
	char *text;
	size_t size;
	FILE *err = open_memstream(&text, &size);
	int rc;

	if (!err)
		return -ENOMEM;
	if (asked->sent)
		change.request.fd = sealed(asked->sent);
	rc = change_read(&change, &world.inst, err);
	assert_true(rc || change.config);
	if (rc == 0)
		rc = end_in_vain(&change, kept, err);
	fclose(err);
	free(text);
	change_clear(&change);
	forget_seen(kept);
	return rc == -EBADMSG ? -ENOMEM : rc;
}

TEST(test_read)
{
	static const struct asked rows[] = {
		{"reload", CHANGE_RELOAD, NULL, 2, -EINVAL},
		{"policy", CHANGE_POLICY, SET("leaf", "1Mbit/s"), 11, -EINVAL},
		{"rollback", CHANGE_ROLLBACK, NULL, 13, -ENOENT},
		{"undo", CHANGE_UNDO, NULL, 2, -EINVAL},
	};
	ENDED_BY(close_box) struct kept_box box;

	open_box(&box);
	for (size_t i = 0; i < COUNT(rows); i++)
		fault_try(&(struct fault_subject){.name = rows[i].name,
			.run = read_in_vain,
			.argument = &rows[i],
			.kinds = FAULT_MEMORY | FAULT_KERNEL,
			.words = rows[i].words,
			.unsaid = rows[i].unsaid,
			.at_least = 20});
}

static uint64_t words; /* number of outputs */

static uint64_t times_said(void)
{
	return words;
}

/*
 * Chooses the configuration of a start. If a directory or file cannot be used, it can be another
 * one.
 */
static int choose(const void *argument)
{
	struct config *config = NULL;
	struct kept *kept = NULL;
	char *text;
	size_t size;
	FILE *err = open_memstream(&text, &size);
	int rc = err ? kept_open(argument, err, &kept) : -ENOMEM;

	if (!err)
		return rc;
	if (rc == 0 && kept)
		rc = kept_choose(kept, world.file, err, &config);
	fclose(err);
	assert_true(rc || config || !kept);
	words += text[0] != '\0';
	free(text);
	config_free(config);
	kept_close(kept);
	return rc;
}

TEST(test_chosen)
{
	static const struct {
		const char *name, *policies;
		unsigned unsaid;
	} rows[] = {
		{"as it was", SOFT ", " TREE, 7},
		{"another", SOFT ", " TIMED, 4},
	};
	ENDED_BY(close_box) struct kept_box box;

	open_box(&box);
	kept_close(box.kept);
	box.kept = world.inst.kept = NULL;
	for (size_t i = 0; i < COUNT(rows); i++) {
		instance_world_write(&world, rows[i].policies);
		fault_try(&(struct fault_subject){.name = rows[i].name,
			.run = choose,
			.argument = box.directory,
			.kinds = FAULT_MEMORY | FAULT_KERNEL,
			.words = -EINVAL,
			.said = times_said,
			.unsaid = rows[i].unsaid,
			.at_least = 20});
	}
}

TEST_GROUP(instance_world_start, instance_world_stop)
