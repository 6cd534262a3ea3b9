/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/source.h"
#include "policy_pages.h"

/* The most policies, among those that drop, that a reader can take in. */
#define HELD_MOST 10

/* One reading of all limiters. Its rows are parsed for the first viewer only. */
struct gathering {
	struct boxes *boxes;
	struct rows rows[BOXES_MOST];
	bool read;
};

/* The sums of a policy over all limiters. */
struct tally {
	const struct row *row; /* one of its rows */
	double limit, may, demand;
	double passed, dropped, dropped_packets;
};

struct picture {
	struct gathering now, before;
	struct tally *tallies;
	size_t n_tallies;
	bool tallied;
};

static void forget_gathering(struct gathering *gathering)
{
	for (unsigned i = 0; gathering->boxes && i < gathering->boxes->n; i++)
		rows_free(&gathering->rows[i]);
	boxes_free(gathering->boxes);
	gathering->boxes = NULL;
	gathering->read = false;
}

static void read_gathering(struct gathering *gathering)
{
	for (unsigned i = 0; !gathering->read && gathering->boxes && i < gathering->boxes->n; i++)
		rows_read(&gathering->rows[i], &gathering->boxes->of[i].policies);
	gathering->read = true;
}

struct picture *picture_new(void)
{
	return calloc(1, sizeof(struct picture));
}

void picture_forget(struct picture *picture)
{
	forget_gathering(&picture->before);
	free(picture->tallies);
	picture->tallies = NULL;
	picture->n_tallies = 0;
	picture->tallied = false;
}

void picture_free(struct picture *picture)
{
	picture_forget(picture);
	forget_gathering(&picture->now);
	free(picture);
}

void picture_take(struct picture *picture, struct boxes *boxes)
{
	picture_forget(picture);
	picture->before = picture->now;
	picture->now = (struct gathering){.boxes = boxes};
}

struct boxes *picture_boxes(const struct picture *picture)
{
	return picture->now.boxes;
}

bool picture_has_rates(const struct picture *picture)
{
	return picture->now.boxes && picture->before.boxes;
}

/* --- then and now ----------------------------------------------------------------------------- */

static struct row_rates rates_at(struct picture *picture, unsigned box, const struct row *row)
{
	unsigned then = boxes_find(picture->before.boxes, picture->now.boxes->of[box].limiter, box);
	size_t place = (size_t)(row - picture->now.rows[box].rows);

	return row_rates(row, then == BOXES_MOST
				      ? NULL
				      : rows_find(&picture->before.rows[then], row->name, place));
}

/* --- policies --------------------------------------------------------------------------------- */

static size_t append_tally(struct picture *picture)
{
	picture->tallies[picture->n_tallies] = (struct tally){NULL, NAN, NAN, NAN, NAN, NAN, NAN};
	return picture->n_tallies++;
}

/*
 * Finds or adds the tally of a limiter's policy. Limiters of a group usually have policies in the
 * same order.
 */
static size_t find_tally(struct picture *picture, const char *name, size_t guess, json_t **index)
{
	const json_t *known;

	if (guess < picture->n_tallies && strcmp(picture->tallies[guess].row->name, name) == 0)
		return guess;
	if (!*index) {
		*index = json_object();
		for (size_t i = 0; i < picture->n_tallies; i++)
			json_object_set_new(
				*index, picture->tallies[i].row->name, json_integer((json_int_t)i));
	}
	known = json_object_get(*index, name);
	if (known)
		return (size_t)json_integer_value(known);
	json_object_set_new(*index, name, json_integer((json_int_t)picture->n_tallies));
	return append_tally(picture);
}

static void tally_box(struct picture *picture, unsigned box)
{
	const struct rows *rows = &picture->now.rows[box];
	bool first = picture->n_tallies == 0;
	json_t *index = NULL;

	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->rows[i];
		size_t place = first ? append_tally(picture)
				     : find_tally(picture, row->name, i, &index);
		struct tally *tally = &picture->tallies[place];
		const struct row_rates rates = rates_at(picture, box, row);

		tally->row = row;
		/* Limiters can have different limits for a moment. */
		if (!(row->limit <= tally->limit))
			tally->limit = row->limit;
		tally->may = row_may(row);
		add_known(&tally->demand, row->demand);
		add_known(&tally->passed, rates.passed);
		add_known(&tally->dropped, rates.dropped);
		add_known(&tally->dropped_packets, rates.dropped_packets);
	}
	json_decref(index);
}

/* Computes all tallies, once for all callers. */
static void tally_all(struct picture *picture)
{
	const struct boxes *boxes = picture->now.boxes;
	size_t n = 0;

	if (picture->tallied || !boxes)
		return;
	picture->tallied = true;
	read_gathering(&picture->now);
	read_gathering(&picture->before);
	for (unsigned i = 0; i < boxes->n; i++)
		n += picture->now.rows[i].n;
	picture->tallies = calloc(n + 1, sizeof(*picture->tallies));
	for (unsigned i = 0; picture->tallies && i < boxes->n; i++)
		tally_box(picture, i);
}

/* Sorts policies by dropped packets, then by passed units. */
static int compare_tallies(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;
	double by = fmax(y->dropped_packets, 0) - fmax(x->dropped_packets, 0);

	if (by == 0)
		by = fmax(y->passed, 0) - fmax(x->passed, 0);
	return by > 0 ? 1 : by < 0 ? -1 : strcmp(x->row->name, y->row->name);
}

static bool is_held(const struct tally *tally)
{
	return tally->dropped_packets > 0;
}

static json_t *tally_json(const struct tally *tally)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "name", tally->row->name,
		"count", tally->row->count, "limit", known_json(tally->limit), "may",
		known_json(tally->may), "bounded", !isinf(tally->may), "demand",
		known_json(tally->demand), "passed", known_json(tally->passed), "dropped",
		known_json(tally->dropped), "dropped_packets", known_json(tally->dropped_packets));
}

/*
 * Lists the first `most` policies for which `is_wanted` returns true. Few are wanted, so it does
 * not sort all.
 */
static json_t *list_first(struct picture *picture, size_t most,
	bool (*is_wanted)(const struct tally *tally, const char *words), const char *words)
{
	struct tally *first = calloc(most + 1, sizeof(*first));
	json_t *list = json_array();
	size_t n = 0;

	for (size_t i = 0; first && i < picture->n_tallies; i++) {
		size_t at = n;

		if (!is_wanted(&picture->tallies[i], words))
			continue;
		for (; at > 0 && compare_tallies(&picture->tallies[i], &first[at - 1]) < 0; at--)
			first[at] = first[at - 1];
		first[at] = picture->tallies[i];
		n += n < most;
	}
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, tally_json(&first[i]));
	free(first);
	return list;
}

static bool is_held_back(const struct tally *tally, const char *words)
{
	(void)words;
	return is_held(tally);
}

static bool has_words(const struct tally *tally, const char *words)
{
	return strcasestr(tally->row->name, words) != NULL;
}

json_t *picture_find(struct picture *picture, const char *words, size_t most)
{
	tally_all(picture);
	return list_first(picture, most, has_words, words);
}

const char *picture_choice(struct picture *picture)
{
	const struct tally *best = NULL;

	tally_all(picture);
	for (size_t i = 0; i < picture->n_tallies; i++) {
		const struct tally *tally = &picture->tallies[i];
		double by = best ? fmax(tally->dropped_packets, 0) - fmax(best->dropped_packets, 0)
				 : 1;

		if (by > 0 || (by == 0 && fmax(tally->passed, 0) > fmax(best->passed, 0)))
			best = tally;
	}
	return best ? best->row->name : NULL;
}

bool picture_is_dropping(struct picture *picture, const char *name)
{
	tally_all(picture);
	for (size_t i = 0; i < picture->n_tallies; i++)
		if (strcmp(picture->tallies[i].row->name, name) == 0)
			return is_held(&picture->tallies[i]);
	return false;
}

/* --- one policy ------------------------------------------------------------------------------- */

/* A sum of the values that are available. whole: no limiter's value is missing. */
struct partial_sum {
	double known;
	bool whole;
};

/* The sums of a policy over the group: the last row of its table. */
struct sums {
	struct partial_sum passed, may, demand, dropped, dropped_packets;
};

static void add_to_sum(struct partial_sum *sum, double value, bool applies)
{
	add_known(&sum->known, value);
	sum->whole &= !applies || !isnan(value);
}

static json_t *sum_json(const struct partial_sum *sum)
{
	return json_pack("{s:o, s:b, s:b}", "known", known_json(sum->known), "bounded",
		!isinf(sum->known), "whole", sum->whole);
}

static json_t *sums_json(const struct sums *sums)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "passed", sum_json(&sums->passed), "may",
		sum_json(&sums->may), "demand", sum_json(&sums->demand), "dropped",
		sum_json(&sums->dropped), "dropped_packets", sum_json(&sums->dropped_packets));
}

static json_t *policy_at(
	struct picture *picture, unsigned box, const struct row *row, struct sums *sums)
{
	struct row_rates rates = rates_at(picture, box, row);
	double may = row_may_here(row);

	add_to_sum(&sums->passed, rates.passed, true);
	add_to_sum(&sums->may, may, !isnan(row->limit));
	add_to_sum(&sums->demand, row->demand, true);
	add_to_sum(&sums->dropped, rates.dropped, true);
	add_to_sum(&sums->dropped_packets, rates.dropped_packets, true);
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "name",
		metrics_of_name(&picture->now.boxes->of[box]), "passed", known_json(rates.passed),
		"dropped", known_json(rates.dropped), "dropped_packets",
		known_json(rates.dropped_packets), "over", known_json(rates.over), "demand",
		known_json(row->demand), "may", known_json(may), "bounded", !isinf(may),
		"waiting_packets", known_json(row->waiting_packets), "peers_lost",
		known_json(row->lost), "bound", known_json(row->bound));
}

static bool is_asked(const struct picture *picture, const char *name)
{
	for (unsigned i = 0; i < picture->now.boxes->n; i++)
		if (picture->now.rows[i].n &&
			strcmp(metrics_of_name(&picture->now.boxes->of[i]), name) == 0)
			return true;
	return false;
}

static double reported_demand(const json_t *one)
{
	return json_number_value(json_object_get(one, "demand_bps")) / 8 +
	       json_number_value(json_object_get(one, "demand_per_s"));
}

/*
 * Adds a limiter without a socket here; `one` is the report of a peer about it. If its demand is
 * below its part, it passes its demand. Without a report all values are unknown.
 */
static void add_reported(json_t *reported, const char *name, const json_t *one, double over,
	double per_weight, struct sums *sums)
{
	const json_t *weight = json_object_get(one, "weight");
	double demand = weight ? reported_demand(one) : NAN;
	double part = weight ? per_weight * json_number_value(weight) : NAN;
	double about = over > 0 && part < demand ? part : demand;

	add_to_sum(&sums->passed, about, true);
	add_to_sum(&sums->may, part, true);
	add_to_sum(&sums->demand, demand, true);
	add_to_sum(&sums->dropped, NAN, true);
	add_to_sum(&sums->dropped_packets, NAN, true);
	json_array_append_new(
		reported, json_pack("{s:s, s:o, s:o, s:b, s:o}", "name", name, "demand",
				  known_json(demand), "may", known_json(part), "bounded",
				  !isinf(part), "about", known_json(about)));
}

static bool has_name(const json_t *list, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
			return true;
	return false;
}

/* Adds the limiters in the first report of shares. */
static void add_received(
	const struct picture *picture, const struct row *any, json_t *reported, struct sums *sums)
{
	const struct boxes *boxes = picture->now.boxes;
	const json_t *list = NULL, *one;
	double weights = 0, demands = 0, may = row_may(any);
	size_t k;

	for (unsigned i = 0; i < boxes->n && !list; i++)
		list = json_object_get(
			json_object_get(
				json_object_get(boxes->of[i].document, "shares"), any->name),
			"limiters");
	json_array_foreach (list, k, one) {
		weights += json_number_value(json_object_get(one, "weight"));
		demands += reported_demand(one);
	}
	json_array_foreach (list, k, one) {
		const char *name = json_string_value(json_object_get(one, "name"));

		if (name && !is_asked(picture, name))
			add_reported(reported, name, one, demands - may,
				weights > 0 ? may / weights : NAN, sums);
	}
}

/* Adds the limiters without a report: peers of limiters with the policy, or of all (NULL). */
static void add_unknown(
	struct picture *picture, const char *policy, json_t *reported, struct sums *sums)
{
	const struct boxes *boxes = picture->now.boxes;
	json_int_t more = 0;
	char text[48];

	for (unsigned i = 0; i < boxes->n; i++) {
		const json_t *document = boxes->of[i].document, *peer;
		json_int_t left_out = json_integer_value(member_at(document, "left_out.peers"));
		size_t k;

		if (policy && !rows_find(&picture->now.rows[i], policy, 0))
			continue;
		json_array_foreach (json_object_get(document, "peers"), k, peer) {
			const char *name = json_string_value(json_object_get(peer, "name"));

			if (name && !is_asked(picture, name) && !has_name(reported, name))
				add_reported(reported, name, NULL, 0, NAN, sums);
		}
		more = left_out > more ? left_out : more;
	}
	snprintf(text, sizeof(text), "%lld more", (long long)more);
	if (more)
		add_reported(reported, text, NULL, 0, NAN, sums);
}

static json_t *policy_json(const struct row *any, double spent, double prefetched)
{
	double may = row_may(any);

	return json_pack("{s:s, s:s, s:s?, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "name",
		any->name, "count", any->count, "parent", any->parent, "limit",
		known_json(any->limit), "may", known_json(may), "bounded", !isinf(may), "peak",
		known_json(any->peak), "total", known_json(any->total), "left",
		known_json(any->left), "spent", known_json(spent), "prefetched",
		known_json(prefetched));
}

json_t *picture_policy(struct picture *picture, const char *name)
{
	const struct boxes *boxes = picture->now.boxes;
	const struct partial_sum none = {NAN, true};
	struct sums sums = {none, none, none, none, none};
	const struct row *any = NULL;
	double spent = NAN, prefetched = NAN;
	json_t *limiters = json_array(), *reported = json_array(), *json = json_null();
	size_t guess = 0;

	tally_all(picture);
	for (unsigned i = 0; name && boxes && i < boxes->n; i++) {
		const struct row *row = rows_find(&picture->now.rows[i], name, guess);

		if (!row)
			continue;
		any = row;
		guess = (size_t)(row - picture->now.rows[i].rows);
		add_known(&spent, row->spent);
		add_known(&prefetched, row->prefetched);
		json_array_append_new(limiters, policy_at(picture, i, row, &sums));
	}
	if (any) {
		add_received(picture, any, reported, &sums);
		add_unknown(picture, name, reported, &sums);
		json = policy_json(any, spent, prefetched);
		json_object_set(json, "limiters", limiters);
		json_object_set(json, "told", reported);
		json_object_set_new(json, "sums", sums_json(&sums));
	}
	json_decref(limiters);
	json_decref(reported);
	return json;
}

/* Counts the limiters without a socket here. */
static json_int_t count_unasked(struct picture *picture)
{
	const struct partial_sum none = {NAN, true};
	struct sums sums = {none, none, none, none, none};
	json_t *reported = json_array();
	json_int_t n;

	if (picture->now.boxes)
		add_unknown(picture, NULL, reported, &sums);
	n = (json_int_t)json_array_size(reported);
	json_decref(reported);
	return n;
}

json_t *picture_group(struct picture *picture)
{
	json_int_t dropping = 0;
	json_t *group;

	tally_all(picture);
	for (size_t i = 0; i < picture->n_tallies; i++)
		dropping += is_held(&picture->tallies[i]);
	group = overview_json(picture->now.boxes, picture->before.boxes);
	json_object_set_new(group, "policies", json_integer((json_int_t)picture->n_tallies));
	json_object_set_new(group, "dropping", json_integer(dropping));
	json_object_set_new(group, "unasked", json_integer(count_unasked(picture)));
	json_object_set_new(group, "held", list_first(picture, HELD_MOST, is_held_back, NULL));
	return group;
}
