/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * JSON documents into structs by table. A key is one row: its name, who reads it, where the result
 * goes. A key that is missing is given to its reader as NULL if it is required, so that "missing",
 * "wrong type" and "wrong value" are one message each key:
 * `FILE:LINE: PATH: FOUND: expected WHAT: REMEDY`. Readers report and go on; nothing stops at the
 * first error. Every object may have a "$schema" and a "note", which nobody reads.
 *
 *	reader_load(), read_keys() of the whole document, checks across keys, reader_finish()
 *
 * The document stays whole in between: what one key means to another is looked up in reader.root.
 * For the configuration, and for whoever else has documents of its own. One thread a reader.
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
#include "json/json_path.h"

/*
 * Bytes of a file, against one that never ends. As text, in jansson's tree and in the scanner for
 * duplicates a document takes about ten times its size, while it is read.
 */
#define READER_FILE_MAX (256U << 20)

struct document;
struct line_lists;
struct seen;

struct reader {
	struct diagnostics *diagnostics;
	struct diagnostics own;     /* that they are, where nobody else has any */
	struct document *documents; /* the first is the one that was asked for */
	unsigned n_documents;
	const char *joined; /* the key whose arrays in all documents are one; NULL: none */
	json_t *root;
	struct seen *seen;        /* what was read of the file system (json/seen.h) */
	struct line_lists *lists; /* that stand in files of their own; NULL: none was asked for */
	unsigned errors;          /* reported so far */
	bool no_memory;           /* set it when an allocation fails; reader_finish() reports it */
};

/*
 * Reads a document, from a file ("-" is standard input) or from memory (`name` stands for the file
 * in messages). Messages go to err as lines for people, or to diagnostics, which must outlive the
 * reader. Keys that stand twice are reported and counted. Returns 0, and reader_finish() is to
 * follow; or -EINVAL (no JSON), -ENOMEM or the negative errno of reading the file, which are
 * reported and leave nothing to finish. The reader must stay where it is until it has finished.
 */
int reader_open(struct reader *reader, const char *path, struct diagnostics *diagnostics);
int reader_load(struct reader *reader, const char *path, FILE *err);
int reader_parse(struct reader *reader, const char *text, size_t len, const char *name, FILE *err);

/*
 * As reader_parse(), of what is parsed already and stays as it is meanwhile. All of it is said to
 * be in line 1. 0 or -ENOMEM.
 */
int reader_take(struct reader *reader, const json_t *root, const char *name, FILE *err);

/* Whether reader_finish() would refuse: then there is no sense in warnings. */
bool reader_failed(const struct reader *reader);

/* Reports the keys that stand twice in an object of the newest document. */
void reader_check_duplicates(struct reader *reader);

/* Frees the documents. Returns 0, -EINVAL when anything was refused, or -ENOMEM. */
int reader_finish(struct reader *reader);

struct key;

/* value is NULL when the key is missing; base is the struct that holds the field. */
typedef void (*key_reader)(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

struct key {
	const char *name; /* NULL ends a table */
	key_reader read;
	size_t offset, size;  /* of the field in its struct */
	const char *expected; /* a value in words, where the reader cannot say it itself */
	const void *detail;   /* what the reader needs beside: see each */
	bool required;        /* read it, as NULL, even when it is missing */
};

#define KEY_FIELD(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

/* `FILE:LINE: PATH: FOUND: expected …`; counts as an error. */
void reader_expected(struct reader *reader, const struct json_path *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As reader_expected(), with `: REMEDY` at the end unless that is NULL. */
void reader_advise(struct reader *reader, const struct json_path *path, const char *remedy,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* As reader_advise(), where what was found is not the value there. What is NULL is not said. */
void reader_refuse(struct reader *reader, const struct json_path *path, const char *found,
	const char *expected, const char *remedy);

/* `FILE:LINE: PATH: …`; counts as an error. */
void reader_error(struct reader *reader, const struct json_path *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* `FILE:LINE: warning: PATH: FOUND: …`, of an object without what was found. */
void reader_warn(struct reader *reader, const struct json_path *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Counts an error, or a warning, that is one too many to be written, and returns true. False: it is
 * to be reported. Ask it before looking up at a price what to say of each of very many.
 */
bool reader_skips(struct reader *reader, bool warning);

/* `policies[0] "video" at FILE:LINE`, for a message about another place; it is looked for in the
 * whole document. For free(); or NULL. */
char *reader_place(const struct reader *reader, const struct json_path *path);

/* Whether the object there has the key, whatever its value. */
bool reader_has(const struct reader *reader, const struct json_path *object, const char *key);

/* Whether the member of an object is a "$schema" or a "note", which no table has. */
bool key_is_remark(const char *name);

/* Reports a remark that is none: a text, or for a note also several of them. */
void read_remark(struct reader *reader, const struct json_path *path, const json_t *value);

/* Reads every key of the table into base, and reports the keys that it does not have. */
void read_keys(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *keys, void *base);

/* The field of a key. */
void *key_field(const struct key *key, void *base);
void key_store(const struct key *key, void *base, uint64_t value); /* 8 to 64 bits */

/* detail: the table of an object that is part of the same struct (field: any struct in it). */
void read_object(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

struct list {
	const struct key *keys;      /* of an element */
	size_t size;                 /* of an element */
	size_t count_offset;         /* of the unsigned in base that counts them */
	unsigned max;                /* elements */
	void (*init)(void *element); /* its defaults; NULL: zeroes */
};

/* detail: struct list; the field is a pointer to the elements, from calloc(). */
void read_list(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* An array for n elements of the list, stored in its field; NULL (reported) when refused. */
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
	const char *base;  /* unit that the value must be whole in */
};

/* detail: struct quantity_range; expected says the form. */
void read_quantity(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* As strcmp(), for one word that is compared with many. */
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
	bool below; /* max itself is refused */
};

/* A number, whole or not, into a double. detail: struct real_range. */
void read_real(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* True without control characters. UTF-8. */
bool text_printable(const char *text);

/* A printable string that is not empty and shorter than the field; expected says what it is. */
void read_text(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

void read_bool(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

#endif
