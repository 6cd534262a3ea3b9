/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rejects two policies with the same match, and locates a match in the document.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "policy/matches.h"

static const struct json_path path_policies = {.key = "policies"};

/* Steps of the path to a match of a policy, or to one prefix of it. */
struct match_steps {
	struct json_path policy, match, element, side, prefix;
	const struct json_path *at;
};

/* A pair of a source and a destination in an object of "match". */
struct match_pair {
	const json_t *src, *dst;
	size_t s, d;
};

static const json_t *nth_prefix(const json_t *side, size_t i)
{
	return json_is_array(side) ? json_array_get(side, i) : side;
}

static size_t count_prefixes(const json_t *side)
{
	return json_is_array(side) ? json_array_size(side) : 1;
}

static bool texts_meet(const json_t *src, const json_t *dst)
{
	const char *a = json_string_value(src), *b = json_string_value(dst);

	return a == NULL || b == NULL || (strchr(a, ':') != NULL) == (strchr(b, ':') != NULL);
}

/* Finds the k-th pair in the order of match_keys.c, or reduces k by the number of pairs. */
static bool find_pair(const json_t *match, unsigned *k, struct match_pair *pair)
{
	*pair = (struct match_pair){
		json_object_get(match, "src"), json_object_get(match, "dst"), 0, 0};
	for (pair->d = 0; pair->d < count_prefixes(pair->dst); pair->d++)
		for (pair->s = 0; pair->s < count_prefixes(pair->src); pair->s++) {
			if (!texts_meet(
				    nth_prefix(pair->src, pair->s), nth_prefix(pair->dst, pair->d)))
				continue;
			if (*k == 0)
				return true;
			--*k;
		}
	return false;
}

/* Steps to the prefix of a list; stays at the object if it has no list. */
static void step_to_prefix(struct match_steps *steps, const struct match_pair *pair)
{
	bool by_dst = json_is_array(pair->dst);

	if (!by_dst && !json_is_array(pair->src))
		return;
	steps->side = (struct json_path){.parent = steps->at, .key = by_dst ? "dst" : "src"};
	steps->prefix = (struct json_path){
		.parent = &steps->side, .index = by_dst ? pair->d : pair->s};
	steps->at = &steps->prefix;
}

static void step_to_match(
	const struct reader *reader, struct match_place place, struct match_steps *steps)
{
	json_t *value, *match;
	struct match_pair pair;
	unsigned k = place.match;
	size_t i;

	steps->policy = (struct json_path){.parent = &path_policies, .index = place.policy};
	steps->match = (struct json_path){.parent = &steps->policy, .key = "match"};
	steps->at = &steps->match;
	value = json_path_find(reader->root, steps->at);
	if (!json_is_array(value)) {
		if (find_pair(value, &k, &pair))
			step_to_prefix(steps, &pair);
		return;
	}
	json_array_foreach (value, i, match) {
		if (!find_pair(match, &k, &pair))
			continue;
		steps->element = (struct json_path){.parent = &steps->match, .index = i};
		steps->at = &steps->element;
		step_to_prefix(steps, &pair);
		return;
	}
}

static void refuse_same(void *context, struct match_place first, struct match_place again)
{
	struct reader *reader = context;
	struct json_path other = {.parent = &path_policies, .index = first.policy};
	struct match_steps steps;
	char *place;

	if (first.policy == again.policy || reader_skips(reader, false))
		return;
	place = reader_place(reader, &other);
	reader->no_memory |= place == NULL;
	step_to_match(reader, again, &steps);
	reader_report(reader, steps.at, MESSAGE(DUPLICATE_MATCH), message_part(place));
	free(place);
}

void policies_check_matches(struct reader *reader, const struct policy *policies, unsigned n)
{
	uint64_t all = policies_count_matches(policies, n);

	if (all > CONFIG_MATCHES_MAX)
		reader_report(
			reader, &path_policies, MESSAGE(MATCHES_TOO_MANY), CONFIG_MATCHES_MAX, all);
	else if (policies_match_twins(policies, n, refuse_same, reader) < 0)
		reader->no_memory = true;
}

static void warn_same(void *context, struct match_place first, struct match_place again)
{
	struct match_steps steps;

	(void)first;
	if (reader_skips(context, true))
		return;
	step_to_match(context, again, &steps);
	reader_report(context, steps.at, MESSAGE(MATCH_REPEATED));
}

/* A prefix of a list to which the other side has none of its family is in no pair. */
static void warn_alone(struct reader *reader, const struct json_path *path, const json_t *match,
	const char *key, const char *other_key)
{
	const json_t *side = json_object_get(match, key),
		     *other = json_object_get(match, other_key);
	struct json_path at = {.parent = path, .key = key};

	for (size_t i = 0; side && other && i < count_prefixes(side); i++) {
		struct json_path element = {.parent = &at, .index = i};
		const char *text = json_string_value(nth_prefix(side, i));
		bool meets = false;

		for (size_t j = 0; j < count_prefixes(other); j++)
			meets |= texts_meet(nth_prefix(side, i), nth_prefix(other, j));
		if (!meets && text)
			reader_report(reader, json_is_array(side) ? &element : &at,
				MESSAGE(PREFIX_ALONE), other_key, strchr(text, ':') ? '6' : '4');
	}
}

static void warn_families(struct reader *reader, unsigned policy)
{
	struct json_path element = {.parent = &path_policies, .index = policy};
	struct json_path path = {.parent = &element, .key = "match"};
	json_t *value = json_path_find(reader->root, &path), *match;
	size_t i;

	if (json_is_object(value)) {
		warn_alone(reader, &path, value, "src", "dst");
		warn_alone(reader, &path, value, "dst", "src");
	}
	json_array_foreach (value, i, match) {
		struct json_path at = {.parent = &path, .index = i};

		warn_alone(reader, &at, match, "src", "dst");
		warn_alone(reader, &at, match, "dst", "src");
	}
}

void policies_warn_matches(struct reader *reader, const struct policy *policies, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		warn_families(reader, i);
	if (policies_count_matches(policies, n) > n &&
		policies_match_twins(policies, n, warn_same, reader) < 0)
		reader->no_memory = true;
}
