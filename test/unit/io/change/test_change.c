/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Edits of one policy, single changes on top of a file that changes, and what is between two
 * configurations.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change/between.h"
#include "change/edit.h"
#include "change/singles.h"

/* Configurations are written with ' for ", and only their policies where they begin with [. */
static json_t *configuration(const char *text)
{
	char *copy = strdup(text);
	json_t *json;

	for (char *at = copy; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	json = json_loads(copy, JSON_DECODE_ANY, NULL);
	free(copy);
	if (json == NULL)
		fail_msg("no JSON: %s", text);
	return json_is_array(json) ? json_pack("{s:o}", "policies", json) : json;
}

static void assert_json(json_t *got, const char *want, const char *what)
{
	json_t *expected = configuration(want);
	char *text = json_dumps(got, JSON_COMPACT);

	if (!json_equal(got, expected))
		fail_msg("%s: got %s, expected %s", what, text, want);
	free(text);
	json_decref(expected);
	json_decref(got);
}

struct edit_row {
	const char *before, *verb, *name, *words[4], *after, *said;
};

static const struct edit_row edits[] = {
	{"[]", "add", "a", {"limit=1Mbit/s", "match.dst=10.0.0.0/8"},
		"[{'name':'a','limit':'1Mbit/s','match':{'dst':'10.0.0.0/8'}}]", ""},
	{"{'limiter':'x'}", "add", "a", {"limit=1Mbit/s"},
		"{'limiter':'x','policies':[{'name':'a','limit':'1Mbit/s'}]}", ""},
	{"[{'name':'a'}]", "add", "a", {"limit=1Mbit/s"}, "[{'name':'a'}]", "set changes it"},
	{"[{'name':'a','limit':'1'},{'name':'b'}]", "set", "a", {"limit=2"},
		"[{'name':'a','limit':2},{'name':'b'}]", ""},
	{"[{'name':'b'},{'name':'a','x':{'y':1,'z':2}}]", "set", "a", {"x.y=3", "x.w={\"v\":[1]}"},
		"[{'name':'b'},{'name':'a','x':{'y':3,'z':2,'w':{'v':[1]}}}]", ""},
	{"[{'name':'a','x':{'y':1,'z':2}}]", "set", "a", {"x.y=null"}, "[{'name':'a','x':{'z':2}}]",
		""},
	{"[{'name':'a','x':1}]", "set", "a", {"x.y=1"}, "[{'name':'a','x':1}]", "whole value"},
	{"[{'name':'a'}]", "set", "a", {"limit=3Mbit/s", "x..y=1"}, "[{'name':'a'}]",
		"whole value"},
	{"[{'name':'a'}]", "set", "b", {"limit=1"}, "[{'name':'a'}]", "add makes one"},
	{"[{'name':'a'}]", "set", "a", {"limit"}, "[{'name':'a'}]", "KEY=VALUE"},
	{"[{'name':'a'}]", "set", "a", {"=1"}, "[{'name':'a'}]", "KEY=VALUE"},
	{"[{'name':'a'}]", "set", "a", {"name=b"}, "[{'name':'a'}]", "keeps its name"},
	{"[{'name':'a'}]", "set", "a", {"limit=1", "limit=2"}, "[{'name':'a'}]", "twice"},
	{"[{'name':'a'}]", "set", "a", {NULL}, "[{'name':'a'}]", "KEY=VALUE"},
	{"[{'name':'a'},{'name':'b'}]", "remove", "a", {NULL}, "[{'name':'b'}]", ""},
	{"[{'name':'b'}]", "remove", "a", {NULL}, "[{'name':'b'}]", "none of that name"},
	{"[{'name':'a'}]", "remove", "a", {"x=1"}, "[{'name':'a'}]", "too many"},
	{"[{'name':'a'}]", "drop", "a", {"x=1"}, "[{'name':'a'}]", "expected a change"},
};

static void each_edit(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
		const struct edit_row *row = &edits[i];
		json_t *json = configuration(row->before), *edit;
		char *said = NULL;
		size_t size;
		FILE *err = open_memstream(&said, &size);
		unsigned n = 0;
		int rc = -EINVAL;

		while (n < 4 && row->words[n] != NULL)
			n++;
		edit = policy_edit_parse(
			row->verb, row->name, (char *const *)(uintptr_t)row->words, n, err);
		if (edit != NULL)
			rc = policy_edit_apply(json, edit, err);
		fclose(err);
		if ((rc == 0) != (row->said[0] == '\0') || strstr(said, row->said) == NULL)
			fail_msg("edit %zu: %d, \"%s\"", i, rc, said);
		assert_json(json, row->after, row->name);
		json_decref(edit);
		free(said);
	}
}

struct carry_row {
	const char *was, *runs, *changed, *file, *after, *left, *said;
};

/* The file as it was, what runs on top of it, whom that has changed; the file as it is now. */
static const struct carry_row carries[] = {
	{"[{'name':'a','l':1}]", "[{'name':'a','l':2}]", "a", "[{'name':'a','l':1}]",
		"[{'name':'a','l':2}]", "a", ""},
	/* The file changes elsewhere. */
	{"[{'name':'a','l':1},{'name':'b','l':1}]", "[{'name':'a','l':2},{'name':'b','l':1}]", "a",
		"[{'name':'b','l':9},{'name':'a','l':1}]",
		"[{'name':'b','l':9},{'name':'a','l':2}]", "a", ""},
	/* The file has it by now. */
	{"[{'name':'a','l':1}]", "[{'name':'a','l':2}]", "a", "[{'name':'a','l':2}]",
		"[{'name':'a','l':2}]", "", ""},
	/* The file has something else: it is the newer one. */
	{"[{'name':'a','l':1}]", "[{'name':'a','l':2}]", "a", "[{'name':'a','l':3}]",
		"[{'name':'a','l':3}]", "", "policy \"a\": the file has another one"},
	{"[{'name':'a','l':1}]", "[{'name':'a','l':2}]", "a", "[]", "[]", "",
		"policy \"a\": the file"},
	/* Added, and removed. */
	{"[]", "[{'name':'a'}]", "a", "[{'name':'b'}]", "[{'name':'b'},{'name':'a'}]", "a", ""},
	{"[]", "[{'name':'a'}]", "a", "[{'name':'a','l':1}]", "[{'name':'a','l':1}]", "",
		"policy \"a\": the file"},
	{"[{'name':'a'},{'name':'b'},{'name':'c'}]", "[{'name':'b'}]", "ac",
		"[{'name':'a'},{'name':'b'},{'name':'c'}]", "[{'name':'b'}]", "ac", ""},
	{"[{'name':'a'},{'name':'b'}]", "[{'name':'b'}]", "a", "[{'name':'a','l':1},{'name':'b'}]",
		"[{'name':'a','l':1},{'name':'b'}]", "", "policy \"a\": the file"},
	{"[{'name':'a'}]", "[]", "a", "[]", "[]", "", ""},
	{"{}", "[{'name':'a'}]", "a", "{'idle':'poll'}",
		"{'idle':'poll','policies':[{'name':'a'}]}", "a", ""},
};

static void each_carry(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(carries) / sizeof(*carries); i++) {
		const struct carry_row *row = &carries[i];
		json_t *was = configuration(row->was), *runs = configuration(row->runs);
		json_t *file = configuration(row->file), *singles = json_array(), *single;
		char left[8] = "", *said = NULL;
		size_t size, n;
		FILE *say = open_memstream(&said, &size);

		for (const char *at = row->changed; *at; at++) {
			const char name[2] = {*at};

			assert_int_equal(singles_note(singles, was, name), 0);
			/* What it was is what it was at first. */
			assert_int_equal(singles_note(singles, runs, name), 0);
		}
		assert_int_equal(singles_carry(file, runs, singles, say), 0);
		fclose(say);
		json_array_foreach (singles, n, single)
			left[n] = json_string_value(json_object_get(single, "policy"))[0];
		if (strcmp(left, row->left) != 0 || strstr(said, row->said) == NULL ||
			(row->said[0] == '\0') != (said[0] == '\0'))
			fail_msg("carry %zu: left \"%s\", said \"%s\"", i, left, said);
		assert_json(file, row->after, "carry");
		json_decref(was);
		json_decref(runs);
		json_decref(singles);
		free(said);
	}
}

static const char *const differences[][3] = {
	{"[{'name':'a','l':1}]", "[{'name':'a','l':1}]", "[]"},
	{"[{'name':'a'},{'name':'b'}]", "[{'name':'b'},{'name':'a'}]", "[]"},
	{"[{'name':'a','note':'x'}]", "[{'name':'a','note':'y'}]", "[]"},
	{"[{'name':'a','l':1,'m':{'s':1,'d':2}}]", "[{'name':'a','l':2,'m':{'s':1,'d':3}}]",
		"[{'policy':'a','key':'l','old':1,'new':2},"
		"{'policy':'a','key':'m.d','old':2,'new':3}]"},
	{"[{'name':'a','m':{'s':1}}]", "[{'name':'a'}]",
		"[{'policy':'a','key':'m.s','old':1,'new':null}]"},
	{"[{'name':'a'}]", "[{'name':'b'}]",
		"[{'policy':'a','key':null,'old':{'name':'a'},'new':null},"
		"{'policy':'b','key':null,'old':null,'new':{'name':'b'}}]"},
	{"{'gossip':{'timeout':'1s','roster':[1]}}", "{'gossip':{'timeout':'2s','roster':[1]}}",
		"[{'policy':null,'key':'gossip.timeout','old':'1s','new':'2s'}]"},
	{"{'gossip':{'roster':[1]}}", "{'gossip':'x'}",
		"[{'policy':null,'key':'gossip','old':{'roster':[1]},'new':'x'}]"},
};

static void each_difference(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(differences) / sizeof(*differences); i++) {
		json_t *before = configuration(differences[i][0]);
		json_t *now = configuration(differences[i][1]);
		json_t *want = configuration(differences[i][2]),
		       *got = changes_between(before, now);
		char *text = json_dumps(got, JSON_COMPACT);

		if (!json_equal(got, json_object_get(want, "policies")))
			fail_msg("difference %zu: %s", i, text);
		free(text);
		json_decref(before);
		json_decref(now);
		json_decref(want);
		json_decref(got);
	}
}

static void digests(void **state)
{
	static const char *const texts[] = {
		"{'a':1,'b':[1,2]}", "{'b':[1,2],'a':1}", "{'a':1,'b':[2,1]}", "{'a':2,'b':[1,2]}"};
	char of[4][CHANGE_DIGEST_MAX];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		json_t *json = configuration(texts[i]);

		assert_int_equal(configuration_digest(json, of[i]), 0);
		assert_int_equal(strlen(of[i]), CHANGE_DIGEST_MAX - 1);
		json_decref(json);
	}
	assert_string_equal(of[0], of[1]);
	assert_string_not_equal(of[0], of[2]);
	assert_string_not_equal(of[0], of[3]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_edit),
		cmocka_unit_test(each_carry),
		cmocka_unit_test(each_difference),
		cmocka_unit_test(digests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
