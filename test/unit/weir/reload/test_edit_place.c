/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages about a configuration get the place of the edit that causes them.
 */
#include "check.h"

#include "change.h"

#define ONE  "with this change: "
#define MANY "with these changes: "

#define POLICIES                                                                              \
	"{\"policies\": [{\"name\": \"link\"}, {\"name\": \"video\", \"parent\": \"link\"}, " \
	"{\"name\": \"hd\", \"parent\": \"video\"}, {\"name\": \"mail\"}]}"

#define SET(name, key) "{\"do\": \"set\", \"name\": \"" name "\", \"keys\": {\"" key "\": 5}}"

static const struct {
	const char *edits, *messages, *placed;
} rows[] = {
	/* One edit, and its own policy. */
	{SET("video", "limit"), ONE "policy \"video\": limit: 5: expected\n",
		"policy \"video\": limit: 5: expected\n"},
	{SET("video", "burst"), ONE "warning: policy \"video\": burst: 5: little\n",
		"warning: policy \"video\": burst: 5: little\n"},
	/* One edit, and another policy: above, below, or in the same message. */
	{SET("link", "limit"), ONE "policy \"video\": guaranteed: 9: expected\n",
		"policy \"link\": this change conflicts with policy \"video\": guaranteed: 9: "
		"expected\n"},
	{SET("link", "limit"), ONE "policy \"hd\": guaranteed: 9: expected\n",
		"policy \"link\": this change conflicts with policy \"hd\": guaranteed: 9: "
		"expected\n"},
	{SET("video", "guaranteed"), ONE "policy \"link\": limit: 9: expected\n",
		"policy \"video\": this change conflicts with policy \"link\": limit: 9: "
		"expected\n"},
	{SET("mail", "match"), ONE "policy \"video\": match: an object: policy \"mail\" has it\n",
		"policy \"mail\": this change conflicts with policy \"video\": match: an object: "
		"policy \"mail\" has it\n"},
	/* Messages that belong to no edit. */
	{SET("mail", "match"), ONE "policy \"link\": limit: 9: expected\n",
		ONE "policy \"link\": limit: 9: expected\n"},
	{SET("mail", "match"), ONE "gossip.key_file: key: no file\nother\n",
		ONE "gossip.key_file: key: no file\nother\n"},
	/* Edits of an array: the last one with the key, or the last one of the policy. */
	{"[" SET("link", "limit") "," SET("video", "limit") "]",
		MANY "policy \"video\": limit: 5: expected\n" MANY
		     "warning: policy \"link\": limit: 5: odd\n",
		"edits[1]: policy \"video\": limit: 5: expected\n"
		"edits[0]: warning: policy \"link\": limit: 5: odd\n"},
	{"[" SET("video", "match.dst") "," SET("video", "limit") "]",
		MANY "policy \"video\": match.dst: 5: expected\n" MANY
		     "policy \"video\": matches: 5: expected\n",
		"edits[0]: policy \"video\": match.dst: 5: expected\n"
		"edits[1]: policy \"video\": matches: 5: expected\n"},
	{"[" SET("video", "limit") "]", ONE "policy \"video\": limit: 5: expected\n",
		"edits[0]: policy \"video\": limit: 5: expected\n"},
	{"[" SET("mail", "limit") "," SET("link", "limit") "]",
		MANY "policy \"hd\": limit: 5: expected\n",
		"edits[1]: policy \"link\": this change conflicts with policy \"hd\": limit: 5: "
		"expected\n"},
	{"[" SET("mail", "match") "," SET("video", "limit") "]",
		MANY "policy \"video\": match: an object: policy \"mail\" has it\n",
		"edits[0]: policy \"mail\": this change conflicts with policy \"video\": match: an "
		"object: policy \"mail\" has it\n"},
	/* A truncated text, and names without an end. */
	{SET("mail", "match"), ONE "policy \"mail", ONE "policy \"mail\n"},
	{SET("mail", "match"), ONE "policy \"mail\n\": x\n", ONE "policy \"mail\n\": x\n"},
	{SET("mail", "match"), "", ""},
};

TEST(each_row)
{
	json_t *document = json_loads(POLICIES, 0, NULL);

	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *edits = json_loads(rows[i].edits, 0, NULL);
		char *placed = NULL;
		size_t size;
		FILE *out = open_memstream(&placed, &size);

		assert_non_null(edits);
		assert_int_equal(edits_place(edits, document, rows[i].messages, out), 0);
		fclose(out);
		if (strcmp(placed, rows[i].placed) != 0)
			fail_msg("row %zu: \"%s\"", i, placed);
		free(placed);
		json_decref(edits);
	}
	json_decref(document);
}
