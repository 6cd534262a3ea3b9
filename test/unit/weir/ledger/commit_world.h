/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A box that gives away what its neighbour wants, which is all that there is. The disk is the
 * test's, and so is the neighbour; the test plays control and both workers.
 */
#ifndef WEIR_TEST_COMMIT_WORLD_H
#define WEIR_TEST_COMMIT_WORLD_H

#include "instance_world.h"

#include "commit.h"
#include "store/store.h"

#define PATIENCE (20000 * MS)
#define LIMIT    1000000.0 /* bytes per second */

#define ALONE "'ledger': {'store': '/nowhere/weir'}, "
#define MOVED                                                                      \
	"{'name': 'moved', 'match': {'direction': 'a-to-b'}, 'limit': '8Mbit/s', " \
	"'burst': '100kB', 'interval': '10ms', 'allocator': 'gdrl'}"
#define CAP(more) \
	"{'name': 'cap', 'match': {'direction': 'a-to-b'}, 'guarantee': 'conserved'" more "}"
#define SOFT "{'name': 'cap', 'match': {'direction': 'a-to-b'}" FEW "}"
#define FEW  ", 'limit': '8kbit/s', 'burst': '4096B'"

/* The disk: one store, which remembers records of one policy. */
struct commit_disk {
	int open_error, result; /* result: of what is being written; -EAGAIN: it takes its time */
	int put_error, commit_error, identity_error; /* of what is handed over */
	bool exists, recovering, opened;
	bool sentinel_missing;
	int sentinel_error;
	bool writing;
	uint64_t epoch;
	struct store_identity identity;
	unsigned commits, put, handed_over; /* the last: records of the last commit */
	int fd;
	uint8_t kind;
	uint64_t id;
	uint8_t record[1024];
	size_t len;
};

extern struct commit_disk disk;

/* One with a store without records, of ledger 1, which takes its time until `result` is another. */
void disk_new(void);

/* How often that was said since then, each time with these words in it. */
unsigned times_said(uint64_t since, const char *event, const char *text);

/* The neighbour. */
struct commit_peer {
	struct roster *roster;
	struct limiter *limiter;
	double wants; /* bytes per second */
	double arrived;
	uint64_t until_ns;
	uint64_t slots[INSTANCE_WORKERS * FLOW_SLOTS];
};

void peer_open(struct commit_peer *peer, const struct instance_world *w, uint64_t epoch);
void peer_close(struct commit_peer *peer);

double limiter_local_limit(const struct limiter *limiter);
struct commit_view view_of_commit(const struct instance_world *w);

/* What control does, without committing, and what the neighbour does. */
void talk_to_neighbour(struct instance_world *w, struct commit_peer *peer);

/* Works with what is to be made durable; the disk and the workers are as the test has them. */
bool work_with_neighbour(struct instance_world *w, struct commit_peer *peer);

/* A round that is under way ends; another may have begun. */
void end_round(struct instance_world *w);

/* The first rounds end, until the neighbour has confirmed our record and our share is in use. */
void until_holding(struct instance_world *w, struct commit_peer *peer);

/* The neighbour wants more, until a round is under way in which something is given away. */
void until_giving(struct instance_world *w, struct commit_peer *peer);

/* A box of that policy, in a group of two. */
void open_instance(struct instance_world *w, const char *policy);

/* And its neighbour, until a round is under way in which something is given to it. */
void open_group_of(struct instance_world *w, struct commit_peer *peer, const char *policy);
void open_group(struct instance_world *w, struct commit_peer *peer); /* of MOVED */
void close_group(struct instance_world *w, struct commit_peer *peer);

#endif
