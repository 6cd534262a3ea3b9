/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A start in which an allocation or system call fails at any point. It returns an error and leaves
 * nothing behind. The limiters are of all kinds and have no workers yet.
 */
#include "instance_world.h"

#include "fault.h"
#include "config/load.h"
#include "event.h"
#include "kept.h"
#include "store/store.h"

/* An address of this process only, because other processes run the same test. */
#define GOSSIP(more)                                                                  \
	"'gossip': {'listen': '127.%1$u.%2$u.79:7946', 'insecure': true, 'roster': [" \
	"{'name': 'test', 'address': '127.%1$u.%2$u.79:7946'}, "                      \
	"{'name': 'peer', 'address': '127.%1$u.%2$u.80:7946'}, "                      \
	"{'name': 'else', 'address': '127.%1$u.%2$u.81:7946'}]" more "}, "
#define STORE "'ledger': {'store': '%3$s/store', 'lease': '2s', 'promise': 0}, "

#define ETCD                                                                       \
	"'ledger': {'store': '%3$s/store', 'lease': '2s', 'promise': 0, 'etcd': {" \
	"'endpoints': ['https://127.0.0.1:9']}}, "

#define SOFT  "{'name': 'soft', 'match': {'vlan': 1}, 'limit': '1Gbit/s', 'allocator': 'fps'}"
#define FIRM  "{'name': 'firm', 'match': {'vlan': 2}, 'limit': '1Gbit/s', 'guarantee': 'hard'}"
#define GDRL  "{'name': 'gdrl', 'match': {'vlan': 3}, 'limit': '8Mbit/s', 'allocator': 'gdrl'}"
#define TOTAL "{'name': 'total', 'match': {'vlan': 4}, 'allocator': 'quota', 'total': '1GB'}"
#define PERIOD                                                                            \
	"{'name': 'period', 'match': {'vlan': 5}, 'allocator': 'quota', 'total': '1GB', " \
	"'period': '24h', 'limit': '1Mbit/s'}"
#define SHAPED                                                                               \
	"{'name': 'shaped', 'match': {'dst': '10.0.0.0/8'}, 'limit': '10Mbit/s', 'action': " \
	"'shape', 'shape': {'delay': '50ms'}}"
#define SOURCES                                                                              \
	"{'name': 'sources', 'match': {'dst': '2001:db8::/32'}, 'limit': '1Mbit/s', 'per': " \
	"'src/64', 'sources': 1024, 'allocator': 'static'}"
#define CLASSES                                                                              \
	"{'name': 'classes', 'match': {'vlan': 6}, 'limit': '1Gbit/s', 'meter': 'phantom', " \
	"'classes': {'by': 'dscp'}}"
#define TIMED                                                                                      \
	"{'name': 'timed', 'match': {'vlan': 7}, 'limit': '1Mbit/s', 'schedule': {'zone': 'UTC', " \
	"'entries': [{'days': 'daily', 'from': '00:00', 'to': '12:00', 'limit': '2Mbit/s'}]}}"
#define TRIAL \
	"{'name': 'trial', 'match': {'vlan': 8}, 'limit': '1Mbit/s', 'trial': {'limit': '8kbit/s'}}"

static char top[32];

static int start(const void *argument)
{
	const struct config *config = argument;
	struct instance inst;
	int rc = instance_prepare(&inst, config, instance_world_ports());

	if (rc == 0)
		instance_stop(&inst);
	assert_int_equal(inst.started, 0);
	assert_int_equal(inst.leaked, 0);
	return rc;
}

struct box {
	const char *name, *more, *policies;
	/*
	 * Failures that may have no error: of terms and turns of schedules, which are used later,
	 * of the clock, and of one of the two writes of the sentinel.
	 */
	unsigned unsaid;
};

static const struct box boxes[] = {
	{"alone", "", (SOFT ", " SHAPED ", " SOURCES), 6},
	{"classes", "", (CLASSES ", " TIMED ", " TRIAL), 15},
	{"state", GOSSIP(", 'estimator': 'state'"), (SOFT ", " SHAPED), 6},
	{"tree", GOSSIP(", 'estimator': 'tree'"), (SOFT ", " TRIAL), 6},
	{"timed", GOSSIP(""), (SOFT ", " TIMED), 16},
	{"totals", GOSSIP("") STORE, (TOTAL ", " PERIOD), 10},
	{"etcd", GOSSIP("") ETCD, (TOTAL ", " PERIOD), 10},
	{"hard", GOSSIP("") STORE, (FIRM ", " GDRL), 10},
};

static void unlink_all(const char *directory)
{
	char command[48];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

TEST(test_start)
{
	char store[40];

	strcpy(top, "/tmp/weir-start-XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(store, sizeof(store), "%s/store", top);
	assert_int_equal(store_create(store, (struct store_identity){0}), 0);
	for (size_t i = 0; i < COUNT(boxes); i++) {
		const struct box *box = &boxes[i];
		struct config *config;
		char *more;
		unsigned id = (unsigned)getpid();

		if (asprintf(&more, box->more, 1 + id / 256 % 254, id % 256, top) < 0)
			abort();
		config = instance_world_config(more, box->policies);
		fault_try(&(struct fault_subject){.name = box->name,
			.run = start,
			.argument = config,
			.kinds = FAULT_MEMORY | FAULT_KERNEL,
			.at_least = 20,
			.said = events_number,
			.unsaid = box->unsaid});
		config_free(config);
		free(more);
	}
	unlink_all(top);
}

/* Without a usable directory the start continues, with a message. */
static int keep(const void *argument)
{
	struct kept *kept;
	char *words;
	size_t size;
	FILE *err = open_memstream(&words, &size);
	int rc = err ? kept_open(argument, err, &kept) : -ENOMEM;

	if (!err)
		return rc;
	fclose(err);
	assert_true((rc == 0 && size == 0) == (rc == 0 && kept));
	if (rc == 0 && !kept)
		rc = -ENOMEM;
	if (rc == 0)
		kept_close(kept);
	free(words);
	return rc;
}

TEST(test_state)
{
	char directory[] = "/tmp/weir-start-XXXXXX";

	fault_take_json(); /* not earlier, because events stay in memory */
	assert_non_null(mkdtemp(directory));
	fault_try(&(struct fault_subject){.name = "state",
		.run = keep,
		.argument = directory,
		.kinds = FAULT_MEMORY | FAULT_KERNEL,
		.at_least = 5,
		.unsaid = 1}); /* an unreadable journal counts as none */
	unlink_all(directory);
}

TEST_GROUP(instance_world_start, instance_world_stop)
