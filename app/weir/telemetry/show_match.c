/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies that could take packets to or from an address. Control examines LOOKS matches in a turn,
 * which makes one page. Matches are numbered through all policies.
 */
#include "show.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "classify/candidates.h"
#include "instance.h"
#include "probe/question.h"
#include "unknown_name.h"

#define LOOKS     8192 /* matches of a page */
#define ROWS      40   /* most rows of a page */
#define WORDS_MAX 12   /* more than there are facts */

/* The packets in question, in both directions. */
struct asked_match {
	struct match to, from;
	unsigned only_to, only_from; /* matches that name only the other side's address */
};

static json_t *refused_match(const char *why)
{
	return json_pack("{s:s}", "refused", why);
}

static json_t *takes_json(enum candidate candidate)
{
	if (candidate == CANDIDATE_NONE)
		return json_null();
	return json_string(candidate == CANDIDATE_ALL ? "all" : "some");
}

/* Counts a match that names only the other side's address; only other matches are listed. */
static enum candidate listed_candidate(
	const struct match *question, const struct match *match, bool names_other, unsigned *only)
{
	enum candidate candidate = classify_candidate(question, match);

	if (candidate == CANDIDATE_NONE || !names_other)
		return candidate;
	++*only;
	return CANDIDATE_NONE;
}

/* Returns NULL for a match that takes none of the packets. */
static json_t *candidate_json(
	struct instance *inst, unsigned i, const struct match *match, struct asked_match *asked)
{
	const struct policy *policy = &inst->policies[i];
	enum candidate to = listed_candidate(
		&asked->to, match, match->src.family && !match->dst.family, &asked->only_to);
	enum candidate from = listed_candidate(
		&asked->from, match, match->dst.family && !match->src.family, &asked->only_from);

	struct precedence order;
	char precedence[2 * sizeof(order.of) + 1];

	if (to == CANDIDATE_NONE && from == CANDIDATE_NONE)
		return NULL;
	order = classify_precedence(match);
	for (size_t byte = 0; byte < sizeof(order.of); byte++)
		snprintf(precedence + 2 * byte, 3, "%02x", order.of[byte]);
	return json_pack("{s:s, s:i, s:o, s:o, s:s, s:o, s:o}", "policy", policy->name, "index",
		(int)i, "to", takes_json(to), "from", takes_json(from), "precedence", precedence,
		"strictness", json_uint(classify_strictness(inst->policies, i)), "match",
		show_match_of(inst->config, match));
}

/* Where a page is: at a policy's match, and how many there were before. */
struct match_cursor {
	unsigned policy, match;
	uint64_t at;
};

/* Skips parents without a match. */
static void step_match(const struct instance *inst, struct match_cursor *cursor)
{
	cursor->at++;
	cursor->match++;
	while (cursor->policy < inst->n_policies &&
		cursor->match >= policy_n_matches(&inst->policies[cursor->policy])) {
		cursor->match = 0;
		cursor->policy++;
	}
}

static json_t *match_page(struct instance *inst, struct asked_match *asked, unsigned start)
{
	struct match_cursor at = {.at = start, .match = start};
	json_t *rows = json_array(), *next;

	while (at.policy < inst->n_policies &&
		at.match >= policy_n_matches(&inst->policies[at.policy]))
		at.match -= policy_n_matches(&inst->policies[at.policy++]);

	for (unsigned looks = 0;
		looks < LOOKS && at.policy < inst->n_policies && json_array_size(rows) < ROWS;
		looks++, step_match(inst, &at)) {
		json_t *row = candidate_json(
			inst, at.policy, policy_match(&inst->policies[at.policy], at.match), asked);

		if (row)
			json_array_append_new(rows, row);
	}
	next = at.policy < inst->n_policies ? json_uint(at.at) : json_null();
	return json_pack("{s:o, s:o, s:i, s:i, s:o}", "generation",
		json_uint(inst->publisher.current->generation), "next", next, "only_by_source",
		(int)asked->only_to, "only_by_destination", (int)asked->only_from, "policies",
		rows);
}

/* Splits off at most WORDS_MAX words, and returns the number of all. */
static unsigned split_words(char *text, const char **words)
{
	unsigned n = 0;
	char *word;

	while ((word = strsep(&text, " ")) != NULL)
		if (*word && n++ < WORDS_MAX)
			words[n - 1] = word;
	return n;
}

json_t *show_match(const char *params, void *context)
{
	struct instance *inst = context;
	const char *words[WORDS_MAX];
	struct probe_question question;
	struct asked_match asked;
	char *text, why[PROBE_WHY], unknown[UNKNOWN_NAME_MAX];
	unsigned n, start = 0;
	int ret;

	if (!params)
		return NULL;
	text = strdup(params);
	n = text ? split_words(text, words) : 0;
	if (n == 0 || !show_index(words[0], &start)) {
		free(text);
		return NULL;
	}
	if (n > WORDS_MAX) {
		free(text);
		return refused_match("too many words: expected an address, and each fact once");
	}
	ret = probe_question(&question, words + 1, n - 1, why);
	free(text);
	if (ret)
		return refused_match(why);
	if (question.wire[0]) {
		question.match.wire = CONFIG_ANY;
		for (unsigned i = 0; i < inst->config->n_wires; i++)
			if (strcmp(inst->config->wires[i].name, question.wire) == 0)
				question.match.wire = (int)i;
		if (question.match.wire == CONFIG_ANY)
			return refused_match(unknown_wire(inst->config, question.wire, unknown));
	}
	asked = (struct asked_match){.to = question.match, .from = question.match};
	asked.to.dst = question.where;
	asked.from.src = question.where;
	return match_page(inst, &asked, start);
}
