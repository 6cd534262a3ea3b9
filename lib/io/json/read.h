/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads JSON documents into structs by table. A key is one row: its name, its reader, the field for
 * the result. The reader of a required key is called with NULL if the key is missing. So a missing
 * key, a wrong type and a wrong value have one message:
 * `FILE:LINE: PATH: FOUND: expected WHAT: REMEDY`. Readers report an error and continue. Every
 * object can have a "$schema" and a "note", which are ignored.
 *
 *	reader_load(), read_keys() of the whole document, checks across keys, reader_finish()
 *
 * The document stays whole until reader_finish(): checks across keys look up reader.root. For the
 * configuration and for other documents, such as scenarios. One thread a reader.
 */
#ifndef WEIR_JSON_READ_H
#define WEIR_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "json/diagnostics.h"
#include "json/json_messages.h"
#include "json/json_path.h"

/*
 * Bytes of a file: a bound for files without an end. A document takes about twelve times its size:
 * as text and in jansson's tree.
 */
#define READER_FILE_MAX (256U << 20)

struct document;
struct line_lists;
struct seen;
struct vocabulary;
struct vocabulary_entry;

struct reader {
	struct diagnostics *diagnostics;
	struct diagnostics own;     /* for callers that have no diagnostics */
	struct document *documents; /* the first is the caller's; others are included */
	unsigned n_documents;
	const char *joined; /* the key whose arrays in all documents are one; NULL: none */
	const struct vocabulary *vocabulary; /* for suggestions by meaning; NULL: none */
	json_t *root;
	struct seen *seen;        /* states of the files read (json/seen.h) */
	struct line_lists *lists; /* read from files with one element a line; NULL: none */
	unsigned errors;          /* reported so far */
	bool no_memory;           /* set it when an allocation fails; reader_finish() reports it */
};

/*
 * Reads a document, from a file ("-" is standard input) or from memory (`name` stands for the file
 * in messages). Messages go to err as lines for people, or to diagnostics, which must outlive the
 * reader. Reports and counts duplicate keys. Returns 0; then the caller calls reader_finish().
 * Or returns -EINVAL (no JSON), -ENOMEM or the negative errno of reading the file, reported, with
 * nothing to finish. The reader must not move in memory before reader_finish().
 */
int reader_open(struct reader *reader, const char *path, struct diagnostics *diagnostics);
int reader_open_text(struct reader *reader, const char *text, size_t len, const char *name,
	struct diagnostics *diagnostics);
int reader_load(struct reader *reader, const char *path, FILE *err);
int reader_parse(struct reader *reader, const char *text, size_t len, const char *name, FILE *err);

/*
 * Like reader_parse(), of a parsed document, which must not change until reader_finish(). Messages
 * have no line, and `policy "video": limit` in place of `policies[1] "video".limit`. 0 or -ENOMEM.
 */
int reader_take(struct reader *reader, const json_t *root, const char *name, FILE *err);

/* Returns true if reader_finish() would fail: then warnings are of no use. */
bool reader_failed(const struct reader *reader);

/* Reports duplicate keys in the objects of the newest document. */
void reader_check_duplicates(struct reader *reader);

/* Frees the documents. Returns 0, -EINVAL after an error, or -ENOMEM. */
int reader_finish(struct reader *reader);

struct key;

/* value is NULL if the key is missing; base is the struct that contains the field. */
typedef void (*key_reader)(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/*
 * A relation of a key to another key of its object. Without values or traits, any value of the
 * other key counts. A missing key has its default.
 */
struct key_relation {
	const char *key;           /* the other key; NULL ends the relations of a row */
	const char *or_key;        /* a second key that is as good as the first one, or NULL */
	const char *const *values; /* words of the other key, then NULL; true and false too */
	unsigned traits;           /* values with any of these traits, see struct key's `has` */
	bool excluded;             /* false: required */
	const char *remedy;        /* for an excluded key */
	const char *unless;        /* word of the key itself, or false, without this relation */
};

struct key {
	const char *name; /* NULL ends a table */
	key_reader read;
	size_t offset, size;  /* the field in its struct, bytes */
	const char *expected; /* a value in words, for readers of several keys */
	const void *detail;   /* parameters of the reader: see each */
	bool required;        /* call the reader with NULL if the key is missing */
	unsigned change;      /* effect of another value on a running program */
	/* Returns true if both structs have the same value. NULL: compares the field's bytes. */
	bool (*same)(const struct key *key, const void *a, const void *b);
	const struct key_relation *relations; /* to other keys of its object; NULL: none */
	/*
	 * For relations to this key. Returns the value as a word, or NULL after an error in it.
	 * NULL: read_bool(), or a choice whose words are in `detail`.
	 */
	const char *(*word)(const struct key *key, const void *base);
	bool (*has)(int value, unsigned traits);   /* true if a choice has any of the traits */
	bool (*fits)(const void *base, int value); /* true if the key fits_by in base allows it */
	const char *fits_by;
	const char *group; /* setting that limiters of a group compare; NULL: each one's own */
	/* For keys_preset(), and for programs that print the table. */
	const char *preset;     /* default, as JSON; NULL: the field stays as it is */
	const char *usual;      /* default in words; NULL: see preset and required */
	const char *help;       /* meaning, in Markdown without a full stop */
	const char *form;       /* type, if the reader is not in this header */
	const struct key *keys; /* keys of the object or of an element that such a reader reads */
	bool simulated;         /* a simulated group has this key too */
	/* For suggestions, see json/vocabulary.h. */
	const char *also;                           /* words of other tools for the key */
	const struct vocabulary_entry *value_words; /* words for its values; NULL: none */
	const struct vocabulary_entry *previous; /* read_choice(): words accepted with a warning */
	const char *heading; /* in the manual, of the object inside; NULL: that of this object */
	bool array;          /* `keys` are those of an element, not of an object */
	bool named;          /* `keys` are those of a member, whose key is a name */
	bool common;         /* one of the keys that an object has most often */
	bool secret;         /* path of a file whose content no support archive may have */
};

#define KEYS_MOST 96 /* rows of a table */

#define KEY_FIELD(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

/*
 * Reports a message, as in reader_report(reader, path, MESSAGE(OUT_OF_RANGE), range->words), at the
 * place of the path, and counts an error or a warning. The forms are in json/message_row.h.
 */
void reader_report(struct reader *reader, const struct json_path *path,
	const struct message_row *row, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Counts an error or a warning beyond the most that are written, and returns true. Returns false
 * if the caller must report it. Spares the caller the work for messages that are not written.
 */
bool reader_skips(struct reader *reader, bool warning);

/*
 * Returns `policies[0] "video" (FILE:LINE)`, or `policy "video"` without a text, for a message
 * about another place. For free(); or NULL.
 */
char *reader_place(const struct reader *reader, const struct json_path *path);

/* Returns true if the object there has the key, with any value. */
bool reader_has(const struct reader *reader, const struct json_path *object, const char *key);

/* Returns true for "$schema" and "note", which no table has. */
bool key_is_remark(const char *name);

/* Reports a "$schema" that is not a text, and a note that is not a text or an array of texts. */
void read_remark(struct reader *reader, const struct json_path *path, const json_t *value);

/* Returns the row of that name, or the row that ends the table. */
const struct key *key_find(const struct key *keys, const char *name);

/* Reads every key of the table into base, and reports unknown keys. */
void read_keys(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *keys, void *base);

/*
 * Sets the fields of all keys that have a default, also in objects of read_object(). A default that
 * its own reader rejects is an error of the document.
 */
void keys_preset(struct reader *reader, const struct key *keys, void *base);

/* Returns true if both structs have the same value of the key. */
bool key_is_same(const struct key *key, const void *a, const void *b);

/*
 * Returns the table of the object that the key holds, or of each element of an array; NULL: none.
 */
const struct key *key_inside(const struct key *key, bool *is_array);

/* Return or store the field of a key. */
void *key_field(const struct key *key, const void *base);
void key_store(const struct key *key, void *base, uint64_t value); /* 8 to 64 bits */

/* detail: the table of an object that is part of the same struct (field: any struct in it). */
void read_object(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

struct list {
	const struct key *keys;      /* the keys of an element */
	size_t size;                 /* bytes of an element */
	size_t count_offset;         /* offset in base of the unsigned that counts them */
	unsigned max;                /* elements */
	void (*init)(void *element); /* fields without a default in `keys`; NULL: zeroes */
	bool named; /* an object, whose keys are names: the first field of an element */
};

/* detail: struct list; the field is a pointer to the elements, from calloc(). */
void read_list(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Stores an array for n elements of the list in its field and returns it; or NULL, reported. */
void *list_allocate(struct reader *reader, const struct json_path *path, const struct key *key,
	void *base, size_t n);

struct integer_range {
	int64_t min, max;
};

/* detail: struct integer_range. */
void read_integer(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

struct quantity_range {
	int (*parse)(const char *text, uint64_t *out);
	uint64_t min, max;
	const char *words; /* min and max for people */
	const char *base;  /* unit of which the value must be a multiple */
};

/* detail: struct quantity_range; expected: the form in words. */
void read_quantity(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Returns true for equal words. Faster than strcmp() for one word compared with many. */
static inline bool same_word(const char *word, const char *other)
{
	return word[0] == other[0] && strcmp(word, other) == 0;
}

struct choice {
	const char *name; /* NULL ends the table */
	int value;
};

/* detail: struct choice[]. */
void read_choice(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

struct real_range {
	double min, max;
	bool below; /* true: less than max */
};

/* Reads a number into a double. detail: struct real_range. */
void read_real(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Returns true for UTF-8 without control characters. */
bool text_printable(const char *text);

/* Reads a printable string, not empty, shorter than the field; expected: its name in words. */
void read_text(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

void read_bool(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

#endif
