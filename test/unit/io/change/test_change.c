/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Edits of policies, one or many together, single changes on top of a file that changes, and the
 * differences of two configurations.
 */
#include "check.h"
#include "scope.h"

#include "change/between.h"
#include "change/edit.h"
#include "change/singles.h"

/* Reads a configuration with ' for "; if the text begins with [, it has only the policies. */
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

#define KEY40  "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLM"
#define KEY120 KEY40 KEY40 KEY40

#define CHILDREN(one, two)                               \
	"[{'name':'p'},{'name':'" one "','parent':'p'}," \
	"{'name':'" two "','parent':'p'}]"

struct edit_row {
	const char *before, *verb, *name, *words[4], *after, *said;
};

static const struct edit_row single_edits[] = {
	{"[]", "add", "a", {"limit=1Mbit/s", "match.dst=10.0.0.0/8"},
		"[{'name':'a','limit':'1Mbit/s','match':{'dst':'10.0.0.0/8'}}]", ""},
	{"{'limiter':'x'}", "add", "a", {"limit=1Mbit/s"},
		"{'limiter':'x','policies':[{'name':'a','limit':'1Mbit/s'}]}", ""},
	{"[{'name':'a'}]", "add", "a", {"limit=1Mbit/s"}, "[{'name':'a'}]", "already exists: use"},
	{"[{'name':'a','limit':'1'},{'name':'b'}]", "set", "a", {"limit=2"},
		"[{'name':'a','limit':2},{'name':'b'}]", ""},
	{"[{'name':'b'},{'name':'a','x':{'y':1,'z':2}}]", "set", "a", {"x.y=3", "x.w={\"v\":[1]}"},
		"[{'name':'b'},{'name':'a','x':{'y':3,'z':2,'w':{'v':[1]}}}]", ""},
	{"[{'name':'a','x':{'y':1,'z':2}}]", "set", "a", {"x.y=null"}, "[{'name':'a','x':{'z':2}}]",
		""},
	{"[{'name':'a','x':1}]", "set", "a", {"x.y=1"}, "[{'name':'a','x':1}]", "whole value"},
	{"[{'name':'a'}]", "set", "a", {"limit=3Mbit/s", "x..y=1"}, "[{'name':'a'}]",
		"whole value"},
	{"[{'name':'a'}]", "set", "a", {"x.y.z.w=1"}, "[{'name':'a','x':{'y':{'z':{'w':1}}}}]", ""},
	{"[{'name':'a'}]", "set", "a", {"x.y.z.w.v=1"}, "[{'name':'a'}]",
		"policy \"a\": \"x.y.z.w.v\": expected the key of an object: set the whole value"},
	{"[{'name':'a'}]", "set", "a", {KEY120 "1234567=x"},
		"[{'name':'a','" KEY120 "1234567':'x'}]", ""},
	{"[{'name':'a'}]", "set", "a", {KEY120 "12345678=x"}, "[{'name':'a'}]",
		KEY120 "12345678=x\": expected KEY=VALUE such as "},
	{"[{'name':'a'}]", "set", "a", {"x=\xff"}, "[{'name':'a'}]", "x=\xff\": expected UTF-8\n"},
	{"[{'name':'a'}]", "set", "\xff", {"x=1"}, "[{'name':'a'}]",
		"policy \"\xff\": expected UTF-8\n"},
	{"[{'name':'a'}]", "set", "a", {"x=[1,{}]", "y=\"1\"", "z=true", "w=="},
		"[{'name':'a','x':[1,{}],'y':'1','z':true,'w':'='}]", ""},
	{"[{'name':'a'}]", "set", "b", {"limit=1"}, "[{'name':'a'}]",
		"policy \"b\": no such policy: see "},
	{"[{'name':'customer'}]", "set", "custmer", {"limit=1"}, "[{'name':'customer'}]",
		"policy \"custmer\": no such policy: did you mean \"customer\"?\n"},
	{"[{'name':'a'}]", "add", "a", {"limit=1"}, "[{'name':'a'}]",
		"policy \"a\": already exists: use \"set\""},
	{"[{'name':'a'}]", "set", "a", {NULL}, "[{'name':'a'}]",
		"policy \"a\": expected KEY=VALUE after it"},
	{"[{'name':'a'}]", "remove", "a", {"x=1"}, "[{'name':'a'}]",
		"\"x=1\": expected only a policy"},
	{"[{'name':'a'}]", "set", "a", {"x=1", "x=2"}, "[{'name':'a'}]", "\"x=2\": duplicate key"},
	{"[{'name':'a'}]", "set", "a", {"name=a"}, "[{'name':'a'}]",
		"\"name=a\": a policy keeps its name"},
	{"[{'name':'a'}]", "set", "b", {"limit=1"}, "[{'name':'a'}]", "or use \"add\""},
	{"[{'name':'a'}]", "set", "a", {"limit"}, "[{'name':'a'}]", "KEY=VALUE"},
	{"[{'name':'a'}]", "set", "a", {"=1"}, "[{'name':'a'}]", "KEY=VALUE"},
	{"[{'name':'a'}]", "set", "a", {"name=b"}, "[{'name':'a'}]", "keeps its name"},
	{"[{'name':'a'}]", "set", "a", {"limit=1", "limit=2"}, "[{'name':'a'}]", "duplicate key"},
	{"[{'name':'a'}]", "set", "a", {NULL}, "[{'name':'a'}]", "KEY=VALUE"},
	{"[{'name':'a'},{'name':'b'}]", "remove", "a", {NULL}, "[{'name':'b'}]", ""},
	{"[{'name':'b'}]", "remove", "a", {NULL}, "[{'name':'b'}]", "no such policy"},
	{"[{'name':'a'}]", "remove", "a", {"x=1"}, "[{'name':'a'}]", "only a policy"},
	{"[{'name':'a'}]", "drop", "a", {"x=1"}, "[{'name':'a'}]", "expected {\"do\": \"set\""},
	/* A policy that others still need. */
	{CHILDREN("c1", "c2"), "remove", "p", {NULL}, CHILDREN("c1", "c2"),
		"policy \"p\": cannot remove it: it is the parent of \"c1\" and \"c2\": remove "
		"them"},
	{"[{'name':'p'},{'name':'c','parent':'p'}]", "remove", "p", {NULL},
		"[{'name':'p'},{'name':'c','parent':'p'}]", "parent of \"c\": remove it"},
	{"[{'name':'p'},{'name':'c','parent':'p'}]", "remove", "c", {NULL}, "[{'name':'p'}]", ""},
	{"[{'name':'p'},{'name':'c','parent':'q'}]", "remove", "p", {NULL},
		"[{'name':'c','parent':'q'}]", ""},
};

TEST(each_edit)
{
	for (size_t i = 0; i < COUNT(single_edits); i++) {
		const struct edit_row *row = &single_edits[i];
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
			rc = policy_edits_apply(json, edit, err);
		fclose(err);
		if ((rc == 0) != (row->said[0] == '\0') || strstr(said, row->said) == NULL)
			fail_msg("edit %zu: %d, \"%s\"", i, rc, said);
		assert_json(json, row->after, row->name);
		json_decref(edit);
		free(said);
	}
}

#define ADD(name)    "{'do':'add','name':'" name "','keys':{'l':1}}"
#define SET(name, l) "{'do':'set','name':'" name "','keys':{'l':" l "}}"
#define REMOVE(name) "{'do':'remove','name':'" name "'}"
#define ABC          "[{'name':'a'},{'name':'b','m':{'s':1,'d':2}},{'name':'c'}]"

#define PCD "[{'name':'p'},{'name':'c','parent':'p'},{'name':'d','parent':'p'}]"
#define EDIT_KEYS                                                                     \
	"unknown key: expected \"do\", \"name\" or \"keys\", which has the policy's " \
	"keys\n"

/* Several edits: the policies after them, or every mistake with its place. */
static const struct {
	const char *edits, *after, *said;
} transactions[] = {
	{"[" SET("b", "2") "," REMOVE("a") "," ADD("d") "]",
		"[{'name':'b','m':{'s':1,'d':2},'l':2},{'name':'c'},{'name':'d','l':1}]", ""},
	/* Each edit applies to the result of the previous ones. */
	{"[" ADD("d") "," SET("d", "2") "," SET("d", "3") "]",
		"[{'name':'a'},{'name':'b','m':{'s':1,'d':2}},{'name':'c'},{'name':'d','l':3}]",
		""},
	{"[" REMOVE("a") "," ADD("a") "," REMOVE("c") "]",
		"[{'name':'b','m':{'s':1,'d':2}},{'name':'a','l':1}]", ""},
	{"[" ADD("d") "," REMOVE("d") "," REMOVE("a") "," REMOVE("b") "," REMOVE("c") "]", "[]",
		""},
	{"[{'do':'set','name':'b','keys':{'m.s':3,'m.d':null,'n.x':1}}]",
		"[{'name':'a'},{'name':'b','m':{'s':3},'n':{'x':1}},{'name':'c'}]", ""},
	{"[{'do':'set','name':'b','keys':{'name':'b'}}]", ABC, ""},
	{"[" SET("a", "2") "," SET("d", "2") "]", ABC,
		"edits[1]: policy \"d\": no such policy: see \"weirctl policies\", or use \"add\" to create it\n"},
	{"[" REMOVE("a") "," SET("a", "2") "]", ABC,
		"edits[1]: policy \"a\": no such policy: see \"weirctl policies\", or use \"add\" to create it\n"},
	{"[" ADD("d") "," ADD("d") "," ADD("a") "," SET("c", "2") "]", ABC,
		"edits[1]: policy \"d\": already exists: use \"set\" to change it\n"
		"edits[2]: policy \"a\": already exists: use \"set\" to change it\n"},
	/* A policy that is added with a mistake exists for the next edits. */
	{"[{'do':'add','name':'d','keys':{'x..y':1}}," SET("d", "2") "]", ABC,
		"edits[0]: policy \"d\": \"x..y\": expected the key of an object: set the whole value of "
		"the first word\n"},
	{"[{'do':'drop','name':'a'},{'name':'a'},{'do':'set','keys':{}},"
	 "{'do':'set','name':7,'keys':{}},{'do':'set','name':'a'},5,[]]",
		ABC,
		"edits[0]: do: \"drop\": expected \"add\", \"set\" or \"remove\"\n"
		"edits[1]: do: missing: expected \"add\", \"set\" or \"remove\"\n"
		"edits[2]: name: missing: expected the name of a policy\n"
		"edits[3]: name: 7: expected the name of a policy\n"
		"edits[4]: keys: missing: expected an object\n"
		"edits[5]: 5: expected an edit, an object\n"
		"edits[6]: an empty array: expected an edit, an object\n"},
	{"[{'do':'set','name':'a','limit':'9','keys':{}},{'do':'remove','name':'b','key':1}]", ABC,
		"edits[0]: limit: \"9\": " EDIT_KEYS "edits[1]: key: 1: " EDIT_KEYS},
	{"[{'do':'set','name':'a','keys':{'name':'x'}}]", ABC,
		"edits[0]: policy \"a\": name: \"x\": a policy keeps its name: remove it, and add another\n"},
	{"[]", ABC, "edits: none: expected at least one\n"},
};

static int apply_edits(json_t *json, const json_t *edits, char **said)
{
	size_t size;
	FILE *err = open_memstream(said, &size);
	int rc = policy_edits_apply(json, edits, err);

	fclose(err);
	return rc;
}

TEST(each_transaction)
{
	for (size_t i = 0; i < COUNT(transactions); i++) {
		json_t *edits = configuration(transactions[i].edits), *json = configuration(ABC);
		json_t *before = json_deep_copy(json), *policies;
		char *said;
		int rc;

		policies = json_incref(json_object_get(json, "policies"));
		rc = apply_edits(json, json_object_get(edits, "policies"), &said);
		if (strcmp(said, transactions[i].said) != 0 || rc != (said[0] ? -EINVAL : 0))
			fail_msg("transaction %zu: %d, \"%s\"", i, rc, said);
		/* Other owners of the policies have them unchanged. */
		assert_true(json_equal(policies, json_object_get(before, "policies")));
		assert_json(json, transactions[i].after, transactions[i].edits);
		json_decref(policies);
		json_decref(before);
		json_decref(edits);
		free(said);
	}
}

/* The first mistakes are printed, then the number of the others. */
TEST(many_mistakes)
{
	json_t *edits = json_array(), *json = configuration(ABC);
	ENDED_BY(free_at) char *said;
	unsigned lines = 0;

	for (unsigned i = 0; i < 25; i++)
		json_array_append_new(edits, json_pack("{s:s, s:s}", "do", "remove", "name", "x"));
	assert_int_equal(apply_edits(json, edits, &said), -EINVAL);
	for (const char *at = said; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 21);
	assert_non_null(strstr(said, "edits[19]: policy \"x\": "));
	assert_null(strstr(said, "edits[20]"));
	assert_non_null(strstr(said, "edits: and 5 more mistakes\n"));
	assert_json(json, ABC, "as it was");
	json_decref(edits);
}

#define MANY 50000

/* The time of many edits does not grow with their square, and the order stays. */
TEST(many_edits)
{
	json_t *edits = json_array(), *list = json_array(), *json, *singles = json_array();
	char *said, name[16];
	size_t n;

	for (unsigned i = 0; i < MANY; i++) {
		static const char *const verbs[] = {"set", "remove", "add"};

		snprintf(name, sizeof(name), "%c%u", i % 3 == 2 ? 'n' : 'p', i);
		json_array_append_new(edits, json_pack("{s:s, s:s, s:{s:i}}", "do", verbs[i % 3],
						     "name", name, "keys", "l", 2));
		snprintf(name, sizeof(name), "p%u", i);
		json_array_append_new(list, json_pack("{s:s, s:i}", "name", name, "l", 1));
	}
	json = json_pack("{s:o}", "policies", list);
	json_incref(list);
	assert_int_equal(singles_note(singles, json, edits), 0);
	assert_int_equal(singles_note(singles, json, edits), 0);
	assert_int_equal(json_array_size(singles), MANY);
	assert_int_equal(apply_edits(json, edits, &said), 0);
	assert_int_equal(json_array_size(list), MANY); /* another owner */
	json_decref(list);
	list = json_object_get(json, "policies");
	assert_int_equal(json_array_size(list), MANY - 1);
	for (size_t i = 0, k = 0; i < MANY; i++) { /* one of three is gone */
		snprintf(name, sizeof(name), "p%zu", i);
		if (i % 3 != 1)
			assert_string_equal(json_string_value(json_object_get(
						    json_array_get(list, k++), "name")),
				name);
	}
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(list, MANY - 2), "name")),
		"n49997");
	json_decref(json);
	json = json_pack("{s:[]}", "policies");
	json_decref(changes_between(json, json, 1, &n));
	assert_int_equal(n, 0);
	json_decref(json);
	json_decref(edits);
	json_decref(singles);
	free(said);
}

struct carry_row {
	const char *was, *runs, *changed, *file, *after, *left, *said;
};

/* The file before, the running policies, the single changes, and the file now. */
static const struct carry_row carries[] = {
	{"[{'name':'a','l':1}]", "[{'name':'a','l':2}]", "a", "[{'name':'a','l':1}]",
		"[{'name':'a','l':2}]", "a", ""},
	/* The file changes elsewhere. */
	{"[{'name':'a','l':1},{'name':'b','l':1}]", "[{'name':'a','l':2},{'name':'b','l':1}]", "a",
		"[{'name':'b','l':9},{'name':'a','l':1}]",
		"[{'name':'b','l':9},{'name':'a','l':2}]", "a", ""},
	/* The file has the same change now. */
	{"[{'name':'a','l':1}]", "[{'name':'a','l':2}]", "a", "[{'name':'a','l':2}]",
		"[{'name':'a','l':2}]", "", ""},
	/* The file has another policy, which is newer. */
	{"[{'name':'a','l':1}]", "[{'name':'a','l':2}]", "a", "[{'name':'a','l':3}]",
		"[{'name':'a','l':3}]", "", "policy \"a\": the file has a newer one"},
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

TEST(each_carry)
{
	for (size_t i = 0; i < COUNT(carries); i++) {
		const struct carry_row *row = &carries[i];
		json_t *was = configuration(row->was), *runs = configuration(row->runs);
		json_t *file = configuration(row->file), *singles = json_array(), *single;
		char left[8] = "", *said = NULL;
		size_t size, n;
		FILE *say = open_memstream(&said, &size);

		for (const char *at = row->changed; *at; at++) {
			json_t *edit = json_pack(
				"[{s:s%},{s:s%}]", "name", at, (size_t)1, "name", at, (size_t)1);

			assert_int_equal(singles_note(singles, was, edit), 0);
			/* The first value stays recorded as the previous one. */
			assert_int_equal(singles_note(singles, runs, json_array_get(edit, 0)), 0);
			json_decref(edit);
		}
		assert_int_equal(json_array_size(singles), strlen(row->changed));
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

/* A policy that was added and removed leaves nothing; one of the file keeps its previous value. */
TEST(forgotten)
{
	static const struct {
		const char *singles, *policies, *left;
	} rows[] = {
		{"[{'policy':'n','was':null}]", "[{'name':'a'}]", "[]"},
		{"[{'policy':'n','was':null}]", "[{'name':'n'}]", "[{'policy':'n','was':null}]"},
		{"[{'policy':'a','was':{'name':'a'}}]", "[]",
			"[{'policy':'a','was':{'name':'a'}}]"},
		{"[{'policy':'n','was':null},{'policy':'a','was':{'name':'a'}},"
		 "{'policy':'m','was':null},{'policy':'o','was':null}]",
			"[{'name':'o'}]",
			"[{'policy':'a','was':{'name':'a'}},{'policy':'o','was':null}]"},
		{"[]", "[]", "[]"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *document = configuration(rows[i].singles);
		json_t *json = configuration(rows[i].policies);

		assert_int_equal(singles_forget(json_object_get(document, "policies"), json), 0);
		assert_json(document, rows[i].left, rows[i].singles);
		json_decref(json);
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
	{"[{'name':'a','m':{'s':1}}]", "[{'name':'a','m':{'s':1,'d':2},'l':3}]",
		"[{'policy':'a','key':'m.d','old':null,'new':2},"
		"{'policy':'a','key':'l','old':null,'new':3}]"},
	{"[{'name':'a'}]", "[{'name':'b'}]",
		"[{'policy':'a','key':null,'old':{'name':'a'},'new':null},"
		"{'policy':'b','key':null,'old':null,'new':{'name':'b'}}]"},
	{"{'gossip':{'timeout':'1s','roster':[1]}}", "{'gossip':{'timeout':'2s','roster':[1]}}",
		"[{'policy':null,'key':'gossip.timeout','old':'1s','new':'2s'}]"},
	{"{'gossip':{'roster':[1]}}", "{'gossip':'x'}",
		"[{'policy':null,'key':'gossip','old':{'roster':[1]},'new':'x'}]"},
};

TEST(each_difference)
{
	for (size_t i = 0; i < COUNT(differences); i++) {
		json_t *before = configuration(differences[i][0]);
		json_t *now = configuration(differences[i][1]);
		json_t *want = configuration(differences[i][2]);
		json_t *all = json_object_get(want, "policies");
		size_t n, n_of_one;
		json_t *got = changes_between(before, now, SIZE_MAX, &n);
		json_t *one = changes_between(before, now, 1, &n_of_one);
		char *text = json_dumps(got, JSON_COMPACT);

		if (!json_equal(got, all))
			fail_msg("difference %zu: %s", i, text);
		/* All are counted, even if few are listed. */
		assert_int_equal(n, json_array_size(all));
		assert_int_equal(n_of_one, n);
		assert_int_equal(json_array_size(one), n > 0);
		assert_true(n == 0 || json_equal(json_array_get(one, 0), json_array_get(all, 0)));
		free(text);
		json_decref(one);
		json_decref(before);
		json_decref(now);
		json_decref(want);
		json_decref(got);
	}
}

/* An object in objects, so many deep. */
static json_t *nested(unsigned depth, int value)
{
	json_t *json = json_integer(value);

	for (; depth > 0; depth--)
		json = json_pack("{s:o}", "k", json);
	return json;
}

/* Keys have a largest depth and length; deeper members count as one value. */
TEST(deep_differences)
{
	char name[300], shown[sizeof(name) + 2];

	for (unsigned depth = 1; depth <= 20; depth++) {
		json_t *before = nested(depth, 1), *now = nested(depth, 2), *rest, *got;
		size_t n;

		got = changes_between(before, now, 1, &n);
		assert_int_equal(n, 1);
		rest = nested(depth > 16 ? depth - 16 : 0, 2);
		assert_int_equal(json_string_length(json_object_get(json_array_get(got, 0), "key")),
			depth > 16 ? 31 : 2 * depth - 1);
		assert_true(json_equal(json_object_get(json_array_get(got, 0), "new"), rest));
		json_decref(rest);
		json_decref(got);
		json_decref(before);
		json_decref(now);
	}
	for (size_t len = 254; len <= 257; len++) {
		json_t *before = json_object(), *now = json_object(), *got;
		size_t n;

		memset(name, 'k', len);
		name[len] = '\0';
		json_object_set_new(now, name, json_object());
		json_object_set_new(json_object_get(now, name), "x", json_true());
		got = changes_between(before, now, 1, &n);
		assert_int_equal(n, 1);
		snprintf(shown, sizeof(shown), "%s.x", name);
		shown[255] = '\0';
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(got, 0), "key")), shown);
		json_decref(got);
		json_decref(before);
		json_decref(now);
	}
}

TEST(digests)
{
	static const char *const texts[] = {
		"{'a':1,'b':[1,2]}", "{'b':[1,2],'a':1}", "{'a':1,'b':[2,1]}", "{'a':2,'b':[1,2]}"};
	char of[4][CHANGE_DIGEST_MAX];

	for (unsigned i = 0; i < 4; i++) {
		json_t *json = configuration(texts[i]);

		assert_int_equal(configuration_digest(json, of[i]), 0);
		assert_int_equal(strlen(of[i]), CHANGE_DIGEST_MAX - 1);
		json_decref(json);
	}
	/* BLAKE2b of the text without blanks, in 32 bytes. */
	assert_string_equal(
		of[0], "626fe1ec4609054478e5d9c5e1ae1eb8d696cce1b93526a9fb4ba62c7aed8503");
	assert_string_equal(of[0], of[1]);
	assert_string_not_equal(of[0], of[2]);
	assert_string_not_equal(of[0], of[3]);
}
