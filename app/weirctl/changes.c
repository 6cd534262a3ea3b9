/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "apply", "confirm", "rollback", "history", "change" and "policy set" and similar.
 */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answers.h"
#include "ask/source.h"
#include "change/edit.h"
#include "config/lists.h"
#include "edit_file.h"
#include "field.h"
#include "human.h"

/* A pause is SOON_MS at first, then an eighth of the time so far, and at most LOOK_MS. */
#define LOOK_MS   50
#define SOON_MS   2
#define EDIT_MOST 3500 /* bytes of an edit in a request: see TELEMETRY_MAX_REQUEST */

/* Longest waits: for the largest configuration, and until another change has ended. */
#define CHANGE_MS (120 * 1000)
#define BUSY_MS   (10 * 1000)

/* Lines of history by default, and most characters of a value in one. */
#define HISTORY_USUAL 20
#define VALUE_SHOWN   24

/* The limiter's name for a configuration that it receives, at the start of messages. */
#define APPLIED "the new configuration: "

/* Returns a descriptor of the text that no process can write to or truncate. -1 and errno. */
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

/* Pauses, shorter if little time has passed. Returns the length in ms. */
static unsigned look_again(struct source *source, unsigned waited)
{
	unsigned ms = waited / 8 > SOON_MS ? waited / 8 : SOON_MS;

	ms = ms < LOOK_MS ? ms : LOOK_MS;
	source->pause(source, ms);
	return ms;
}

/* Repeats the request until no other change is under way. */
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

/* Gets the outcome of a change that later ones follow. -ESTALE: the limiter no longer has it. */
static int ask_of_earlier(struct source *source, const json_t *serial, json_t **document)
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

/* Waits for the outcome. -ESTALE: many changes have ended since, and the outcome is gone. */
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
			return ask_of_earlier(source, serial, document);
		waited += look_again(source, waited);
	}
	return -ETIMEDOUT;
}

/* Requests a change and waits. The document is the outcome, or the refusal. */
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

/* Gives the messages about a configuration the name of its file. */
static void name_file(json_t *document, const char *path)
{
	json_t *messages = json_object_get(json_object_get(document, "last"), "messages"), *message;
	size_t i;

	json_array_foreach (messages, i, message) {
		const char *text = json_string_value(message);

		if (text && strncmp(text, APPLIED, strlen(APPLIED)) == 0)
			json_array_set_new(messages, i,
				json_sprintf("%s: %s", strcmp(path, "-") == 0 ? "<stdin>" : path,
					text + strlen(APPLIED)));
	}
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
	if (fd >= 0 && ret == 0)
		name_file(*document, request->word);
	else if (!text)
		*document = json_pack("{s:s}", "refused", "the file is wrong");
	else if (fd < 0)
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
	const char *word = request->word;
	size_t len = word ? strlen(word) : 0;
	char ask[128] = "/weir/rollback";

	if (word && (len == 0 || len > 18 || strspn(word, "0123456789") != len)) {
		*document = json_pack("{s:o}", "refused",
			json_sprintf("\"%s\": expected the number of a configuration, as \"weirctl "
				     "history\" shows it",
				word));
		return 0;
	}
	if (word)
		snprintf(ask, sizeof(ask), "/weir/rollback,%.64s", word);
	return make_change(source, ask, -1, document);
}

bool policy_change_check(const struct request *request)
{
	static const char *const verbs[] = {"add", "set", "remove"};

	if (request->n_words < 2)
		return true;
	if (strcmp(request->word, "apply") == 0) {
		if (request->n_words > 2)
			fprintf(stderr, "weirctl: %s: unexpected word after the file\n",
				request->words[2]);
		return request->n_words == 2;
	}
	for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(request->word, verbs[i]) == 0)
			return true;
	fprintf(stderr,
		"weirctl: %s: expected add, set or remove and a policy, or apply and a file\n",
		request->word);
	return false;
}

/* Sends an edit too long for a request as a descriptor. */
static int send_edit(struct source *source, const json_t *edit, json_t **document)
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

/* Returns the edit that the words stand for. NULL: they are wrong, which is reported. */
static json_t *edit_of_words(const struct request *request)
{
	json_t *edit = policy_edit_parse(request->word, request->words[1],
		(char *const *)(uintptr_t)(request->words + 2), request->n_words - 2, stderr);

	if (edit && lists_expand_edit(edit, stderr) == 0)
		return edit;
	json_decref(edit);
	return NULL;
}

int policy_gather(struct source *source, const struct request *request, json_t **document)
{
	json_t *edit, *last, *lines = NULL;
	const char *path = NULL;
	int ret;

	if (request->n_words < 2)
		return source_get_of(source, "/weir/policy", request->word, document);
	*document = NULL;
	if (strcmp(request->word, "apply") == 0)
		path = request->words[1];
	edit = path ? edits_load(path, stderr, &lines) : edit_of_words(request);
	if (!edit) {
		*document = json_pack(
			"{s:s}", "refused", path ? "the file is wrong" : "the change is wrong");
		return 0;
	}
	ret = send_edit(source, edit, document);
	last = ret ? NULL : json_object_get(*document, "last");
	if (json_is_array(json_object_get(last, "messages")))
		json_object_set_new(last, "messages",
			edits_place(json_object_get(last, "messages"), path, lines));
	json_decref(edit);
	json_decref(lines);
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
		{"peers that differ now", "peers_differ", KIND_TEXT | NONZERO},
	};
	const json_t *messages = member_at(document, "last.messages");

	fields_detail(document, FIELDS(fields), view);
	return json_array_size(messages) > 0 ? fields_lines(messages, view) : view_error(view);
}

static void print_refusal(const json_t *document, FILE *err)
{
	const json_t *messages = member_at(document, "last.messages"), *line;
	const char *refused = json_string_value(json_object_get(document, "refused"));
	size_t i;

	json_array_foreach (messages, i, line)
		complain_of(json_string_value(line), "", err);
	if (!request_denied(document, err))
		fprintf(err, "weirctl: %s; nothing has changed\n",
			refused ? refused : "the limiter rejected the change");
}

/* In /weir/change "refused" is a list, the errors of the file at the start. */
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

/* Shortens the values of a change around their first difference. For free(). */
static void short_values(const json_t *change, char **before, char **now)
{
	char *old = value_text(json_object_get(change, "old"));
	char *new = value_text(json_object_get(change, "new"));
	size_t at = old && new ? first_difference(old, new) : 0;

	*before = old ? shorten(old, at, VALUE_SHOWN) : NULL;
	*now = new ? shorten(new, at, VALUE_SHOWN) : NULL;
	free(old);
	free(new);
}

/* Returns "video limit 1Mbit/s -> 2Mbit/s, and 3 more", or the reason of a refusal. */
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
	short_values(first, &before, &now);
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
