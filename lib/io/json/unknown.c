/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/unknown.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "json/vocabulary.h"

#define CANDIDATES_MOST 5   /* suggestions in a message */
#define PLACE_MAX       64  /* bytes of an object's place */
#define PATH_MAX_BYTES  256 /* bytes of a path in a document */
#define OBJECTS_MAX     48  /* objects that have keys */
#define WORD_MAX        64  /* bytes of a key that is compared */
#define DISTANT_MIN     5   /* characters of a word that is suggested after two mistakes */
#define ELSEWHERE_MIN   4   /* characters of another object's key that is suggested after one */

/* How sure a suggestion is: the surest first. */
enum rank {
	RANK_SAME,            /* only case, "_" or "-" differ */
	RANK_SYNONYM,         /* another word for the key */
	RANK_NEAR,            /* one mistake */
	RANK_ELSEWHERE,       /* a key of an object around or inside */
	RANK_MEANT_ELSEWHERE, /* another word for a key of an object around or inside */
	RANK_APART,           /* a key of an unrelated object */
	RANK_DISTANT,         /* two mistakes */
	RANK_NEAR_SYNONYM,    /* one mistake in another word for the key */
	RANK_PART,            /* a part of the word is the key, or another word for it */
	RANK_NEAR_ELSEWHERE,  /* one mistake in a key of another object */
	RANK_NONE
};

/* Distances between objects: below each other by so many steps, or in different branches. */
#define ABOVE 16
#define APART 32

/*
 * An object of the vocabulary. The place is a path such as "policies[].match": [] stands for any
 * index, NAME for any key, and an array of such objects has the same place.
 */
struct object {
	char place[PLACE_MAX];
	const struct key *keys;
	const char *heading;
};

struct candidate {
	const char *key;
	const struct object *object; /* its other object; NULL: this one */
	enum rank rank;
	unsigned distance; /* from this object to its object */
};

struct key_search {
	const struct reader *reader;
	const struct key *keys;
	const char *word;
	char plain[WORD_MAX];               /* the word in the form in which words are compared */
	struct object objects[OBJECTS_MAX]; /* all that have keys */
	unsigned n_objects;
	const struct object *object; /* the one with the unknown key; NULL: not in the vocabulary */
	struct candidate best[CANDIDATES_MOST]; /* the surest first */
	unsigned n;
};

/* Writes the lower-case letters and digits of n characters; "" if they are too many. */
static void make_plain(const char *word, size_t n, char plain[WORD_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < n && len < WORD_MAX; i++)
		if (strchr("_-. ", word[i]) == NULL)
			plain[len++] = (char)tolower((unsigned char)word[i]);
	plain[len < WORD_MAX ? len : 0] = '\0';
}

/* Copies the next of the words at `at`, plain. Returns its end, or NULL after the last word. */
static const char *next_word(const char *at, const char *between, char plain[WORD_MAX])
{
	size_t n;

	at += strspn(at, between);
	n = strcspn(at, between);
	make_plain(at, n, plain);
	return n > 0 ? at + n : NULL;
}

static bool has_word(const char *words, const char *plain)
{
	char word[WORD_MAX];

	while ((words = next_word(words, " ", word)) != NULL)
		if (strcmp(word, plain) == 0)
			return true;
	return false;
}

static bool has_near_word(const char *words, const char *plain)
{
	char word[WORD_MAX];

	while ((words = next_word(words, " ", word)) != NULL)
		if (strlen(word) >= DISTANT_MIN && suggest_distance(word, plain) == 1)
			return true;
	return false;
}

/* Returns whether a part of the word, such as "rate" of "max_rate", is the key or means it. */
static bool has_part(const struct key *key, const char *word)
{
	char part[WORD_MAX], name[WORD_MAX];

	make_plain(key->name, strlen(key->name), name);
	while ((word = next_word(word, "_-. ", part)) != NULL)
		if (strlen(part) > 2 && (strcmp(part, name) == 0 || has_word(key->also, part)))
			return true;
	return false;
}

/* Ranks a key by its spelling. */
static enum rank rank_spelling(const char *key, const char *plain)
{
	char name[WORD_MAX];
	unsigned distance;

	make_plain(key, strlen(key), name);
	if (*plain == '\0')
		return RANK_NONE;
	if (strcmp(name, plain) == 0)
		return RANK_SAME;
	distance = suggest_distance(name, plain);
	if (distance == 1)
		return RANK_NEAR;
	return distance == 2 && strlen(name) >= DISTANT_MIN ? RANK_DISTANT : RANK_NONE;
}

/* Ranks a key by the meaning of the word. */
static enum rank rank_meaning(const struct key *key, const char *word, const char *plain)
{
	if (*plain == '\0' || key->also == NULL)
		return RANK_NONE;
	if (has_word(key->also, plain))
		return RANK_SYNONYM;
	if (has_near_word(key->also, plain))
		return RANK_NEAR_SYNONYM;
	return has_part(key, word) ? RANK_PART : RANK_NONE;
}

static bool is_surer(const struct candidate *a, const struct candidate *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->distance < b->distance;
}

static bool is_same(const struct candidate *a, const struct candidate *b)
{
	return a->object == b->object && strcmp(a->key, b->key) == 0;
}

/* Inserts a candidate in order. If an object's key is there twice, it keeps the surer candidate. */
static void add_candidate(struct key_search *search, struct candidate candidate)
{
	struct candidate *best = search->best;
	unsigned at = 0;

	while (at < search->n && !is_surer(&candidate, &best[at])) {
		if (is_same(&best[at], &candidate))
			return;
		at++;
	}
	if (candidate.rank == RANK_NONE || at == CANDIDATES_MOST)
		return;
	for (unsigned i = at; i < search->n; i++) {
		if (!is_same(&best[i], &candidate))
			continue;
		memmove(&best[i], &best[i + 1], (search->n - i - 1) * sizeof(*best));
		search->n--;
		break;
	}
	if (search->n == CANDIDATES_MOST)
		search->n--;
	memmove(&best[at + 1], &best[at], (search->n - at) * sizeof(*best));
	best[at] = candidate;
	search->n++;
}

static void offer_own(struct key_search *search)
{
	for (const struct key *key = search->keys; key->name != NULL; key++) {
		add_candidate(search, (struct candidate){.key = key->name,
					      .rank = rank_spelling(key->name, search->plain)});
		add_candidate(
			search, (struct candidate){.key = key->name,
					.rank = rank_meaning(key, search->word, search->plain)});
	}
}

/* Returns whether `inner` is a place below `outer`, which is "" for the root. */
static bool is_below(const char *inner, const char *outer)
{
	size_t n = strlen(outer);

	return strncmp(inner, outer, n) == 0 && strlen(inner) > n &&
	       (n == 0 || inner[n] == '.' || inner[n] == '[');
}

static unsigned count_steps(const char *place)
{
	unsigned steps = *place != '\0';

	for (; *place != '\0'; place++)
		steps += *place == '.';
	return steps;
}

/* Returns the distance of an object: the objects inside are the nearest, then those around. */
static unsigned distance_of(const char *place, const char *own)
{
	if (is_below(place, own))
		return count_steps(place) - count_steps(own);
	return is_below(own, place) ? ABOVE + count_steps(own) - count_steps(place) : APART;
}

/* Ranks a key of another object. Synonyms count only in objects around or inside this one. */
static enum rank rank_elsewhere(
	const struct key *key, const struct key_search *search, bool is_related)
{
	switch (rank_spelling(key->name, search->plain)) {
	case RANK_SAME:
		return is_related ? RANK_ELSEWHERE : RANK_APART;
	case RANK_NEAR:
		return is_related && strlen(key->name) >= ELSEWHERE_MIN ? RANK_NEAR_ELSEWHERE
									: RANK_NONE;
	default:
		return is_related && rank_meaning(key, search->word, search->plain) == RANK_SYNONYM
			       ? RANK_MEANT_ELSEWHERE
			       : RANK_NONE;
	}
}

static void offer_elsewhere(struct key_search *search)
{
	for (unsigned i = 0; i < search->n_objects; i++) {
		const struct object *object = &search->objects[i];
		unsigned distance = distance_of(object->place, search->object->place);

		for (const struct key *key = object->keys;
			object != search->object && key->name != NULL; key++)
			add_candidate(search,
				(struct candidate){key->name, object,
					rank_elsewhere(key, search, distance < APART), distance});
	}
}

/* Writes the path of an object in the form of a vocabulary; "" if it is too long. */
static void print_place(const struct json_path *path, char place[PATH_MAX_BYTES])
{
	size_t len;

	place[0] = '\0';
	if (path == NULL)
		return;
	print_place(path->parent, place);
	len = strlen(place);
	if (path->key == NULL)
		snprintf(place + len, PATH_MAX_BYTES - len, "[]");
	else
		snprintf(place + len, PATH_MAX_BYTES - len, "%s%s", len > 0 ? "." : "", path->key);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), len = strlen(end);

	return n >= len && strcmp(text + n - len, end) == 0;
}

/* Returns true if a place fits a pattern. NAME fits any key, and an array fits one object. */
static bool is_place(const char *pattern, const char *place)
{
	while (*place != '\0') {
		if (strncmp(pattern, "NAME", strlen("NAME")) == 0)
			return ends_with(place, pattern + strlen("NAME"));
		if (*pattern == *place) {
			pattern++;
			place++;
		} else if (strncmp(place, "[]", 2) == 0) {
			place += 2;
		} else {
			return false;
		}
	}
	return *pattern == '\0';
}

/* Adds the object at a place, and the objects inside. */
static void add_objects(
	struct key_search *search, const char *place, const struct key *keys, const char *heading)
{
	const struct vocabulary *vocabulary = search->reader->vocabulary;
	struct object *object = &search->objects[search->n_objects];

	if (search->n_objects == OBJECTS_MAX)
		return;
	search->n_objects++;
	*object = (struct object){.keys = keys, .heading = heading};
	snprintf(object->place, sizeof(object->place), "%s", place);
	for (const struct key *key = keys; key->name != NULL; key++) {
		char inside[PLACE_MAX];
		bool is_array;
		const struct key *rows = vocabulary->inside(key, &is_array);

		if (rows == NULL)
			continue;
		snprintf(inside, sizeof(inside), "%.40s%s%s%s", place, *place != '\0' ? "." : "",
			key->name,
			is_array     ? "[]"
			: key->named ? ".NAME"
				     : "");
		add_objects(search, inside, rows, key->heading != NULL ? key->heading : heading);
	}
}

static void begin_search(struct key_search *search, const struct reader *reader,
	const struct json_path *path, const struct key *keys)
{
	const struct vocabulary *vocabulary = reader->vocabulary;
	char place[PATH_MAX_BYTES];

	*search = (struct key_search){.reader = reader, .keys = keys, .word = path->key};
	make_plain(path->key, strlen(path->key), search->plain);
	print_place(path->parent, place);
	if (vocabulary == NULL)
		return;
	add_objects(search, "", vocabulary->keys, vocabulary->heading);
	for (unsigned i = 0; search->object == NULL && i < search->n_objects; i++)
		if (is_place(search->objects[i].place, place))
			search->object = &search->objects[i];
}

/* Returns the last rank that a message names together with the surest. */
static enum rank last_rank(enum rank first)
{
	switch (first) {
	case RANK_SYNONYM:
		return RANK_NEAR;
	case RANK_NEAR:
	case RANK_MEANT_ELSEWHERE:
		return RANK_APART;
	default:
		return first;
	}
}

/*
 * Keeps the candidates that are about as sure as the surest. For other objects it keeps only the
 * nearest.
 */
static void keep_surest(struct key_search *search)
{
	enum rank last = last_rank(search->n > 0 ? search->best[0].rank : RANK_NONE);
	unsigned kept = 0;

	for (unsigned i = 0; i < search->n && search->best[i].rank <= last; i++) {
		const struct candidate *best = &search->best[i];
		bool is_farther = kept > 0 && search->best[kept - 1].rank == best->rank &&
				  search->best[kept - 1].distance < best->distance;

		if (!is_farther)
			search->best[kept++] = *best;
	}
	search->n = kept;
}

/* Writes the name of an object, seen from the one that has the unknown key. */
static void print_object(
	const struct key_search *search, const struct candidate *candidate, FILE *out)
{
	const char *place = candidate->object->place;
	size_t n = strlen(search->object->place);

	if (*place == '\0')
		fputs("the top level", out);
	else if (candidate->distance < ABOVE && n > 0)
		fprintf(out, "\"%s\"", place + n + 1);
	else
		fprintf(out, "\"%s\"", place);
}

/* Writes `did you mean "a", "b" or "c" in "d"?`. */
static void print_meant(const struct key_search *search, FILE *out)
{
	fputs("did you mean ", out);
	for (unsigned i = 0; i < search->n; i++) {
		const struct candidate *best = &search->best[i];
		const char *between = i == 0 ? "" : i + 1 < search->n ? ", " : " or ";

		fprintf(out, "%s\"%s\"", between, best->key);
		if (best->object == NULL || (i + 1 < search->n && best[1].object == best->object))
			continue;
		fputs(*best->object->place ? " in " : " at ", out);
		print_object(search, best, out);
	}
	fputs("?", out);
}

/* Writes `"src" belongs in "match"`. */
static void print_belongs(const struct key_search *search, FILE *out)
{
	fprintf(out, "\"%s\" belongs", search->best[0].key);
	for (unsigned i = 0; i < search->n; i++) {
		fputs(i == 0 ? " " : i + 1 < search->n ? ", " : " or ", out);
		fputs(*search->best[i].object->place ? "in " : "at ", out);
		print_object(search, &search->best[i], out);
	}
}

/* Returns true if the word is a key, but of other objects only. */
static bool is_misplaced(const struct key_search *search)
{
	return search->n > 0 &&
	       (search->best[0].rank == RANK_ELSEWHERE || search->best[0].rank == RANK_APART);
}

/* Writes `see PAGE, "HEADING"` at the end of the text. */
static void print_manual(const struct key_search *search, FILE *out)
{
	bool is_question = search->n > 0 && !is_misplaced(search);

	if (search->object != NULL)
		fprintf(out, "%s %s, \"%s\"",
			is_question     ? " See"
			: search->n > 0 ? ": see"
					: "see",
			search->reader->vocabulary->manual, search->object->heading);
}

/* Writes the keys that the object has most often. */
static void print_common(const struct key_search *search, FILE *out)
{
	const char *names[CANDIDATES_MOST];
	unsigned n = 0;

	for (unsigned common = 0; common < 2; common++)
		for (const struct key *key = search->keys; key->name != NULL; key++)
			if (n < CANDIDATES_MOST && key->common == (common == 0))
				names[n++] = key->name;
	fputs(n > 1 ? "a key such as " : "the key ", out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s\"%s\"", i == 0 ? "" : i + 1 < n ? ", " : " or ", names[i]);
}

static void print_remedy(const struct key_search *search, FILE *out)
{
	bool sure = search->n == 1 && search->best[0].rank <= RANK_PART;

	if (is_misplaced(search))
		print_belongs(search, out);
	else if (search->n > 0)
		print_meant(search, out);
	if (!sure)
		print_manual(search, out);
}

/* Returns the printed text for free(); NULL without memory. */
static char *text_of(
	const struct key_search *search, void (*print)(const struct key_search *, FILE *))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	print(search, out);
	fclose(out);
	return text;
}

void report_unknown_key(struct reader *reader, const struct json_path *path, const struct key *keys)
{
	struct key_search search;
	char *remedy, *expected = NULL;

	if (reader_skips(reader, false))
		return;
	begin_search(&search, reader, path, keys);
	offer_own(&search);
	if (search.object != NULL)
		offer_elsewhere(&search);
	keep_surest(&search);
	if (search.n == 0)
		expected = text_of(&search, print_common);
	remedy = text_of(&search, print_remedy);
	reader_report(
		reader, path, MESSAGE(UNKNOWN_KEY), message_part(expected), message_part(remedy));
	free(expected);
	free(remedy);
}

const char *reader_meant(
	const struct reader *reader, const struct json_path *path, const char *text)
{
	const struct vocabulary_entry *entry = NULL;
	const struct key *keys = NULL;
	struct key_search search;
	char plain[WORD_MAX];

	if (reader->vocabulary == NULL)
		return NULL;
	begin_search(&search, reader, path, NULL);
	keys = search.object != NULL ? search.object->keys : NULL;
	for (; keys != NULL && keys->name != NULL; keys++)
		if (same_word(keys->name, path->key))
			entry = keys->value_words;
	make_plain(text, strlen(text), plain);
	for (; entry != NULL && entry->name != NULL; entry++)
		if (*plain != '\0' && has_word(entry->words, plain))
			return entry->name;
	return NULL;
}
