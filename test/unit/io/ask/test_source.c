/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Listings of several pages, and requests for each listed item: the sequence of requests, and
 * invalid pages.
 */
#include "check.h"

#include "ask/source.h"

struct answered {
	const char *request, *answer; /* with ' for "; NULL: the error */
	int error;
};

/* Each expected request, with its answer. */
struct script {
	struct source source;
	const struct answered *next;
};

static json_t *quoted(const char *text)
{
	char *copy = strdup(text);
	json_t *json;

	for (char *at = copy; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	json = json_loads(copy, JSON_DECODE_ANY, NULL);
	free(copy);
	assert_non_null(json);
	return json;
}

static int answer(struct source *source, const char *request, json_t **value)
{
	struct script *script = (struct script *)source;
	const struct answered *now = script->next++;

	assert_non_null(now->request);
	assert_string_equal(request, now->request);
	*value = now->answer ? quoted(now->answer) : NULL;
	return now->answer ? 0 : now->error;
}

#define ALL "/l"
#define TWO                                            \
	{ALL, "{'n':['a'],'next':1,'x':7}", 0},        \
	{                                              \
		ALL ",1", "{'n':['b'],'next':null}", 0 \
	}

static const struct {
	const char *name;
	struct answered asked[5];
	int ret;
	const char *listing;
} listings[] = {
	{NULL, {{ALL, "{'n':[]}", 0}}, 0, "{'n':[],'next':null}"},
	{NULL, {{ALL, "{'n':['a','b'],'x':7}", 0}}, 0, "{'n':['a','b'],'x':7,'next':null}"},
	{NULL, {TWO}, 0, "{'n':['a','b'],'x':7,'next':null}"},
	{"p",
		{{"/l,p", "{'n':[1],'next':5}", 0}, {"/l,p,5", "{'n':[2],'next':6}", 0},
			{"/l,p,6", "{'n':[3]}", 0}},
		0, "{'n':[1,2,3],'next':null}"},
	{NULL, {{ALL, "null", 0}}, -ENOENT, NULL},
	{NULL, {{ALL, NULL, -ETIMEDOUT}}, -ETIMEDOUT, NULL},
	{NULL, {{ALL, "{}", 0}}, -EBADMSG, NULL},
	{NULL, {{ALL, "{'n':7}", 0}}, -EBADMSG, NULL},
	/* A page that leads back, or to itself, or does not exist. */
	{NULL, {{ALL, "{'n':[],'next':-1}", 0}}, -EBADMSG, NULL},
	{NULL, {{ALL, "{'n':[1],'next':2}", 0}, {"/l,2", "{'n':[2],'next':2}", 0}}, -EBADMSG, NULL},
	{NULL, {{ALL, "{'n':[1],'next':2}", 0}, {"/l,2", "{'n':[2],'next':1}", 0}}, -EBADMSG, NULL},
	{NULL, {{ALL, "{'n':[1],'next':2}", 0}, {"/l,2", "null", 0}}, -ENOENT, NULL},
	{NULL, {{ALL, "{'n':[1],'next':2}", 0}, {"/l,2", "{}", 0}}, -EBADMSG, NULL},
};

static void assert_value(json_t *got, const char *want)
{
	json_t *expected = want ? quoted(want) : NULL;

	assert_int_equal(got == NULL, want == NULL);
	assert_true(!want || json_equal(got, expected));
	json_decref(expected);
	json_decref(got);
}

TEST(each_listing)
{
	for (size_t i = 0; i < COUNT(listings); i++) {
		struct script script = {{.ask = answer}, listings[i].asked};
		json_t *listing;
		int ret = source_list(&script.source, ALL, listings[i].name, "n", &listing);

		assert_int_equal(ret, listings[i].ret);
		assert_null(script.next->request);
		assert_value(listing, listings[i].listing);
	}
}

#define NAMED                                  \
	{                                      \
		"/l", "{'n':['a','b','c']}", 0 \
	}

static const struct {
	struct answered asked[5];
	int ret;
	const char *array;
} each[] = {
	{{NAMED, {"/q,a", "1", 0}, {"/q,b", "2", 0}, {"/q,c", "3", 0}}, 0, "[1,2,3]"},
	/* A missing item is left out. */
	{{NAMED, {"/q,a", "null", 0}, {"/q,b", "2", 0}, {"/q,c", NULL, -ENOENT}}, 0, "[2]"},
	{{{"/l", "{'n':['a',7]}", 0}, {"/q,a", "1", 0}}, -EBADMSG, "[1]"},
	{{NAMED, {"/q,a", NULL, -ECONNRESET}}, -ECONNRESET, "[]"},
	{{{"/l", NULL, -ECONNRESET}}, -ECONNRESET, NULL},
};

TEST(of_each)
{
	for (size_t i = 0; i < COUNT(each); i++) {
		struct script script = {{.ask = answer}, each[i].asked};
		json_t *array;

		assert_int_equal(source_each(&script.source, "/l", "n", "/q", &array), each[i].ret);
		assert_null(script.next->request);
		assert_value(array, each[i].array);
	}
}

/* A request that is too long is for nothing that exists. */
TEST(longest_request)
{
	char name[4096], request[4096];
	const struct answered asked[] = {{request, "1", 0}, {0}};
	struct script script = {{.ask = answer}, asked};
	json_t *value;

	memset(name, 'x', sizeof(name));
	name[4092] = '\0';
	memcpy(request, "/q,", 3);
	memcpy(request + 3, name, 4093);
	assert_int_equal(source_get_of(&script.source, "/q", name, &value), 0);
	assert_value(value, "1");
	name[4092] = 'x';
	name[4093] = '\0';
	assert_int_equal(source_get_of(&script.source, "/q", name, &value), -ENOENT);
	assert_null(value);
}
