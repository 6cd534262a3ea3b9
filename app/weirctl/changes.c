/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "apply", "confirm", "rollback", "history" and "change", and changes of policies.
 */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ask/member.h"
#include "change/edit.h"
#include "config/lists.h"
#include "edit_file.h"
#include "field.h"
#include "load_file.h"
#include "running.h"

#define LOOK_MS 50
#define SOON_MS \
	2 /* between the first looks: then an eighth of the time so far, until it is LOOK_MS */
#define EDIT_MOST 3500 /* bytes of an edit in a request: see TELEMETRY_MAX_REQUEST */

/* As long as the largest configuration may take; and as another's change is waited for. */
#define CHANGE_MS (120 * 1000)
#define BUSY_MS   (10 * 1000)

/* Lines of history without a word, and what of a change is shown in one. */
#define HISTORY_USUAL 20
#define VALUE_SHOWN   24

/* Nobody can write to it any more, or cut it off. -1 and errno. */
static int seal_text(const char *text)
{
	int fd = memfd_create("configuration", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t len = strlen(text);

	if (fd < 0)
		return -1;
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		text += n;
		len -= (size_t)n;
	}
	if (len == 0 && fcntl(fd, F_ADD_SEALS,
				F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A pause that is short when little time has passed; returns how long it was, in ms. */
static unsigned look_again(struct source *source, unsigned waited)
{
	unsigned ms = waited / 8 > SOON_MS ? waited / 8 : SOON_MS;

	ms = ms < LOOK_MS ? ms : LOOK_MS;
	source->pause(source, ms);
	return ms;
}

/* Asks until no other change is under way; the answer. */
static int ask_when_free(struct source *source, const char *request, int given, json_t **answer)
{
	unsigned waited = 0;
	int ret = -ENOSYS;

	*answer = NULL;
	while (waited < BUSY_MS) {
		int taken = -1;

		json_decref(*answer);
		*answer = NULL;
		if (given >= 0 && !source->ask_with)
			return -ENOSYS;
		if (given >= 0)
			ret = source->ask_with(source, request, given, &taken, answer);
		else
			ret = source_get(source, request, answer);
		if (taken >= 0)
			close(taken);
		if (ret || !json_is_true(json_object_get(*answer, "busy")))
			break;
		waited += look_again(source, waited);
	}
	return ret;
}

/* How it ended, where others have since. -ESTALE: that is not told any more. */
static int ask_of_former(struct source *source, const json_t *serial, json_t **document)
{
	char number[24];
	int ret;

	snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(serial));
	ret = source_get_of(source, "/weir/change", number, document);
	if (ret || json_equal(member_at(*document, "last.serial"), serial))
		return ret;
	json_decref(*document);
	*document = NULL;
	return -ESTALE;
}

/* -ESTALE: many have ended since, and how this one did is not told any more. */
static int wait_for_change(struct source *source, const json_t *serial, json_t **document)
{
	unsigned waited = 0;

	while (waited < CHANGE_MS) {
		int ret = source_get(source, "/weir/change", document);
		const json_t *last = ret ? NULL : member_at(*document, "last.serial");
		bool later;

		if (ret || json_equal(last, serial))
			return ret;
		later = json_integer_value(last) > json_integer_value(serial);
		json_decref(*document);
		*document = NULL;
		if (later)
			return ask_of_former(source, serial, document);
		waited += look_again(source, waited);
	}
	return -ETIMEDOUT;
}

/* Asks for a change, and what came of it: the document, or the refusal in its place. */
static int make_change(struct source *source, const char *request, int given, json_t **document)
{
	json_t *answer;
	int ret = ask_when_free(source, request, given, &answer);

	*document = NULL;
	if (ret == 0 && json_is_null(answer))
		ret = -ENOENT;
	if (ret == 0 && json_object_get(answer, "started"))
		ret = wait_for_change(source, json_object_get(answer, "started"), document);
	else if (ret == 0)
		*document = json_incref(answer);
	json_decref(answer);
	return ret;
}

int apply_gather(struct source *source, const struct request *request, json_t **document)
{
	json_t *file = load_checked(request->word, stderr);
	char ask[64], *text = file ? json_dumps(file, JSON_COMPACT) : NULL;
	int fd = text ? seal_text(text) : -1, ret = 0;

	json_decref(file);
	*document = NULL;
	if (request->within_s)
		snprintf(ask, sizeof(ask), "/weir/apply,%u", request->within_s);
	else
		snprintf(ask, sizeof(ask), "/weir/apply");
	if (fd >= 0)
		ret = make_change(source, ask, fd, document);
	else if (!text)
		*document = json_pack("{s:s}", "refused", "the file is refused");
	else
		ret = -errno;
	if (fd >= 0)
		close(fd);
	free(text);
	return ret;
}

int confirm_gather(struct source *source, const struct request *request, json_t **document)
{
	(void)request;
	return make_change(source, "/weir/confirm", -1, document);
}

int rollback_gather(struct source *source, const struct request *request, json_t **document)
{
	char ask[128] = "/weir/rollback";

	if (request->word)
		snprintf(ask, sizeof(ask), "/weir/rollback,%.64s", request->word);
	return make_change(source, ask, -1, document);
}

bool policy_change_check(const struct request *request)
{
	static const char *const verbs[] = {"add", "set", "remove"};

	if (request->n_words < 2)
		return true;
	if (strcmp(request->word, "apply") == 0) {
		if (request->n_words > 2)
			fprintf(stderr, "weirctl: %s: one word too many\n", request->words[2]);
		return request->n_words == 2;
	}
	for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(request->word, verbs[i]) == 0)
			return true;
	fprintf(stderr,
		"weirctl: %s: expected add, set or remove before the policy's name, or apply "
		"before a file\n",
		request->word);
	return false;
}

/* What is too long for a request goes as a descriptor. */
int make_edit(struct source *source, const json_t *edit, json_t **document)
{
	char *text = json_dumps(edit, JSON_COMPACT), *ask = NULL;
	int fd = -1, ret = -ENOMEM;

	if (text && strlen(text) > EDIT_MOST)
		fd = seal_text(text);
	if (fd >= 0)
		ret = make_change(source, "/weir/policy_change", fd, document);
	else if (text && asprintf(&ask, "/weir/policy_change,%s", text) >= 0)
		ret = make_change(source, ask, -1, document);
	if (fd >= 0)
		close(fd);
	free(ask);
	free(text);
	return ret;
}

/* What words say, or a file that has as many as there are. NULL: refused, and said. */
static json_t *edit_of_request(const struct request *request)
{
	json_t *edit;

	if (strcmp(request->word, "apply") == 0)
		return edits_load(request->words[1], stderr);
	edit = policy_edit_parse(request->word, request->words[1],
		(char *const *)(uintptr_t)(request->words + 2), request->n_words - 2, stderr);
	if (edit && lists_expand_edit(edit, stderr) == 0)
		return edit;
	json_decref(edit);
	return NULL;
}

int policy_gather(struct source *source, const struct request *request, json_t **document)
{
	json_t *edit;
	int ret;

	if (request->n_words < 2)
		return source_get_of(source, "/weir/policy", request->word, document);
	*document = NULL;
	edit = edit_of_request(request);
	if (!edit) {
		*document = json_pack("{s:s}", "refused",
			strcmp(request->word, "apply") == 0 ? "the file is refused"
							    : "that is no change of a policy");
		return 0;
	}
	ret = make_edit(source, edit, document);
	json_decref(edit);
	return ret;
}

int policy_or_change_print(const json_t *document, struct view *view)
{
	return json_object_get(document, "runs") ? change_print(document, view)
						 : policy_print(document, view);
}

int change_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"runs", "runs.words", KIND_TEXT},
		{"number", "runs.number", KIND_COUNT},
		{"last good", "last_good", KIND_COUNT},
		{"to confirm", "unconfirmed.left_s", KIND_SECONDS},
		{"changed singly", "runs.singles", KIND_TEXT},
		{"file", "file", KIND_TEXT},
		{"file refused", "refused", KIND_TEXT},
		{"kept in", "directory", KIND_TEXT},
		{"not kept", "not_kept", KIND_TEXT},
		{"last change", "last.what", KIND_TEXT},
		{"at", "last.at", KIND_TEXT},
		{"succeeded", "last.ok", KIND_TEXT},
		{"added", "last.added", KIND_COUNT},
		{"removed", "last.removed", KIND_COUNT},
		{"changed", "last.changed", KIND_COUNT},
		{"unchanged", "last.unchanged", KIND_COUNT},
		{"took", "last.took_ms", KIND_MS},
	};
	const json_t *messages = member_at(document, "last.messages");
	int ret = fields_detail(document, FIELDS(fields), view);

	return ret == 0 && json_array_size(messages) > 0 ? fields_lines(messages, view) : ret;
}

static void print_refusal(const json_t *document, FILE *err)
{
	const json_t *messages = member_at(document, "last.messages"), *line;
	const char *refused = json_string_value(json_object_get(document, "refused"));
	const char *needs = json_string_value(json_object_get(document, "needs"));
	size_t i;

	json_array_foreach (messages, i, line)
		fprintf(err, "%s\n", json_string_value(line));
	if (json_object_get(document, "denied"))
		fprintf(err, "weirctl: not permitted: it takes %s\n",
			needs ? needs : "more rights");
	else
		fprintf(err, "weirctl: %s; nothing has changed\n",
			refused ? refused : "it was refused");
}

/* "refused" of /weir/change itself is of the file at the start, and a list. */
bool change_refused(const json_t *document, FILE *err)
{
	bool refused = json_object_get(document, "denied") ||
		       json_is_string(json_object_get(document, "refused")) ||
		       json_is_false(member_at(document, "last.ok"));

	if (refused && err)
		print_refusal(document, err);
	return refused;
}

/* --- history --------------------------------------------------------------------------------- */

int history_gather(struct source *source, const struct request *request, json_t **document)
{
	size_t most = request->word ? strtoul(request->word, NULL, 10) : HISTORY_USUAL;
	int ret = source_list(source, "/weir/history", NULL, "lines", document);
	json_t *lines = ret ? NULL : json_object_get(*document, "lines");

	while (json_array_size(lines) > most)
		json_array_remove(lines, json_array_size(lines) - 1);
	return ret;
}

static char *short_value(const json_t *value)
{
	char *text = json_is_string(value) ? strdup(json_string_value(value))
					   : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	if (text && strlen(text) > VALUE_SHOWN)
		snprintf(text + VALUE_SHOWN - 3, sizeof("..."), "...");
	return text;
}

/* "video limit 1Mbit/s -> 2Mbit/s, and 3 more"; what was refused says why. */
static json_t *words_of_line(const json_t *line)
{
	const json_t *first = json_array_get(json_object_get(line, "changes"), 0);
	const char *policy = json_string_value(json_object_get(first, "policy"));
	const char *key = json_string_value(json_object_get(first, "key"));
	json_int_t n = json_integer_value(json_object_get(line, "n_changes"));
	const char *messages = json_string_value(json_object_get(line, "messages"));
	char *before, *now, more[48] = "";
	json_t *words;

	if (json_is_false(json_object_get(line, "ok")))
		return json_sprintf("refused: %.*s", messages ? (int)strcspn(messages, "\n") : 0,
			messages ? messages : "");
	if (!first)
		return json_string("");
	before = short_value(json_object_get(first, "old"));
	now = short_value(json_object_get(first, "new"));
	if (n > 1)
		snprintf(more, sizeof(more), ", and %lld more", (long long)n - 1);
	if (key)
		words = json_sprintf("%s %s %s -> %s%s", policy ? policy : "", key,
			before ? before : "", now ? now : "", more);
	else
		words = json_sprintf("%s %s%s", policy ? policy : "",
			json_is_null(json_object_get(first, "new")) ? "removed" : "added", more);
	free(before);
	free(now);
	return words;
}

int history_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"AT", "at", KIND_TEXT},
		{"WHO", "user", KIND_TEXT},
		{"WHAT", "what", KIND_TEXT},
		{"NUMBER", "to", KIND_COUNT},
		{"CHANGES", "words", KIND_TEXT},
	};
	json_t *rows = json_array(), *line;
	size_t i;
	int ret;

	json_array_foreach (json_object_get(document, "lines"), i, line) {
		json_t *row = json_copy(line);

		json_object_set_new(row, "words", words_of_line(line));
		json_array_append_new(rows, row);
	}
	ret = rows ? fields_list(rows, FIELDS(fields), view) : -ENOMEM;
	json_decref(rows);
	return ret;
}
