/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * --new-ledger: the operator states that a limiter has never run. Checks the created store, and
 * that none is ever overwritten.
 */
#include "check.h"
#include "scope.h"

#include <sodium.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "allocate/allocate.h"
#include "book/book.h"
#include "ledger_store.h"
#include "store/store.h"

END_POINTER(store_close, struct store *)

#define IDENTITY "00112233445566778899aabbccddeeff"

struct place {
	char top[32];
	struct policy policy;
	struct config config;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_true(sodium_init() >= 0);
	strcpy(place->top, "/tmp/weir-new-XXXXXX");
	assert_non_null(mkdtemp(place->top));
	place->policy.allocator = allocator_find("quota");
	place->config = (struct config){.policies = &place->policy, .n_policies = 1};
	place->config.gossip.n_roster = 3;
	strcpy(place->config.limiter, "it");
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", place->top);
	assert_int_equal(system(command), 0);
	free(place);
	return 0;
}

static void name_store(struct place *place, const char *name)
{
	snprintf(place->config.ledger.store, sizeof(place->config.ledger.store), "%s/%s",
		place->top, name);
}

/* Runs the command with its output in a file of `place`, and returns that output. */
static int make(struct place *place, int (*by)(const struct config *, const char *),
	const char *typed, char *said, size_t room)
{
	char path[64];
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), ret;
	FILE *file;

	snprintf(path, sizeof(path), "%s/said", place->top);
	fflush(stdout);
	file = fopen(path, "w+");
	assert_non_null(file);
	dup2(fileno(file), STDOUT_FILENO);
	dup2(fileno(file), STDERR_FILENO);
	ret = by(&place->config, typed);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	rewind(file);
	said[fread(said, 1, room - 1, file)] = '\0';
	fclose(file);
	return ret;
}

TEST_WITH(test_new, set_up, tear_down)
{
	struct place *place = *state;
	char said[1024], again[1024];
	struct store *store;
	uint64_t epoch;

	name_store(place, "parent/store/");
	assert_int_equal(make(place, new_ledger, NULL, said, sizeof(said)), 0);
	assert_non_null(strstr(said, "limiter it has never run"));
	assert_non_null(strstr(said, "at each of the 2 other limiters"));
	assert_non_null(strstr(said, "weir --new-ledger "));
	assert_null(strstr(said, "no policy needs it yet"));
	assert_int_equal(store_open(place->config.ledger.store, &store, &epoch), 0);
	assert_int_equal(epoch, 1);
	store_close(store);
	/* The store of a limiter that has run is never overwritten. */
	assert_int_equal(make(place, new_ledger, NULL, again, sizeof(again)), -EEXIST);
	assert_non_null(strstr(again, "there is a ledger already"));
	assert_int_equal(store_open(place->config.ledger.store, &store, &epoch), 0);
	assert_int_equal(epoch, 2);
	store_close(store);
	/* Another store has another identity. */
	name_store(place, "parent/other");
	assert_int_equal(make(place, new_ledger, NULL, again, sizeof(again)), 0);
	assert_string_not_equal(strstr(said, "empty ledger "), strstr(again, "empty ledger "));
}

TEST_WITH(test_typed, set_up, tear_down)
{
	struct place *place = *state;
	struct store_identity identity;
	ENDED_BY(store_close_at) struct store *store;
	char said[1024];
	uint64_t epoch;

	name_store(place, "store");
	assert_int_equal(make(place, new_ledger, "0011", said, sizeof(said)), -EINVAL);
	assert_non_null(strstr(said, "weir: --new-ledger: \"0011\": expected the identity of a"));
	assert_int_equal(access(place->config.ledger.store, F_OK), -1);
	place->config.policies->allocator = allocator_find("static");
	assert_int_equal(make(place, new_ledger, IDENTITY, said, sizeof(said)), 0);
	assert_non_null(strstr(said, "an empty ledger " IDENTITY ": "));
	assert_null(strstr(said, "other limiters"));
	assert_non_null(strstr(said, "no policy needs it yet"));
	assert_int_equal(store_open(place->config.ledger.store, &store, &epoch), 0);
	identity = store_identity(store);
	assert_true(identity.high == UINT64_C(0x0011223344556677));
	assert_true(identity.low == UINT64_C(0x8899aabbccddeeff));
}

TEST_WITH(test_no_place, set_up, tear_down)
{
	struct place *place = *state;
	char said[1024];

	name_store(place, "two/levels/store");
	assert_int_equal(make(place, new_ledger, NULL, said, sizeof(said)), -ENOENT);
	assert_non_null(strstr(said, "only it and its parent are created"));
	name_store(place, "said/store"); /* below a file */
	assert_int_equal(make(place, new_ledger, NULL, said, sizeof(said)), -ENOTDIR);
}

/* A relative path refers to the current directory. */
TEST_WITH(test_here, set_up, tear_down)
{
	struct place *place = *state;
	char said[1024], path[64];

	assert_int_equal(chdir(place->top), 0);
	strcpy(place->config.ledger.store, "here");
	assert_int_equal(make(place, new_ledger, NULL, said, sizeof(said)), 0);
	assert_int_equal(chdir("/"), 0);
	snprintf(path, sizeof(path), "%s/here", place->top);
	assert_int_equal(store_look(path), 0);
}
