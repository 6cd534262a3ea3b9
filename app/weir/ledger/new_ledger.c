/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "new_ledger.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include <sodium.h>

#include "ledger_store.h"
#include "policy/kind.h"
#include "store/store.h"

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

/* Prints the next step at the other limiters, if this one has made the identity. */
static void print_next_step(
	const char *command, const struct config *config, struct book_identity identity)
{
	char text[BOOK_IDENTITY_TEXT];

	book_identity_write(identity, text);
	if (config->gossip.n_roster > 1)
		printf("at each of the %u other limiters of the group type\n"
		       "    weir %s %s CONFIG\n"
		       "with its own CONFIG: limiters with different identities do not exchange "
		       "rates or quotas\n",
			config->gossip.n_roster - 1, command, text);
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
	if (!typed)
		print_next_step("--new-ledger", config, identity);
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
