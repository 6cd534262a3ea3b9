/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Very many equal matches or names: the first are reported, the rest are counted, and only the
 * reported ones are looked up in the document.
 */
#include "check.h"

#include "config_cases.h"

#include "json/diagnostics.h"
#include "json/json_path.h"

/* How often a place was searched for in the text, and in the tree. */
static struct looked {
	unsigned located, found;
} looked;

size_t __real_json_locate(const char *text, const struct json_path *path, bool *exact);
size_t __wrap_json_locate(const char *text, const struct json_path *path, bool *exact);
json_t *__real_json_path_find(json_t *root, const struct json_path *path);
json_t *__wrap_json_path_find(json_t *root, const struct json_path *path);

size_t __wrap_json_locate(const char *text, const struct json_path *path, bool *exact)
{
	looked.located++;
	return __real_json_locate(text, path, exact);
}

json_t *__wrap_json_path_find(json_t *root, const struct json_path *path)
{
	looked.found++;
	return __real_json_path_find(root, path);
}

static void put_policy(FILE *out, const char *name, unsigned i)
{
	bool first = i == 0 && strcmp(name, "a") == 0;

	fprintf(out,
		"%s{\"name\": \"%s%u\", \"limit\": \"1Mbit/s\", \"match\": ", first ? "" : ", ",
		name, i);
}

static void put_list(FILE *out, unsigned n)
{
	fputs("{\"src\": [", out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s\"10.%u.%u.0/24\"", i > 0 ? ", " : "", i >> 8, i & 255);
	fputs("]}", out);
}

/* Two policies with the same list. */
static void put_shared_list(FILE *out, unsigned n)
{
	put_policy(out, "a", 0);
	put_list(out, n);
	fputs("}", out);
	put_policy(out, "b", 0);
	put_list(out, n);
	fputs("}", out);
}

static void put_list_twice(FILE *out, unsigned n)
{
	put_policy(out, "a", 0);
	fputs("[", out);
	put_list(out, n);
	fputs(", ", out);
	put_list(out, n);
	fputs("]}", out);
}

/* Each of n policies has a twin. */
static void put_twins(FILE *out, unsigned n)
{
	for (unsigned i = 0; i < 2 * n; i++) {
		put_policy(out, i < n ? "a" : "b", i);
		fprintf(out, "{\"vlan\": %u}}", i % n);
	}
}

/* Writes n more policies with the name of the first. */
static void put_one_name(FILE *out, unsigned n)
{
	for (unsigned i = 0; i <= n; i++)
		fprintf(out,
			"%s{\"name\": \"a\", \"limit\": \"1Mbit/s\", \"match\": {\"vlan\": %u}}",
			i > 0 ? ", " : "", i);
}

static const struct clash {
	void (*put)(FILE *out, unsigned n);
	bool warning;
	unsigned places;   /* in a message */
	bool few_policies; /* for any number of clashes */
	const char *last;  /* the last message written */
} clashes[] = {
	{put_shared_list, false, 2, true,
		"p1.match.src[19]: duplicate_match: policies[0] 'a0' (w.json:1)"},
	{put_list_twice, true, 1, true, "warning: p0.match[1].src[19]: match_repeated"},
	{put_twins, false, 2, false, "*duplicate_match: policies[19] 'a19' (w.json:1)"},
	{put_one_name, false, 2, false, "p20.name: not_unique: name, *policies[0] 'a' (w.json:1)"},
};

/* Returns the messages about n clashes, for free(). */
static char *parse_clashes(const struct clash *clash, unsigned n)
{
	char *text, *messages, *begin = with_quotes("{'limiter': 'me', " PORTS WIRES);
	struct config *config;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	fprintf(out, "%s, \"policies\": [", begin);
	clash->put(out, n);
	fputs("]}", out);
	fclose(out);
	looked = (struct looked){0};
	assert_int_equal(
		parse_config_case(text, size, &messages, &config), clash->warning ? 0 : -EINVAL);
	config_free(config);
	free(begin);
	free(text);
	return messages;
}

/* Returns the last two lines. */
static const char *last_lines(const char *text)
{
	const char *at = text + strlen(text);

	for (unsigned ends = 0; at > text; at--)
		if (at[-1] == '\n' && ends++ == 2)
			break;
	return at;
}

/* Checks the last message written, and the number of all. */
static void check_end(const struct clash *clash, const char *messages, unsigned n)
{
	char expected[512];

	snprintf(expected, sizeof(expected), "%s\n%s: %u, s, %u", clash->last,
		clash->warning ? "warning: more_warnings" : "more_errors", n - DIAGNOSTICS_MOST, n);
	assert_lines(last_lines(messages), expected);
}

TEST(test_cost)
{
	for (size_t i = 0; i < COUNT(clashes); i++) {
		unsigned found = 0;

		for (unsigned n = 30; n <= 3000; n *= 10) {
			char *messages = parse_clashes(&clashes[i], n);

			check_end(&clashes[i], messages, n);
			assert_int_equal(looked.located, DIAGNOSTICS_MOST * clashes[i].places);
			if (clashes[i].few_policies && found > 0)
				assert_int_equal(looked.found, found);
			found = looked.found;
			free(messages);
		}
	}
}
