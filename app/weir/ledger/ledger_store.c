/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Opens a limiter's store (store/store.h): its epoch, and the records that the limiter begins with.
 */
#include "ledger_store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>

#include <sodium.h>

#include "policy/kind.h"
#include "secret/trusted.h"
#include "store/store.h"

/* Records of one kind as they are read. */
struct store_reading {
	struct ledger_store *into;
	enum limiter_record_kind kind;
	unsigned room;
};

static int add_record(void *context, uint64_t id, const void *record, size_t len)
{
	struct store_reading *reading = context;
	struct ledger_store *into = reading->into;
	unsigned room = into->n_records + into->n_records / 2 + 16;
	struct limiter_record *records;
	void *copy;

	if (into->n_records == reading->room) {
		records = realloc(into->records, room * sizeof(*records));
		if (!records)
			return -ENOMEM;
		into->records = records;
		reading->room = room;
	}
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, record, len);
	into->records[into->n_records++] = (struct limiter_record){reading->kind, id, copy, len};
	return 0;
}

int ledger_store_check(const char *directory, uid_t user, struct trusted_refusal *refusal)
{
	static const char *const files[] = {"records", "records-journal"};
	int ret = trusted_path(directory, user, refusal);

	for (size_t i = 0; ret == 0 && i < sizeof(files) / sizeof(*files); i++) {
		char path[PATH_MAX + 32];
		struct stat status;

		snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
		if (lstat(path, &status))
			continue;
		if (S_ISREG(status.st_mode)) {
			ret = trusted_status(path, &status, user, S_IWGRP | S_IWOTH, refusal);
			continue;
		}
		/* A link leads out of the directory, and opening a pipe or a device could block. */
		snprintf(refusal->what, sizeof(refusal->what), "%s is a link, a pipe or a device",
			files[i]);
		snprintf(refusal->expected, sizeof(refusal->expected), "a regular file");
		snprintf(refusal->remedy, sizeof(refusal->remedy), "ls -l %s, then move it away",
			path);
		ret = -EPERM;
	}
	return ret == -EPERM ? ret : 0;
}

int ledger_store_open(const char *directory, bool make, struct ledger_store *out)
{
	struct store_reading reading = {.into = out};
	struct trusted_refusal refusal;
	int ret;

	*out = (struct ledger_store){0};
	if (ledger_store_check(directory, geteuid(), &refusal))
		return -EPERM;
	ret = store_open(directory, &out->store, &out->epoch);
	if (ret == -ENOENT && make)
		ret = store_open_recovering(
			directory, (uint64_t)time(NULL), &out->store, &out->epoch);
	if (ret) {
		out->store = NULL;
		return ret;
	}
	out->recovering = store_recovering(out->store);
	out->identity = (struct book_identity){
		store_identity(out->store).high, store_identity(out->store).low};
	reading.kind = LIMITER_RATES;
	ret = store_each(out->store, LIMITER_RATES, add_record, &reading);
	reading.kind = LIMITER_UNITS;
	if (ret == 0)
		ret = store_each(out->store, LIMITER_UNITS, add_record, &reading);
	if (ret)
		ledger_store_close(out);
	return ret;
}

void ledger_store_forget(struct ledger_store *opened)
{
	for (unsigned i = 0; i < opened->n_records; i++)
		free((void *)(uintptr_t)opened->records[i].at); /* our copy */
	free(opened->records);
	opened->records = NULL;
	opened->n_records = 0;
}

void ledger_store_close(struct ledger_store *opened)
{
	ledger_store_forget(opened);
	store_close(opened->store);
	*opened = (struct ledger_store){0};
}

const char *ledger_store_reason(int error)
{
	switch (error) {
	case -ENOENT:
		return "it is not there: put it back, or, if this limiter has never run, make it and "
		       "its parent directory with weir --new-ledger. If its group has a ledger, add "
		       "the IDENTITY that weirctl ledger shows at another limiter";
	case -EBUSY:
		return "another process has it open";
	case -EBADMSG:
		return "it is damaged; without it (moved away) the limiter begins without memory";
	case -ENODATA:
		return "it is of an earlier version. Stop all limiters of the group, move their "
		       "stores away, run weir --new-ledger at one, and weir --new-ledger IDENTITY "
		       "at each other. Quotas start again";
	case -EPROTONOSUPPORT:
		return "it is of a later version of weir than this one: start that one";
	case -ETIME:
		return "it is not there, and the clock has not been set: a limiter that begins "
		       "without memory orders its messages by it; set it (timedatectl), and start";
	case -EILSEQ:
		return "it is older than its sentinel: it was restored, and units would be spent "
		       "twice; move it away, and the limiter begins without memory. Only if it is "
		       "the newest there is: weir --accept-ledger";
	case -EXDEV:
		return "it belongs to another machine, which might still run; if it never runs again: "
		       "weir --accept-ledger";
	case -ESTALE:
		return "another process has changed or replaced its files while weir runs: put them "
		       "back, or stop weir and move the store away";
	case -EMEDIUMTYPE:
		return "one of its files is a link, a pipe or a device: move that away (ls -la)";
	case -EACCES:
	case -EPERM:
		return "Permission denied: it must belong to the user that weir runs as";
	case -EROFS:
		return "Read-only file system: mount it for writing";
	case -ENOTDIR:
		return "Not a directory, or its parent is not one: move it, or correct the path";
	case -ENOSPC:
		return "No space left on device: make room";
	case -EDQUOT:
	case -EFBIG:
		return "File too large for weir: raise the disk quota, or LimitFSIZE=";
	default:
		return strerror(-error);
	}
}

/* --- a new ledger ----------------------------------------------------------------------------- */

#define PARENT_MODE 0755 /* mode of systemd's StateDirectory */

/*
 * Makes the parent, as systemd does for a service. One level only, so that a mistyped path makes no
 * tree.
 */
static int make_parent(const char *directory)
{
	char parent[PATH_MAX];
	size_t len = strlen(directory);

	while (len > 1 && directory[len - 1] == '/')
		len--;
	while (len > 0 && directory[len - 1] != '/')
		len--;
	if (len == 0 || len >= sizeof(parent))
		return 0;
	memcpy(parent, directory, len);
	parent[len] = '\0';
	return mkdir(parent, PARENT_MODE) && errno != EEXIST ? -errno : 0;
}

static void complain_ledger(const char *command, const char *directory, int err)
{
	fprintf(stderr, "weir: %s: %s: ", command, directory);
	if (err == -EBUSY)
		fputs("in use by a running weir\n", stderr);
	else
		fprintf(stderr, "%s\n", ledger_store_reason(err));
}

static void complain_new_ledger(const char *directory, int err)
{
	if (err == -EEXIST)
		fprintf(stderr,
			"weir: --new-ledger: %s: "
			"there is a ledger already: this limiter has run, and its records are kept.\n"
			"To delete them, stop the whole group and remove the directory at each "
			"limiter first; otherwise units can be spent twice.\n",
			directory);
	else if (err == -ENOENT)
		fprintf(stderr,
			"weir: --new-ledger: %s: No such file or directory: only it and its "
			"parent are created; create the rest, or correct the path\n",
			directory);
	else
		complain_ledger("--new-ledger", directory, err);
}

/* Chooses the typed identity, or a new one. */
static int choose_identity(const char *command, const char *typed, struct book_identity *identity)
{
	do
		randombytes_buf(identity, sizeof(*identity));
	while (!book_identity_known(*identity));
	if (!typed || book_identity_read(typed, identity))
		return 0;
	fprintf(stderr,
		"weir: %s: \"%s\": expected the identity of a ledger, 32 hexadecimal digits, such as "
		"the first limiter printed\n",
		command, typed);
	return -EINVAL;
}

int new_ledger(const struct config *config, const char *typed)
{
	const char *directory = config->ledger.store;
	struct book_identity identity;
	char text[BOOK_IDENTITY_TEXT];
	int err = choose_identity("--new-ledger", typed, &identity);

	if (err)
		return err;
	err = make_parent(directory);
	if (err == 0)
		err = store_create(directory, (struct store_identity){identity.high, identity.low});
	if (err) {
		complain_new_ledger(directory, err);
		return err;
	}
	book_identity_write(identity, text);
	printf("%s: an empty ledger %s: limiter %s has never run, and begins with its shares\n",
		directory, text, config->limiter);
	if (!typed && config->gossip.n_roster > 1)
		printf("at each of the %u other limiters of the group type\n"
		       "    weir --new-ledger %s CONFIG\n"
		       "with its own CONFIG: limiters with different identities do not exchange "
		       "rates or quotas\n",
			config->gossip.n_roster - 1, text);
	if (!config_needs_ledger(config))
		printf("no policy needs it yet: none is \"hard\", and none has a \"total\"\n");
	return 0;
}

int accept_ledger(const struct config *config)
{
	const char *directory = config->ledger.store;
	int err = store_accept(directory);

	if (err)
		complain_ledger("--accept-ledger", directory, err);
	else
		printf("%s: accepted: limiter %s continues from its records on this machine\n",
			directory, config->limiter);
	return err;
}
