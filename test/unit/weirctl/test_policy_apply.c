/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The requests of "weirctl policy apply" for a file, its waits, and the files that it does not
 * send.
 */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

#define PATH      "edits.json"
#define LIST      "list.txt"
#define SHORT_ONE "{\"do\": \"remove\", \"name\": \"a\"}"

/* A limiter that is busy for some requests, and completes the change after some polls. */
struct listener {
	struct source source;
	char request[8192];
	char *given; /* contents of the descriptor */
	unsigned busy, looks, pauses, paused_ms;
	unsigned behind; /* later changes of others that ended before the poll */
	bool forgets;    /* its result is forgotten by then */
};

static json_t *answer_change(struct listener *listener)
{
	if (listener->busy > 0) {
		listener->busy--;
		return json_pack("{s:s, s:b}", "refused", "another", "busy", true);
	}
	return json_pack("{s:i}", "started", 7);
}

static int answer(struct source *source, const char *request, json_t **value)
{
	struct listener *listener = (struct listener *)source;

	if (strcmp(request, "/weir/change") == 0) {
		*value = json_pack("{s:{}, s:{s:i}}", "runs", "last", "serial",
			listener->looks > 0 ? 6 : 7 + (int)listener->behind);
		listener->looks -= listener->looks > 0;
		return 0;
	}
	if (strcmp(request, "/weir/change,7") == 0) {
		*value = json_pack("{s:{}, s:{s:i}}", "runs", "last", "serial",
			listener->forgets ? 7 + (int)listener->behind : 7);
		return 0;
	}
	snprintf(listener->request, sizeof(listener->request), "%s", request);
	*value = answer_change(listener);
	return 0;
}

static int answer_with(
	struct source *source, const char *request, int given, int *taken, json_t **value)
{
	struct listener *listener = (struct listener *)source;
	struct stat st;

	*taken = -1;
	assert_int_equal(fstat(given, &st), 0);
	free(listener->given);
	listener->given = calloc(1, (size_t)st.st_size + 1);
	assert_int_equal(pread(given, listener->given, (size_t)st.st_size, 0), st.st_size);
	return answer(source, request, value);
}

static double count_pause(struct source *source, unsigned ms)
{
	struct listener *listener = (struct listener *)source;

	listener->pauses++;
	listener->paused_ms += ms;
	return ms / 1e3;
}

static struct listener make_listener(void)
{
	return (struct listener){
		.source = {.ask = answer, .ask_with = answer_with, .pause = count_pause}};
}

static void write_text(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

/* Returns the document for a file with that text. */
static json_t *apply_text(struct listener *listener, const char *text)
{
	static const char *const words[] = {"apply", PATH};
	const struct request request = {.word = words[0], .words = words, .n_words = 2};
	json_t *document;

	write_text(PATH, text);
	assert_true(policy_change_check(&request));
	assert_int_equal(policy_gather(&listener->source, &request, &document), 0);
	return document;
}

/*
 * An array and one edit a line make the same request. weirctl repeats a refused request while the
 * limiter is busy, then polls until the change ends.
 */
TEST(sends)
{
	static const char *const texts[] = {
		("[" SHORT_ONE "]"), SHORT_ONE, ("\n" SHORT_ONE "\n"), ("// x\n" SHORT_ONE)};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct listener listener = make_listener();
		json_t *document;

		listener.busy = 3;
		listener.looks = 30;
		document = apply_text(&listener, texts[i]);
		assert_string_equal(listener.request,
			"/weir/policy_change,[{\"do\":\"remove\",\"name\":\"a\"}]");
		assert_false(change_refused(document, stderr));
		assert_int_equal(listener.pauses, 33);
		/* Short pauses at first, so that a quick change ends soon. */
		assert_in_range(listener.paused_ms, 2 * 33, 300);
		json_decref(document);
	}
}

/* Later changes of others end before the poll: weirctl requests its own change by number. */
TEST(hears_late)
{
	static const char *const words[] = {"apply", PATH};
	const struct request request = {.word = words[0], .words = words, .n_words = 2};

	for (unsigned forgets = 0; forgets < 2; forgets++) {
		struct listener listener = make_listener();
		json_t *document = NULL;

		listener.behind = 3;
		listener.forgets = forgets;
		write_text(PATH, SHORT_ONE);
		assert_int_equal(policy_gather(&listener.source, &request, &document),
			forgets ? -ESTALE : 0);
		if (forgets)
			assert_null(document);
		json_decref(document);
	}
}

/* A long change is sent as a descriptor, with the prefixes of its lists. */
TEST(sends_much)
{
	struct listener listener = make_listener();
	char text[8192] = "", edit[128];
	json_t *document, *edits;

	write_text(LIST, "192.0.2.0/24\n");
	for (unsigned i = 0; i < 64; i++) {
		snprintf(edit, sizeof(edit),
			"{\"do\": \"set\", \"name\": \"p%u\", \"keys\": {\"match.src\": \"@" LIST
			"\"}}\n",
			i);
		strcat(text, edit);
	}
	document = apply_text(&listener, text);
	assert_string_equal(listener.request, "/weir/policy_change");
	edits = json_loads(listener.given, 0, NULL);
	assert_int_equal(json_array_size(edits), 64);
	assert_non_null(strstr(listener.given,
		"{\"do\":\"set\",\"name\":\"p63\",\"keys\":{\"match.src\":[\"192.0.2.0/24\"]}}"));
	json_decref(edits);
	json_decref(document);
	free(listener.given);
	unlink(LIST);
}

/* No request is sent for text that is not JSON, or that names a missing list. */
TEST(sends_nothing)
{
	static const char *const texts[] = {"{", ("[" SHORT_ONE "] 7 x"), (SHORT_ONE ","),
		"{\"do\": \"set\", \"name\": \"p\", \"keys\": {\"match.src\": \"@nowhere.txt\"}}"};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct listener listener = make_listener();
		json_t *document = apply_text(&listener, texts[i]);

		assert_string_equal(listener.request, "");
		assert_true(change_refused(document, NULL));
		json_decref(document);
	}
}

TEST(words_of_it)
{
	static const struct {
		const char *words[4];
		bool good;
	} rows[] = {
		{{"apply", "x"}, true}, {{"apply", "-"}, true}, {{"apply", "x", "y"}, false},
		{{"aply", "x"}, false}, {{"remove", "x"}, true},
		{{"apply"}, true}, /* shows a policy of that name */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct request request = {.word = rows[i].words[0], .words = rows[i].words};

		while (rows[i].words[request.n_words])
			request.n_words++;
		assert_int_equal(policy_change_check(&request), rows[i].good);
	}
}

static int enter_directory(void **state)
{
	static char directory[] = "/tmp/weir-apply-XXXXXX";

	*state = mkdtemp(directory);
	return *state && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
	unlink(PATH);
	return rmdir(*state);
}

TEST_GROUP(enter_directory, leave_directory)
