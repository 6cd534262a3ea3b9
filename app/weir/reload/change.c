/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Steps of a configuration change that read and write.
 */
#include "change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "change/edit.h"
#include "change/keep.h"
#include "change/singles.h"
#include "config/load.h"
#include "instance.h"
#include "json/copy.h"
#include "json/seen.h"
#include "kept.h"
#include "machine_errors.h"

/* Most changes in a line of history, and most bytes of a value and of the messages there. */
#define LISTED_MOST   16
#define VALUE_MOST    512
#define MESSAGES_MOST 1000

#define FILE_NAME_MOST 4200
#define CONFIGURATION  "the new configuration"

static const char *const words[] = {
	[CHANGE_RELOAD] = "reload",
	[CHANGE_APPLY] = "apply",
	[CHANGE_POLICY] = "policy",
	[CHANGE_ROLLBACK] = "rollback",
	[CHANGE_CONFIRM] = "confirm",
	[CHANGE_UNDO] = "undo",
	[CHANGE_START] = "start",
};

const char *change_word(enum change_kind kind)
{
	return words[kind];
}

void change_clear(struct change *change)
{
	if (change->request.fd >= 0)
		close(change->request.fd);
	if (change->file >= 0)
		close(change->file);
	json_decref(change->request.edit);
	config_free(change->config);
	json_decref(change->document);
	json_decref(change->about);
	json_decref(change->line);
	*change = (struct change){.request.fd = -1, .file = -1};
}

static int load_document(struct change *change, struct instance *inst, FILE *err)
{
	struct diagnostics diagnostics;
	struct seen *seen = NULL;
	struct config_load load = {.path = inst->file,
		.running = inst->config,
		.diagnostics = &diagnostics,
		.also = reload_errors,
		.document = inst->kept ? &change->document : NULL,
		.seen = &seen};
	int ret;

	diagnostics_init(&diagnostics, err, DIAGNOSTICS_TEXT);
	ret = config_load_with(&load, &change->config);
	if (ret == 0 && change->document)
		ret = configuration_digest(change->document, change->file_digest);
	if (ret == 0 && change->document)
		kept_know_file(inst->kept, seen, change->file_digest);
	else
		seen_free(seen);
	return ret;
}

/* Checks a configuration that is in no file; messages begin with the name. */
static int check_document(struct change *change, struct instance *inst, const char *name, FILE *err)
{
	config_free(change->config);
	change->config = NULL;
	return read_for_machine(change->document, name, inst->config, err, &change->config);
}

static json_t *singles_of(const struct keep_record *record)
{
	return whole_list(json_object_get(record->about, "singles"));
}

/* Reads the file, and applies the changes of single policies that it does not overrule. */
static int read_reload(struct change *change, struct instance *inst, json_t **singles, FILE *err)
{
	struct kept *kept = inst->kept;
	struct keep_record running;
	char name[FILE_NAME_MOST];
	int ret = load_document(change, inst, err);

	if (ret || !kept)
		return ret;
	ret = kept_read(kept, change->running, &running);
	if (ret == -ENOMEM)
		return ret;
	if (ret) { /* continues with the file alone */
		fprintf(err,
			"warning: %s: cannot read the running configuration: %s: changes made with "
			"\"weirctl policy\" are lost\n",
			kept->directory, strerror(-ret));
		return 0;
	}
	*singles = singles_of(&running);
	if (!*singles)
		ret = -ENOMEM;
	else if (json_array_size(*singles) > 0) {
		ret = singles_carry(change->document, running.configuration, *singles, err);
		snprintf(name, sizeof(name), "%s with changes made by \"weirctl policy\"",
			inst->file);
		if (ret == 0 && json_array_size(*singles) > 0)
			ret = check_document(change, inst, name, err);
	}
	keep_record_free(&running);
	return ret;
}

static int parse_descriptor(int fd, const char *what, json_t **document, FILE *err)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	/* The sender can no longer truncate or write the memory. */
	const bool sealed = seals >= 0 && (seals & F_SEAL_SHRINK) && (seals & F_SEAL_WRITE);
	struct stat st;
	json_error_t error;
	char *text;

	if (fd < 0 || !sealed || fstat(fd, &st) || st.st_size == 0 ||
		st.st_size > READER_FILE_MAX) {
		fprintf(err, "expected a sealed descriptor of %s, at most %u bytes\n", what,
			READER_FILE_MAX);
		return -EINVAL;
	}
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (text == MAP_FAILED)
		return -errno;
	*document = json_loadb(text, (size_t)st.st_size, JSON_REJECT_DUPLICATES, &error);
	munmap(text, (size_t)st.st_size);
	if (*document)
		return 0;
	fprintf(err, "%s: expected JSON: %s at line %d, column %d\n", what, error.text, error.line,
		error.column);
	return -EINVAL;
}

static int read_apply(struct change *change, struct instance *inst, FILE *err)
{
	int ret = parse_descriptor(change->request.fd, CONFIGURATION, &change->document, err);

	if (ret == 0 && !json_is_object(change->document)) {
		fputs(CONFIGURATION ": expected a JSON object\n", err);
		ret = -EINVAL;
	}
	return ret ? ret : check_document(change, inst, CONFIGURATION, err);
}

/* Checks the configuration with the edits in it. Each message has the place of its edit. */
static int check_edits(struct change *change, struct instance *inst, FILE *err)
{
	const json_t *edits = change->request.edit;
	char *messages = NULL;
	size_t size;
	FILE *out = open_memstream(&messages, &size);
	int ret = -ENOMEM, placed = 0;

	if (out) {
		ret = check_document(change, inst, edits_label(edits), out);
		if (fclose(out) == 0)
			placed = edits_place(edits, change->document, messages, err);
	}
	free(messages);
	return ret ? ret : placed;
}

static int read_policy(struct change *change, struct instance *inst, json_t **singles, FILE *err)
{
	json_t **edit = &change->request.edit;
	struct keep_record running;
	int ret = 0;

	if (!*edit)
		ret = parse_descriptor(change->request.fd, "policy changes", edit, err);
	if (ret)
		return ret;
	ret = kept_read(inst->kept, change->running, &running);
	if (ret) {
		fprintf(err, "%s: cannot read the running configuration: %s\n",
			inst->kept->directory, strerror(-ret));
		return ret;
	}
	*singles = singles_of(&running);
	change->document = whole_copy(running.configuration);
	ret = *singles && change->document ? singles_note(*singles, running.configuration, *edit)
					   : -ENOMEM;
	if (ret == 0)
		ret = policy_edits_apply(change->document, *edit, err);
	if (ret == 0)
		ret = singles_forget(*singles, change->document);
	keep_record_free(&running);
	return ret ? ret : check_edits(change, inst, err);
}

/* Reads the record, or reports that it is not there or damaged. */
static int read_kept(
	const struct keep *keep, uint64_t number, struct keep_record *record, FILE *err)
{
	int ret = keep_read(keep, number, record);
	uint64_t kept;

	if (ret == 0)
		return 0;
	fprintf(err, "configuration %llu ", (unsigned long long)number);
	if (ret == -ENOENT)
		fputs("is not kept", err);
	else if (ret == -EBADMSG)
		fputs("is damaged on the disk", err);
	else
		fprintf(err, "cannot be read (%s)", strerror(-ret));
	kept = keep_good_below(keep, UINT64_MAX);
	fputs(kept ? ": \"weirctl rollback\" takes" : ": no number is kept", err);
	for (; kept; kept = keep_good_below(keep, kept))
		fprintf(err, " %llu", (unsigned long long)kept);
	fputs("; \"weirctl history\" shows the changes\n", err);
	return ret;
}

static int read_rollback(struct change *change, struct instance *inst, json_t **singles, FILE *err)
{
	struct kept *kept = inst->kept;
	uint64_t number = change->request.number;
	struct keep_record record;
	char name[64];
	int ret;

	if (number == 0)
		number = change->running ? keep_good_below(kept->keep, change->running)
					 : change->good; /* the running one is not kept */
	if (number == 0) {
		fputs("nothing to roll back to: no configuration is kept from before the running "
		      "one; to change it, use \"weirctl apply\" or \"weirctl policy\"\n",
			err);
		return -ENOENT;
	}
	ret = read_kept(kept->keep, number, &record, err);
	if (ret)
		return ret;
	*singles = singles_of(&record);
	if (!*singles) {
		keep_record_free(&record);
		return -ENOMEM;
	}
	change->document = json_incref(record.configuration);
	change->request.number = number;
	keep_record_free(&record);
	snprintf(name, sizeof(name), "configuration %llu", (unsigned long long)number);
	return check_document(change, inst, name, err);
}

/* Reads the last good configuration, which is on the disk already, to run it again. */
static int read_undo(struct change *change, struct instance *inst, FILE *err)
{
	struct kept *kept = inst->kept;
	struct keep_record record;
	int ret = keep_read(kept->keep, change->good, &record);

	if (ret) {
		fprintf(err, "the last good configuration: %s\n", strerror(-ret));
		return ret;
	}
	change->number = change->good;
	change->document = json_incref(record.configuration);
	change->about = json_incref(record.about);
	keep_record_free(&record);
	return check_document(change, inst, "the last good configuration", err);
}

/* Writes the digest of the present file, which this change overrules; "" if it cannot be read. */
static void digest_file(const struct instance *inst, char digest[CHANGE_DIGEST_MAX])
{
	struct diagnostics diagnostics;
	struct seen *seen = NULL;
	json_t *document = NULL;
	char *messages = NULL;
	size_t size;
	FILE *unused;

	if (kept_knows_file(inst->kept, digest))
		return;
	unused = open_memstream(&messages, &size);
	if (!unused)
		return;
	diagnostics_init(&diagnostics, unused, DIAGNOSTICS_TEXT);
	if (config_load_document(inst->file, &diagnostics, &document, &seen) == 0 && document &&
		configuration_digest(document, digest) == 0)
		kept_know_file(inst->kept, seen, digest);
	else
		seen_free(seen);
	json_decref(document);
	fclose(unused);
	free(messages);
}

/* Adds the first changes with old and new values, and the number of all, to the line. */
static void list_changes(struct change *change, struct kept *kept)
{
	static const char *const keys[] = {"old", "new"};
	struct keep_record before;
	json_t *listed, *row;
	size_t n, i;

	if (kept_read(kept, change->running, &before))
		return;
	listed = changes_between(before.configuration, change->document, LISTED_MOST, &n);
	keep_record_free(&before);
	json_object_set_new(change->line, "n_changes", json_integer((json_int_t)n));
	json_array_foreach (listed, i, row) {
		for (unsigned k = 0; k < 2; k++) {
			json_t *value = json_object_get(row, keys[k]);

			/* The records have the long values. */
			if (json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) > VALUE_MOST)
				json_object_set_new(row, keys[k], json_string("..."));
		}
	}
	json_object_set_new(change->line, "changes", listed);
}

static int read_kind(struct change *change, struct instance *inst, json_t **singles, FILE *err)
{
	switch (change->request.kind) {
	case CHANGE_RELOAD:
		return read_reload(change, inst, singles, err);
	case CHANGE_APPLY:
		return read_apply(change, inst, err);
	case CHANGE_POLICY:
		return read_policy(change, inst, singles, err);
	case CHANGE_ROLLBACK:
		return read_rollback(change, inst, singles, err);
	case CHANGE_UNDO:
		return read_undo(change, inst, err);
	default:
		return 0;
	}
}

static int check_confirmation(const struct change *change, FILE *err)
{
	enum change_kind kind = change->request.kind;

	if (kind == CHANGE_CONFIRM || kind == CHANGE_UNDO || kind == CHANGE_START || !change->waits)
		return 0;
	fputs("a change waits for its confirmation: weirctl confirm, or weirctl rollback\n", err);
	return -EBUSY;
}

int change_read(struct change *change, struct instance *inst, FILE *err)
{
	const struct change_request *request = &change->request;
	json_t *singles = NULL;
	int ret = check_confirmation(change, err);

	if (!change->line)
		change->line = history_line(
			words[request->kind], request->uid, request->gid, request->pid);
	if (!change->line)
		return -ENOMEM;
	if (ret == 0)
		ret = read_kind(change, inst, &singles, err);
	if (ret == 0 && inst->kept && change->document && !change->about) {
		if (request->kind != CHANGE_RELOAD)
			digest_file(inst, change->file_digest);
		/* There is no hurry with the digest of a file with edits. */
		change->about = about_make(change->line,
			request->kind == CHANGE_POLICY ? NULL : change->document,
			change->file_digest, singles);
		ret = change->about ? 0 : -ENOMEM;
	}
	json_decref(singles);
	return ret;
}

/* Returns true if a new record would be equal to the kept one. */
static bool is_kept_already(const struct change *change, struct kept *kept)
{
	struct keep_record running;
	bool same;

	if (!kept->about || !change->running || kept_read(kept, change->running, &running))
		return false;
	same = json_equal(running.configuration, change->document) &&
	       json_equal(json_object_get(kept->about, "file_digest"),
		       json_object_get(change->about, "file_digest")) &&
	       json_equal(json_object_get(kept->about, "singles"),
		       json_object_get(change->about, "singles"));
	keep_record_free(&running);
	return same;
}

/* Returns true if it can run without a record: it is in the file, or runs already. */
static bool may_be_unkept(const struct change *change)
{
	return change->request.kind == CHANGE_RELOAD || change->request.kind == CHANGE_START;
}

static int write_change(struct change *change, struct kept *kept, FILE *err)
{
	int ret = keep_write(kept->keep, change->about, change->document, &change->number);

	change->written = ret == 0;
	change->keep_error = ret;
	if (ret == 0)
		return 0;
	fprintf(err, "%s%s: %s: the configuration is not kept\n",
		may_be_unkept(change) ? "warning: " : "", kept->directory, strerror(-ret));
	return may_be_unkept(change) ? 0 : ret;
}

int change_keep(struct change *change, struct instance *inst, FILE *err)
{
	struct kept *kept = inst->kept;
	int ret = 0;

	if (!kept || !change->document)
		return 0;
	change->lists = true;
	if (is_kept_already(change, kept))
		change->number = change->running;
	else if (!change->number)
		ret = write_change(change, kept, err);
	return ret;
}

/* Marks the record of this change good, or deletes it after an error. */
static int settle_records(struct change *change, struct keep *keep, int error)
{
	switch (change->request.kind) {
	case CHANGE_CONFIRM:
		return keep_confirm(keep, change->number);
	case CHANGE_UNDO:
		return error ? 0 : keep_forget(keep, change->running);
	default:
		if (!change->written)
			return 0;
		if (error)
			return keep_forget(keep, change->number);
		return change->request.within_ns ? 0 : keep_confirm(keep, change->number);
	}
}

static void complete_line(struct change *change, int error, const char *messages)
{
	/* 0: the configuration that runs after the change is not kept */
	const uint64_t to = error || !change->document ? change->running : change->number;
	json_t *line = change->line;

	json_object_set_new(line, "ok", json_boolean(error == 0));
	json_object_set_new(line, "from", json_integer((json_int_t)change->running));
	json_object_set_new(line, "to", json_integer((json_int_t)to));
	if (change->request.number)
		json_object_set_new(
			line, "back_to", json_integer((json_int_t)change->request.number));
	if (change->request.within_ns)
		json_object_set_new(line, "confirm_within_s",
			json_integer((json_int_t)(change->request.within_ns / 1000000000)));
	if (messages && messages[0])
		json_object_set_new(
			line, "messages", json_stringn(messages, strnlen(messages, MESSAGES_MOST)));
}

int change_end(struct change *change, struct kept *kept, int error, const char *messages)
{
	int ret, added;
	bool unconfirmed;
	json_t *before;

	if (change->lists)
		list_changes(change, kept);
	ret = settle_records(change, kept->keep, error);
	unconfirmed = ret && change->request.kind == CHANGE_CONFIRM;
	complete_line(change, unconfirmed ? ret : error, unconfirmed ? strerror(-ret) : messages);
	added = journal_add(kept->keep, change->line);
	/* Keeps it in memory for the next change; this one frees the previous. */
	if (error == 0 && change->request.kind != CHANGE_CONFIRM && change->document) {
		before = kept->configuration;
		kept->configuration = NULL;
		kept_have(kept, change->number, json_incref(change->document));
		json_decref(change->document);
		change->document = before;
	}
	if (error == 0 && change->number)
		change->file = keep_file(kept->keep, change->number);
	return ret ? ret : added;
}
