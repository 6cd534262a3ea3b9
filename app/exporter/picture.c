/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ask/member.h"
#include "overview.h"
#include "rows.h"

/* Policies that are held back: as many as a reader takes in. */
#define HELD_MOST 10

/* What was gathered once. */
struct gathering {
	struct boxes *boxes;
	struct rows rows[BOXES_MOST];
};

/* A policy at all limiters together. */
struct tally {
	const struct row *row; /* of one of them */
	double limit, demand;
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
}

static void forget_tallies(struct picture *picture)
{
	free(picture->tallies);
	picture->tallies = NULL;
	picture->n_tallies = 0;
	picture->tallied = false;
}

struct picture *picture_new(void)
{
	return calloc(1, sizeof(struct picture));
}

void picture_forget(struct picture *picture)
{
	forget_gathering(&picture->before);
	forget_tallies(picture);
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
	for (unsigned i = 0; i < boxes->n; i++)
		rows_read(&picture->now.rows[i], boxes->of[i].document);
}

const struct boxes *picture_boxes(const struct picture *picture)
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
	unsigned then = overview_find(
		picture->before.boxes, picture->now.boxes->of[box].limiter, box);
	size_t place = (size_t)(row - picture->now.rows[box].rows);

	return row_rates(row, then == BOXES_MOST
				      ? NULL
				      : rows_find(&picture->before.rows[then], row->name, place));
}

/* --- policies --------------------------------------------------------------------------------- */

static void add_to_tally(struct tally *tally, const struct row *row, struct row_rates rates)
{
	tally->row = row;
	if (!(row->limit <= tally->limit)) /* they may have been told different ones for a moment */
		tally->limit = row->limit;
	add_known(&tally->demand, row->demand);
	add_known(&tally->passed, rates.passed);
	add_known(&tally->dropped, rates.dropped);
	add_known(&tally->dropped_packets, rates.dropped_packets);
}

static size_t append_tally(struct picture *picture)
{
	picture->tallies[picture->n_tallies] = (struct tally){NULL, NAN, NAN, NAN, NAN, NAN};
	return picture->n_tallies++;
}

static json_t *index_tallies(const struct picture *picture)
{
	json_t *index = json_object();

	for (size_t i = 0; i < picture->n_tallies; i++)
		json_object_set_new(
			index, picture->tallies[i].row->name, json_integer((json_int_t)i));
	return index;
}

/* The tally of a limiter's policy: limiters of a group have them in one order, mostly. */
static size_t find_tally(struct picture *picture, const char *name, size_t guess, json_t **index)
{
	const json_t *known;

	if (guess < picture->n_tallies && strcmp(picture->tallies[guess].row->name, name) == 0)
		return guess;
	if (!*index)
		*index = index_tallies(picture);
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

		add_to_tally(&picture->tallies[place], row, rates_at(picture, box, row));
	}
	json_decref(index);
}

/* Once for all who ask. */
static void tally_all(struct picture *picture)
{
	const struct boxes *boxes = picture->now.boxes;
	size_t n = 0;

	if (picture->tallied || !boxes)
		return;
	picture->tallied = true;
	for (unsigned i = 0; i < boxes->n; i++)
		n += picture->now.rows[i].n;
	picture->tallies = calloc(n + 1, sizeof(*picture->tallies));
	for (unsigned i = 0; picture->tallies && i < boxes->n; i++)
		tally_box(picture, i);
}

/* What comes first is what drops most, and then what passes most. */
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
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", tally->row->name, "count",
		tally->row->count, "limit", known_json(tally->limit), "demand",
		known_json(tally->demand), "passed", known_json(tally->passed), "dropped",
		known_json(tally->dropped), "dropped_packets", known_json(tally->dropped_packets));
}

/* The first of those for which `is_wanted` holds, as few as a reader takes in: no sort of all. */
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

static const char *own_name(const struct picture *picture, unsigned box)
{
	const struct metrics_of *of = &picture->now.boxes->of[box];
	const char *name = json_string_value(member_at(of->document, "process.limiter"));

	return name ? name : of->limiter;
}

static json_t *policy_at(struct picture *picture, unsigned box, const struct row *row)
{
	struct row_rates rates = rates_at(picture, box, row);

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
		own_name(picture, box), "passed", known_json(rates.passed), "dropped",
		known_json(rates.dropped), "dropped_packets", known_json(rates.dropped_packets),
		"over", known_json(rates.over), "demand", known_json(row->demand), "share",
		known_json(row->share), "waiting_packets", known_json(row->waiting_packets),
		"peers_lost", known_json(row->lost), "bound", known_json(row->bound));
}

static bool is_asked(const struct picture *picture, const char *name)
{
	for (unsigned i = 0; i < picture->now.boxes->n; i++)
		if (picture->now.rows[i].n && strcmp(own_name(picture, i), name) == 0)
			return true;
	return false;
}

static double told_demand(const json_t *one)
{
	return json_number_value(json_object_get(one, "demand_bps")) / 8 +
	       json_number_value(json_object_get(one, "demand_per_s"));
}

/* What one asks, and its part of the limit: with that it passes what it asks, or its part. */
static json_t *told_of_one(const json_t *one, double demands, double weights, double limit)
{
	const json_t *weight = json_object_get(one, "weight");
	double demand = weight ? told_demand(one) : NAN;
	double part = weight && weights > 0 ? limit * json_number_value(weight) / weights : NAN;

	return json_pack("{s:s, s:o, s:o, s:o}", "name",
		json_string_value(json_object_get(one, "name")), "demand", known_json(demand),
		"share", known_json(part), "about",
		known_json(demands > limit ? fmin(demand, part) : demand));
}

/* Limiters that cannot be asked, as a peer of theirs tells of them. */
static json_t *told_json(const struct picture *picture, const json_t *shares, double limit)
{
	const json_t *list = json_object_get(shares, "limiters"), *one;
	json_t *told = json_array();
	double weights = 0, demands = 0;
	size_t i;

	json_array_foreach (list, i, one) {
		weights += json_number_value(json_object_get(one, "weight"));
		demands += told_demand(one);
	}
	json_array_foreach (list, i, one) {
		const char *name = json_string_value(json_object_get(one, "name"));

		if (name && !is_asked(picture, name))
			json_array_append_new(told, told_of_one(one, demands, weights, limit));
	}
	return told;
}

/* What the first limiter that tells of the others has heard. */
static json_t *told_by_any(const struct picture *picture, const char *name, double limit)
{
	const struct boxes *boxes = picture->now.boxes;

	for (unsigned i = 0; i < boxes->n; i++) {
		const json_t *shares = json_object_get(
			json_object_get(boxes->of[i].document, "shares"), name);

		if (shares)
			return told_json(picture, shares, limit);
	}
	return json_array();
}

json_t *picture_policy(struct picture *picture, const char *name)
{
	const struct boxes *boxes = picture->now.boxes;
	const struct row *any = NULL;
	double spent = NAN;
	json_t *limiters;
	size_t guess = 0;

	if (!boxes || !name)
		return json_null();
	limiters = json_array();
	for (unsigned i = 0; i < boxes->n; i++) {
		const struct row *row = rows_find(&picture->now.rows[i], name, guess);

		if (!row)
			continue;
		any = row;
		guess = (size_t)(row - picture->now.rows[i].rows);
		add_known(&spent, row->spent);
		json_array_append_new(limiters, policy_at(picture, i, row));
	}
	if (!any) {
		json_decref(limiters);
		return json_null();
	}
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name", any->name, "count",
		any->count, "limit", known_json(any->limit), "total", known_json(any->total),
		"left", known_json(any->left), "spent", known_json(spent), "limiters", limiters,
		"told", told_by_any(picture, name, any->limit));
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
	json_object_set_new(group, "held", list_first(picture, HELD_MOST, is_held_back, NULL));
	return group;
}
