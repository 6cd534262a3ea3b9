/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "new_ledger.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include "ledger_store.h"
#include "policy/kind.h"
#include "store/store.h"

#define PARENT_MODE 0755 /* as systemd makes a StateDirectory */

/* In a service systemd makes it; no more than one, lest a mistyped path become a tree. */
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

static void complain_new_ledger(const char *directory, int err)
{
	fprintf(stderr, "weir: --new-ledger: %s: ", directory);
	if (err == -EEXIST)
		fputs("there is a ledger already: this limiter has run, and what it knows stays as it is.\n"
		      "If all of it is to be forgotten, stop the whole group and remove the "
		      "directory at each limiter first; else units would be spent twice.\n",
			stderr);
	else if (err == -EBUSY)
		fputs("a running weir has it\n", stderr);
	else if (err == -ENOENT)
		fputs("No such file or directory: only it and its parent are made; make what is "
		      "above, or mend the path\n",
			stderr);
	else
		fprintf(stderr, "%s\n", ledger_store_reason(err));
}

int new_ledger(const struct config *config)
{
	const char *directory = config->ledger.store;
	int err = make_parent(directory);

	if (err == 0)
		err = store_create(directory);
	if (err) {
		complain_new_ledger(directory, err);
		return err;
	}
	printf("%s: an empty ledger: limiter %s has never run, and begins with its shares\n",
		directory, config->limiter);
	if (!config_needs_ledger(config))
		printf("no policy needs it yet: none is \"conserved\", and none has a \"total\"\n");
	return 0;
}
