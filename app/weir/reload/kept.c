/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * State directory (--state): the running configuration, the last good one, and the facts kept about
 * both. kept_choose() selects the configuration of a start.
 */
#include "kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "change/keep.h"
#include "change/singles.h"
#include "config/load.h"
#include "json/copy.h"
#include "json/diagnostics.h"
#include "json/seen.h"
#include "machine_errors.h"
#include "secret/trusted.h"

int kept_open(const char *directory, FILE *err, struct kept **out)
{
	struct trusted_refusal refusal;
	struct keep *keep;
	int ret;

	*out = NULL;
	if (!directory)
		return 0;
	ret = keep_open(directory, NULL, &keep);
	if (ret) {
		fprintf(err, "weir: --state: %s: %s: nothing is kept\n", directory,
			ret == -EBUSY ? "another limiter has it" : strerror(-ret));
		return 0;
	}
	if (trusted_path(directory, geteuid(), &refusal) == -EPERM) {
		fprintf(err, "weir: --state: %s: %s: nothing is kept: %s\n", directory,
			refusal.what, refusal.remedy);
		keep_close(keep);
		return 0;
	}
	*out = calloc(1, sizeof(**out));
	if (!*out) {
		keep_close(keep);
		return -ENOMEM;
	}
	**out = (struct kept){.keep = keep,
		.directory = strdup(directory),
		.running_file = -1,
		.history = journal_last(keep, KEPT_HISTORY)};
	if ((*out)->directory && (*out)->history)
		return 0;
	kept_close(*out);
	*out = NULL;
	return -ENOMEM;
}

void kept_close(struct kept *kept)
{
	if (!kept)
		return;
	keep_close(kept->keep);
	if (kept->running_file >= 0)
		close(kept->running_file);
	json_decref(kept->configuration);
	seen_free(kept->file_seen);
	json_decref(kept->about);
	json_decref(kept->history);
	json_decref(kept->document);
	json_decref(kept->start);
	free(kept->directory);
	free(kept->refused);
	free(kept->trouble);
	free(kept);
}

void kept_have(struct kept *kept, uint64_t number, json_t *configuration)
{
	json_decref(kept->configuration);
	kept->configuration = configuration;
	kept->configuration_of = number;
}

/*
 * `about` stays in memory as long as its configuration runs. So does a configuration without a
 * record.
 */
int kept_read(struct kept *kept, uint64_t number, struct keep_record *record)
{
	int ret;

	if (kept->configuration && number == kept->configuration_of && kept->about) {
		*record = (struct keep_record){
			number, json_incref(kept->about), json_incref(kept->configuration)};
		return 0;
	}
	ret = number ? keep_read(kept->keep, number, record) : -ENOENT;
	if (ret == 0 && number == kept->confirm.running)
		kept_have(kept, number, json_incref(record->configuration));
	return ret;
}

/* A file that was just written could be written again with the same time stamps. */
void kept_know_file(struct kept *kept, struct seen *seen, const char digest[CHANGE_DIGEST_MAX])
{
	seen_free(kept->file_seen);
	kept->file_seen = seen_is_reliable(seen) ? seen : NULL;
	if (kept->file_seen)
		memcpy(kept->file_digest, digest, sizeof(kept->file_digest));
	else
		seen_free(seen);
}

bool kept_knows_file(const struct kept *kept, char digest[CHANGE_DIGEST_MAX])
{
	if (!kept->file_seen || !seen_unchanged(kept->file_seen))
		return false;
	memcpy(digest, kept->file_digest, sizeof(kept->file_digest));
	return true;
}

void kept_remember(struct kept *kept, json_t *line)
{
	json_array_append_new(kept->history, line);
	if (json_array_size(kept->history) > KEPT_HISTORY)
		json_array_remove(kept->history, 0);
}

json_t *history_line(const char *what, int64_t uid, int64_t gid, int64_t pid)
{
	char at[sizeof("2026-01-01T00:00:00Z") + 8], name[REQUESTER_BYTES];
	time_t now = time(NULL);
	json_t *line, *user;
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &tm);
	line = json_pack("{s:s, s:s}", "at", at, "what", what);
	if (uid >= 0) {
		user = requester_user((uid_t)uid, name) ? json_string(name)
							: json_sprintf("uid %u", (unsigned)uid);
		json_object_set_new(line, "user", user);
		json_object_set_new(line, "uid", json_integer(uid));
	}
	if (pid >= 0) {
		json_object_set_new(line, "gid", json_integer(gid));
		json_object_set_new(line, "pid", json_integer(pid));
	}
	return line;
}

json_t *about_make(
	const json_t *line, const json_t *document, const char *file_digest, const json_t *singles)
{
	char own[CHANGE_DIGEST_MAX];

	if (document && configuration_digest(document, own))
		return NULL;
	return json_pack("{s:O?, s:O?, s:O?, s:s*, s:s, s:o}", "what",
		json_object_get(line, "what"), "at", json_object_get(line, "at"), "user",
		json_object_get(line, "user"), "digest", document ? own : NULL, "file_digest",
		file_digest, "singles", whole_list(singles));
}

bool kept_digest(const struct kept *kept, char digest[CHANGE_DIGEST_MAX])
{
	return kept->about && kept->configuration && !json_object_get(kept->about, "digest") &&
	       configuration_digest(kept->configuration, digest) == 0;
}

void kept_put_digest(struct kept *kept, const char *digest)
{
	if (kept->about)
		json_object_set_new(kept->about, "digest", json_string(digest));
}

static const char *about_text(const struct kept *kept, const char *key)
{
	const char *text = json_string_value(json_object_get(kept->about, key));

	return text ? text : "";
}

bool kept_differs(const struct kept *kept)
{
	return kept->about && strcmp(about_text(kept, "digest"), about_text(kept, "file_digest"));
}

void kept_words(const struct kept *kept, char *words, size_t room)
{
	size_t singles = json_array_size(json_object_get(kept->about, "singles"));
	const char *user = about_text(kept, "user");

	if (kept->refused)
		snprintf(words, room, "the last good one, of %s: the file is refused",
			about_text(kept, "at"));
	else if (!kept_differs(kept))
		snprintf(words, room, "the file");
	else
		snprintf(words, room, "%s of %s%s%s; the file differs", about_text(kept, "what"),
			about_text(kept, "at"), user[0] ? " by " : "", user);
	if (singles > 0 && strlen(words) < room)
		snprintf(words + strlen(words), room - strlen(words), "; %zu changed singly",
			singles);
}

/*
 * Returns the newest good record below a number that can be read; its number is 0 if there is none.
 */
static struct keep_record read_good_below(struct kept *kept, uint64_t number, FILE *err)
{
	struct keep_record record = {0};

	while ((number = keep_good_below(kept->keep, number)) > 0) {
		int ret = keep_read(kept->keep, number, &record);

		if (ret == 0)
			return record;
		fprintf(err, "weir: %s: configuration %llu: %s: the one before it is taken\n",
			kept->directory, (unsigned long long)number,
			ret == -EBADMSG ? "damaged" : strerror(-ret));
	}
	return (struct keep_record){0};
}

/* Makes the record the running one. It need not be written again. */
static void run_record(struct kept *kept, struct keep_record *record)
{
	char digest[CHANGE_DIGEST_MAX];

	kept->confirm.running = kept->confirm.good = record->number;
	json_decref(kept->about);
	kept->about = json_incref(record->about);
	kept_have(kept, record->number, json_incref(record->configuration));
	if (kept_digest(kept, digest))
		kept_put_digest(kept, digest);
	kept->running_file = keep_file(kept->keep, record->number);
}

/* Makes a document without a record the running one. It is kept when it runs. */
static int run_document(struct kept *kept, json_t *document, const char *digest, json_t *singles)
{
	json_decref(kept->about);
	kept->about = about_make(kept->start, document, digest, singles);
	kept->document = json_incref(document);
	return kept->about ? 0 : -ENOMEM;
}

static bool stops_when_refused(const struct keep_record *record)
{
	const char *word = json_string_value(json_object_get(record->configuration, "on_refused"));

	return word && strcmp(word, "stop") == 0;
}

/*
 * Runs the newest good record that can still be used, because the file cannot. `record` is the
 * newest.
 */
static int choose_last_good(
	struct kept *kept, struct keep_record *record, int refusal, FILE *err, struct config **out)
{
	int ret = refusal;

	if (record->number > 0 && stops_when_refused(record)) {
		fprintf(err, "weir: the last good configuration has \"on_refused\": \"stop\"\n");
		return refusal;
	}
	while (ret && record->number > 0) {
		uint64_t number = record->number;

		ret = read_for_machine(
			record->configuration, "the last good configuration", NULL, err, out);
		if (ret == 0)
			run_record(kept, record);
		keep_record_free(record);
		if (ret == -ENOKEY) /* earlier ones name the same files, or older ones */
			return ret;
		if (ret)
			*record = read_good_below(kept, number, err);
	}
	return ret ? refusal : 0;
}

/* Runs the file, which has changed since the last good configuration. */
static int choose_file(struct kept *kept, json_t *document, const char *digest,
	const struct keep_record *record, FILE *err, struct config **config)
{
	json_t *singles = whole_list(json_object_get(record->about, "singles"));
	struct config *merged;
	int ret = singles ? 0 : -ENOMEM;

	if (ret == 0 && json_array_size(singles) > 0)
		ret = singles_carry(document, record->configuration, singles, err);
	if (ret == 0 && json_array_size(singles) > 0) {
		ret = read_for_machine(
			document, "the file with changes of policies", NULL, err, &merged);
		if (ret == 0) {
			config_free(*config);
			*config = merged;
		}
	}
	if (ret == 0)
		ret = run_document(kept, document, digest, singles);
	json_decref(singles);
	return ret;
}

/* Runs the file or the last good configuration. The file is valid. */
static int choose_good(struct kept *kept, json_t *document, const char *digest,
	const struct keep_record *record, FILE *err, struct config **config)
{
	const char *was = json_string_value(json_object_get(record->about, "file_digest"));
	const char *own = json_string_value(json_object_get(record->about, "digest"));
	char of_record[CHANGE_DIGEST_MAX];
	struct config *kept_config;
	int ret;

	if (!was || strcmp(was, digest))
		return choose_file(kept, document, digest, record, err, config);
	if (!own && configuration_digest(record->configuration, of_record) == 0)
		own = of_record;
	if (!own || strcmp(own, digest)) {
		ret = read_for_machine(record->configuration, "the last good configuration", NULL,
			err, &kept_config);
		if (ret)
			return run_document(kept, document, digest, NULL);
		config_free(*config);
		*config = kept_config;
	}
	run_record(kept, (struct keep_record *)(uintptr_t)record);
	return 0;
}

/* Loads and checks the file, with all checks of a start; writes all messages to `refusals`. */
static int try_file(struct kept *kept, const char *file, const struct keep_record *record,
	FILE *refusals, struct config **out)
{
	struct diagnostics diagnostics;
	struct config *config = NULL;
	json_t *document = NULL;
	struct seen *seen = NULL;
	char digest[CHANGE_DIGEST_MAX];
	bool wrong = false;
	struct config_load load = {.path = file,
		.diagnostics = &diagnostics,
		.also = start_errors,
		.context = &wrong,
		.document = &document,
		.seen = &seen};
	int ret;

	diagnostics_init(&diagnostics, refusals, DIAGNOSTICS_TEXT);
	ret = config_load_with(&load, &config);
	if (wrong)
		ret = -ENOKEY;
	if (ret == 0)
		ret = configuration_digest(document, digest);
	if (ret == 0)
		kept_know_file(kept, seen, digest);
	else
		seen_free(seen);
	if (ret == 0)
		ret = choose_good(kept, document, digest, record, refusals, &config);
	if (ret)
		config_free(config);
	else
		*out = config;
	json_decref(document);
	return ret;
}

static int choose_kept(struct kept *kept, const char *file, FILE *err, struct config **out)
{
	struct keep_record record = read_good_below(kept, UINT64_MAX, err);
	size_t size;
	FILE *refusals = open_memstream(&kept->refused, &size);
	int ret = refusals ? -EINVAL : -ENOMEM;

	if (refusals && kept->start_failed)
		fprintf(refusals, "%s\n", kept->start_failed);
	else if (refusals)
		ret = try_file(kept, file, &record, refusals, out);
	if (refusals)
		fclose(refusals);
	if (ret && kept->refused)
		diagnostics_errors_first(kept->refused);
	if (kept->refused)
		fputs(kept->refused, err);
	if (ret == 0) {
		free(kept->refused);
		kept->refused = NULL;
	} else if (ret != -ENOMEM) {
		ret = choose_last_good(kept, &record, ret, err, out);
		if (ret == 0)
			fprintf(err,
				"weir: %s: refused: the last good configuration runs, of "
				"%s\n",
				file, about_text(kept, "at"));
	}
	keep_record_free(&record);
	return ret;
}

static int choose_unkept(const char *file, FILE *err, struct config **out)
{
	struct diagnostics diagnostics;
	bool wrong = false;
	struct config_load load = {
		.path = file, .diagnostics = &diagnostics, .also = start_errors, .context = &wrong};
	int ret;

	diagnostics_init(&diagnostics, err, DIAGNOSTICS_TEXT);
	ret = config_load_with(&load, out);
	return wrong ? -ENOKEY : ret;
}

bool kept_can_go_back(struct kept *kept)
{
	struct keep_record record;
	bool can;

	if (!kept || !kept->document) /* the last good one itself has failed */
		return false;
	record = read_good_below(kept, UINT64_MAX, stderr);
	can = record.number > 0 && !stops_when_refused(&record);
	keep_record_free(&record);
	return can;
}

int kept_choose(struct kept *kept, const char *file, FILE *err, struct config **out)
{
	uint64_t number;

	if (!kept)
		return choose_unkept(file, err, out);
	*out = NULL;
	kept->start = history_line("start", -1, -1, -1);
	if (!kept->start)
		return -ENOMEM;
	/* Drops configurations that were not confirmed before the process ended. */
	while ((number = keep_unconfirmed(kept->keep)) > 0) {
		json_object_set_new(kept->start, "not_confirmed", json_integer((json_int_t)number));
		if (keep_forget(kept->keep, number))
			break;
	}
	return choose_kept(kept, file, err, out);
}
