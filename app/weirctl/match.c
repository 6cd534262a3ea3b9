/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "match": policies that could take packets to or from an address, in their order, and
 * the one that takes them.
 */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/source.h"
#include "field.h"
#include "probe/probe.h"

#define REQUEST_MAX 512
#define PAGES_MOST  100000

bool match_check(const struct request *request)
{
	struct probe_question question;
	char why[PROBE_WHY];

	if (probe_question(&question, request->words, request->n_words, why) == 0)
		return true;
	fprintf(stderr, "weirctl: match: %s\n", why);
	return false;
}

/* Orders by bytes of precedence, smaller first, then by position in the file. */
static int compare_precedence(const void *a, const void *b)
{
	const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
	const char *l = json_string_value(json_object_get(left, "precedence"));
	const char *r = json_string_value(json_object_get(right, "precedence"));
	int differ = l && r ? strcmp(l, r) : 0;

	if (differ)
		return differ;
	differ = (int)(field_number(left, "index") - field_number(right, "index"));
	return differ;
}

/*
 * Returns why a policy comes before the next, by the first byte that differs: see classify/order.h.
 */
static const char *why_before(const json_t *row, const json_t *next)
{
	static const char *const reasons[] = {"names a destination, or only a source",
		"longer prefix", "longer source prefix", "names a VLAN, DSCP or protocol",
		"narrower destination ports", "narrower destination ports", "narrower source ports",
		"narrower source ports", "names a wire or a direction, or is no default"};
	const char *l = json_string_value(json_object_get(row, "precedence"));
	const char *r = json_string_value(json_object_get(next, "precedence"));
	size_t at = 0;

	if (!l || !r)
		return NULL;
	while (l[at] && l[at] == r[at])
		at++;
	if (!l[at])
		return "first in the file";
	return at / 2 < sizeof(reasons) / sizeof(*reasons) ? reasons[at / 2] : NULL;
}

/* Marks the strictest of the policies that could take the packets: it gets unparsed packets. */
static void mark_strictest(json_t *rows)
{
	json_t *row, *most = NULL;
	size_t i;

	json_array_foreach (rows, i, row) {
		if (strcmp(json_string_value(json_object_get(row, "takes")), "not reached") == 0)
			break;
		if (!most || field_number(row, "strictness") > field_number(most, "strictness"))
			most = row;
	}
	json_array_foreach (rows, i, row)
		json_object_set_new(row, "strictest", json_boolean(row == most));
}

/*
 * Returns the policies that take any packet of one way, in their order. The policies after the
 * first one that takes all are not reached.
 */
static json_t *ordered_rows(json_t *policies, const char *way)
{
	json_t **rows = calloc(json_array_size(policies) + 1, sizeof(*rows)), *row;
	json_t *ordered = json_array();
	bool over = false;
	size_t n = 0, i;

	json_array_foreach (policies, i, row)
		if (rows && json_is_string(json_object_get(row, way)))
			rows[n++] = row;
	if (n)
		qsort(rows, n, sizeof(*rows), compare_precedence);
	for (i = 0; i < n; i++) {
		bool all = strcmp(json_string_value(json_object_get(rows[i], way)), "all") == 0;
		const char *why = i + 1 < n ? why_before(rows[i], rows[i + 1]) : NULL;

		json_array_append_new(ordered,
			json_pack("{s:O, s:s, s:s?, s:O?, s:O?}", "policy",
				json_object_get(rows[i], "policy"), "takes",
				over  ? "not reached"
				: all ? "all"
				      : "some",
				"before_next", why, "match", json_object_get(rows[i], "match"),
				"strictness", json_object_get(rows[i], "strictness")));
		over |= all;
	}
	free(rows);
	mark_strictest(ordered);
	return ordered;
}

/* Gathers one page of the reply; *start becomes the start of the next page, or -1. */
static int gather_page(struct source *source, const char *words, json_int_t *start, json_t *all)
{
	char request[REQUEST_MAX];
	json_t *page = NULL, *next;
	int ret;

	snprintf(request, sizeof(request), "/weir/match,%lld %s", (long long)*start, words);
	ret = source_get(source, request, &page);
	if (ret)
		return ret;
	next = json_object_get(page, "next");
	*start = json_is_integer(next) && json_integer_value(next) > *start
			 ? json_integer_value(next)
			 : -1;
	if (json_object_get(page, "refused")) {
		json_object_set(all, "refused", json_object_get(page, "refused"));
		*start = -1;
	}
	json_array_extend(json_object_get(all, "policies"), json_object_get(page, "policies"));
	for (unsigned i = 0; i < 2; i++) {
		const char *key = i ? "only_by_source" : "only_by_destination";

		json_object_set_new(all, key,
			json_integer(
				(json_int_t)(field_number(all, key) + field_number(page, key))));
	}
	json_decref(page);
	return 0;
}

int match_gather(struct source *source, const struct request *request, json_t **document)
{
	char words[REQUEST_MAX / 2] = "";
	json_int_t start = 0;
	json_t *all;
	int ret = 0;

	*document = NULL;
	for (unsigned i = 0; i < request->n_words; i++) {
		size_t used = strlen(words);

		if (used + strlen(request->words[i]) + 2 > sizeof(words))
			return -EINVAL;
		snprintf(words + used, sizeof(words) - used, "%s%s", i ? " " : "",
			request->words[i]);
	}
	all = json_pack("{s:s, s:[]}", "asked", words, "policies");
	for (unsigned i = 0; ret == 0 && start >= 0 && i < PAGES_MOST; i++)
		ret = gather_page(source, words, &start, all);
	if (ret == 0) {
		json_t *policies = json_object_get(all, "policies");

		json_object_set_new(all, "to", ordered_rows(policies, "to"));
		json_object_set_new(all, "from", ordered_rows(policies, "from"));
		json_object_del(all, "policies");
	}
	*document = all;
	return ret;
}

bool match_refused(const json_t *document, FILE *err)
{
	const char *why = json_string_value(json_object_get(document, "refused"));

	if (why && err)
		fprintf(err, "weirctl: match: %s\n", why);
	return why != NULL;
}

static int add_line(struct view *view, json_t *text)
{
	json_t *lines = json_pack("[o]", text);
	int ret = fields_lines(lines, view);

	json_decref(lines);
	return ret;
}

static int print_way(const json_t *document, const char *way, const char *only, const char *names,
	struct view *view)
{
	static const struct field fields[] = {
		{"POLICY", "policy", KIND_TEXT},
		{"TAKES", "takes", KIND_TEXT},
		{"STRICTEST", "strictest", KIND_TEXT | OPTIONAL(2)},
		{"BEFORE THE NEXT BY", "before_next", KIND_TEXT | OPTIONAL(1)},
		{"MATCH", "match", KIND_TEXT | OPTIONAL(3)},
	};
	const json_t *rows = json_object_get(document, way);
	int ret = add_line(view,
		json_sprintf("%s %s%s", way, json_string_value(json_object_get(document, "asked")),
			json_array_size(rows) ? "" : ": no policy"));

	if (ret == 0 && json_array_size(rows))
		ret = fields_list(rows, FIELDS(fields), view);
	if (ret == 0 && field_number(document, only) > 0)
		ret = add_line(view, json_sprintf("and %.0f more that name %s alone",
					     field_number(document, only), names));
	return ret;
}

int match_print(const json_t *document, struct view *view)
{
	print_way(document, "to", "only_by_source", "a source", view);
	return print_way(document, "from", "only_by_destination", "a destination", view);
}
