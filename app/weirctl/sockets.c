/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "sockets.h"

#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

static void list_sockets(const glob_t *found, FILE *err)
{
	fputs("weirctl: several limiters run here; name one, or some, by -n:\n", err);
	for (size_t i = 0; i < found->gl_pathc; i++) {
		const char *name = strrchr(found->gl_pathv[i], '/') + 1;

		fprintf(err, "  %.*s\n", (int)(strlen(name) - strlen(".sock")), name);
	}
}

char *sockets_only(const char *directory, FILE *err)
{
	char *pattern = NULL, *only = NULL;
	glob_t found = {0};

	if (access(directory, R_OK | X_OK) && errno == EACCES)
		fprintf(err, "weirctl: %s: permission denied: name the socket by -s, or use sudo\n",
			directory);
	else if (asprintf(&pattern, "%s/*.sock", directory) < 0)
		fputs("weirctl: out of memory\n", err);
	else if (glob(pattern, 0, NULL, &found))
		fprintf(err, "weirctl: no socket in %s: is weir running? -s names one elsewhere\n",
			directory);
	else if (found.gl_pathc > 1)
		list_sockets(&found, err);
	else
		only = strdup(found.gl_pathv[0]);
	globfree(&found);
	free(pattern);
	return only;
}

static void explain_permission(const char *path, FILE *out)
{
	struct stat file;
	struct group *group = stat(path, &file) ? NULL : getgrgid(file.st_gid);

	fprintf(out, "%s: permission denied: ", path);
	if (group && file.st_gid)
		fprintf(out, "join the group %s, or use sudo", group->gr_name);
	else
		fputs("use sudo", out);
}

void sockets_explain(const char *path, int error, FILE *out)
{
	const char *what = strerror(error);

	switch (error) {
	case EACCES:
	case EPERM:
		explain_permission(path, out);
		return;
	case ENXIO:
	case ENOENT:
		what = "no such socket: is weir running? -s names one elsewhere";
		break;
	case ECONNREFUSED:
		what = "no process listens: weir has ended without removing it; start it again";
		break;
	case ENOTSOCK:
	case EPROTOTYPE:
	case EBADMSG:
		what = "the process there does not use DPDK's telemetry protocol";
		break;
	case EMSGSIZE:
		what = "an answer was longer than announced";
		break;
	case ETIMEDOUT:
		what = "no answer: is the process stopped?";
		break;
	case ECONNRESET:
		what = "the connection was closed: weir has ended, or has too many clients";
		break;
	case ESTALE:
		what = "another change came right behind this one: weirctl history has how it "
		       "ended";
		break;
	default:
		break;
	}
	fprintf(out, "%s: %s", path, what);
}
