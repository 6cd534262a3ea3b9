/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "ask/targets.h"

#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX    ".sock"
#define GROUP_MAX 256

/* --- the list -------------------------------------------------------------------------------- */

/* Returns the length of a socket's name, which is its file name without the suffix. */
static int name_length(const char *file)
{
	size_t len = strlen(file), suffix = strlen(SUFFIX);

	return (int)(len > suffix && strcmp(file + len - suffix, SUFFIX) == 0 ? len - suffix : len);
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_name(const struct targets *targets, const char *name)
{
	for (unsigned i = 0; i < targets->n; i++)
		if (strcmp(targets->each[i].name, name) == 0)
			return true;
	return false;
}

/* Returns the limiter with that socket, or NULL. */
static struct target *find_path(const struct targets *targets, const char *path)
{
	for (unsigned i = 0; i < targets->n; i++)
		if (targets->each[i].path && strcmp(targets->each[i].path, path) == 0)
			return &targets->each[i];
	return NULL;
}

/* Frees all members. */
static void free_target(struct target *target)
{
	if (target->thread)
		offload_stop(&target->thread->offload, UINT_MAX);
	free(target->thread);
	target_close(target);
	json_decref(target->last.document);
	json_decref(target->result.document);
	free(target->last.why);
	free(target->result.why);
	free(target->name);
	free(target->path);
}

int targets_add(struct targets *targets, const char *name, const char *path)
{
	struct target *each, *target;
	int taken;

	if (targets->n == TARGETS_MAX)
		return -ENOSPC;
	each = reallocarray(targets->each, targets->n + 1, sizeof(*each));
	if (!each)
		return -ENOMEM;
	targets->each = each;
	target = &each[targets->n];
	*target = (struct target){.of = targets};
	if (path)
		target->path = strdup(path);
	else if (asprintf(&target->path, TARGETS_DIRECTORY "/%s" SUFFIX, name) < 0)
		target->path = NULL;
	if (target->path && find_path(targets, target->path)) {
		free(target->path);
		return -EEXIST;
	}
	if (name)
		target->name = strdup(name);
	else if (path)
		target->name = strndup(file_of(path), (size_t)name_length(file_of(path)));
	taken = target->name && has_name(targets, target->name);
	if (taken && target->path) {
		free(target->name);
		target->name = strdup(target->path);
	}
	if (target->name && target->path) {
		targets->n++;
		return taken;
	}
	free_target(target);
	return -ENOMEM;
}

static bool add_member(struct targets *targets, json_t *member, int *ret)
{
	const char *name = NULL, *path = NULL;

	if (json_unpack(member, "{s:s, s?s !}", "name", &name, "socket", &path))
		return false;
	*ret = targets_add(targets, name, path);
	return *ret >= 0;
}

bool targets_add_group(struct targets *targets, const char *file, FILE *err)
{
	json_error_t error;
	json_t *group = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
	size_t n = json_array_size(group), added = 0;
	int ret = 0;

	if (!group) {
		fprintf(err, "%s: %s:%d: %s\n", targets->program, file, error.line, error.text);
		return false;
	}
	while (n <= GROUP_MAX && added < n &&
		add_member(targets, json_array_get(group, added), &ret))
		added++;
	json_decref(group);
	if (n > 0 && added == n)
		return true;
	if (ret < 0)
		fprintf(err, "%s: %s: member %zu: %s\n", targets->program, file, added + 1,
			ret == -EEXIST ? "its socket is named twice" : strerror(-ret));
	else
		fprintf(err,
			"%s: %s: expected a list such as [{\"name\": \"ams\", \"socket\": "
			"\"/run/weir/ams.sock\"}] of at most %d limiters\n",
			targets->program, file, GROUP_MAX);
	return false;
}

static void list_sockets(const glob_t *found, const char *program, FILE *err)
{
	fprintf(err, "%s: several limiters run here; name one, or some, by -n:\n", program);
	for (size_t i = 0; i < found->gl_pathc; i++) {
		const char *file = file_of(found->gl_pathv[i]);

		fprintf(err, "  %.*s\n", name_length(file), file);
	}
}

static void find_sockets(const char *directory, glob_t *found)
{
	char pattern[PATH_MAX];

	*found = (glob_t){0};
	snprintf(pattern, sizeof(pattern), "%s/*" SUFFIX, directory);
	glob(pattern, 0, NULL, found);
}

bool targets_add_only(struct targets *targets, const char *directory, FILE *err)
{
	bool only = false;
	glob_t found;

	find_sockets(directory, &found);
	if (access(directory, R_OK | X_OK) && errno == EACCES)
		fprintf(err, "%s: %s: permission denied: name the socket by -s, or use sudo\n",
			targets->program, directory);
	else if (found.gl_pathc == 0)
		fprintf(err, "%s: no socket in %s: is weir running? -s names one elsewhere\n",
			targets->program, directory);
	else if (found.gl_pathc > 1)
		list_sockets(&found, targets->program, err);
	else if (targets_add(targets, NULL, found.gl_pathv[0]) < 0)
		fprintf(err, "%s: out of memory\n", targets->program);
	else
		only = true;
	globfree(&found);
	return only;
}

void targets_refresh(struct targets *targets, const char *directory, unsigned most)
{
	struct targets old = *targets;
	glob_t found;

	find_sockets(directory, &found);
	targets->each = NULL;
	targets->n = 0;
	for (size_t i = 0; i < found.gl_pathc && targets->n < most; i++) {
		struct target *was = find_path(&old, found.gl_pathv[i]);

		if (targets_add(targets, NULL, found.gl_pathv[i]) < 0 || !was)
			continue;
		free_target(&targets->each[targets->n - 1]);
		targets->each[targets->n - 1] = *was;
		*was = (struct target){0};
	}
	globfree(&found);
	targets_free(&old);
}

void targets_free(struct targets *targets)
{
	for (unsigned i = 0; i < targets->n; i++)
		free_target(&targets->each[i]);
	free(targets->each);
	targets->each = NULL;
	targets->n = 0;
}

/* --- one limiter ----------------------------------------------------------------------------- */

/* Returns the error of a limiter that could not be reached. */
static int fail_request(struct source *source, const char *request, json_t **value)
{
	(void)request;
	*value = NULL;
	return -((const struct target *)((const char *)source - offsetof(struct target, client)))
			->error;
}

static int fail_request_with(
	struct source *source, const char *request, int given, int *taken, json_t **value)
{
	(void)given;
	*taken = -1;
	return fail_request(source, request, value);
}

static double end_pause(struct source *source, unsigned ms)
{
	(void)source;
	(void)ms;
	return 0;
}

int target_open(struct target *target)
{
	const struct targets *of = target->of;
	int ret;

	if (target->open)
		return 0;
	ret = client_open(&target->client, target->path, of->timeout_s, of->total_ms);
	target->open = ret == 0;
	/* a missing socket is not the same as a missing answer */
	target->error = ret == -ENOENT ? ENXIO : -ret;
	if (ret)
		target->client.source = (struct source){
			.ask = fail_request, .ask_with = fail_request_with, .pause = end_pause};
	return ret;
}

void target_close(struct target *target)
{
	if (target->open)
		client_close(&target->client);
	target->open = false;
	json_decref(target->memory);
	target->memory = NULL;
}

static void explain_permission(const char *path, FILE *out)
{
	struct group room, *group = NULL;
	struct stat file;
	char text[1024];

	if (stat(path, &file) == 0)
		getgrgid_r(file.st_gid, &room, text, sizeof(text), &group);
	fprintf(out, "%s: permission denied: ", path);
	if (group && file.st_gid)
		fprintf(out, "join the group %s, or use sudo", group->gr_name);
	else
		fputs("use sudo", out);
}

void target_explain(const struct target *target, FILE *out)
{
	const char *what = strerror(target->error);

	switch (target->error) {
	case EACCES:
	case EPERM:
		explain_permission(target->path, out);
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
	default:
		break;
	}
	fprintf(out, "%s: %s", target->path, what);
}
