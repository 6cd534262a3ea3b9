/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter that gives its share to its neighbour, which has all the demand. The disk and the
 * neighbour are simulated; the test plays control and both workers.
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
#define CAP(more) "{'name': 'cap', 'match': {'direction': 'a-to-b'}, 'guarantee': 'hard'" more "}"
#define SOFT      "{'name': 'cap', 'match': {'direction': 'a-to-b'}" FEW "}"
#define FEW       ", 'limit': '8kbit/s', 'burst': '4096B'"

/* The disk: one store, which remembers records of one policy. */
struct commit_disk {
	int open_error, result; /* result: of the pending write; -EAGAIN: still pending */
	int put_error, commit_error, identity_error; /* errors of handing over records */
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
extern const char *more_of_ledger; /* more keys of the ledger in open_instance(), after a comma */

/*
 * Resets the disk to a store without records of ledger 1. Writes stay pending until `result`
 * changes.
 */
void disk_new(void);

/* Counts new events of this name, which must contain this text. */
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

/* Runs the gossip of control, without commits, and of the neighbour. */
void talk_to_neighbour(struct instance_world *w, struct commit_peer *peer);

/* Advances the commit and the neighbour. Returns true if a round has ended. */
bool work_with_neighbour(struct instance_world *w, struct commit_peer *peer);

/* Ends the current round. Another one can have begun. */
void end_round(struct instance_world *w);

/* Ends rounds until the neighbour has confirmed the record and the own share is in use. */
void until_holding(struct instance_world *w, struct commit_peer *peer);

/* Raises the neighbour's demand until a round runs in which an amount is given away. */
void until_giving(struct instance_world *w, struct commit_peer *peer);

/* Opens a limiter with this policy, in a group of two. */
void open_instance(struct instance_world *w, const char *policy);

/* Also opens the neighbour, and runs until a round gives an amount to it. */
void open_group_of(struct instance_world *w, struct commit_peer *peer, const char *policy);
void open_group(struct instance_world *w, struct commit_peer *peer); /* with MOVED */
void close_group(struct instance_world *w, struct commit_peer *peer);

#endif
