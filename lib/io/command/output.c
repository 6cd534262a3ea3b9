/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes results to files, or to standard output for the path "-".
 */
#include "command/output.h"

#include <errno.h>
#include <math.h>
#include <string.h>

bool output_is_standard(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

int output_flush(FILE *out)
{
	errno = 0;
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

int output_write(const char *path, int (*write)(const void *what, FILE *out), const void *what)
{
	bool standard = output_is_standard(path);
	FILE *out = standard ? stdout : fopen(path, "w");
	int ret = out ? write(what, out) : -errno;
	int flushed = out ? output_flush(out) : 0;

	/* If the flush fails, too, its error is the cause. */
	if (flushed)
		ret = flushed;
	if (out && !standard && fclose(out) && ret == 0)
		ret = -errno;
	if (ret)
		fprintf(stderr, "%s: %s\n", path, strerror(-ret));
	return ret;
}

#define DIGITS 12

struct numbers {
	json_t *json;
	int digits;
};

static int write_numbers(const void *what, FILE *out)
{
	const struct numbers *numbers = what;
	size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION((size_t)numbers->digits);

	if (json_dumpf(numbers->json, out, flags))
		return -EIO;
	fputc('\n', out);
	return 0;
}

int output_json(const void *what, FILE *out)
{
	/* Casts away the const that output_write() added. */
	return write_numbers(&(struct numbers){(json_t *)what, DIGITS}, out);
}

static int write_json_output(const struct output_forms *forms, const void *what, const char *path)
{
	struct numbers numbers = {forms->json(what), forms->digits ? forms->digits : DIGITS};
	int err;

	if (!numbers.json) {
		fprintf(stderr, "%s: %s\n", path, strerror(ENOMEM));
		return -ENOMEM;
	}
	err = output_write(path, write_numbers, &numbers);
	json_decref(numbers.json);
	return err;
}

int output_result(const struct output_forms *forms, const void *what, const char *json)
{
	int err = 0;

	if (!output_is_standard(json)) {
		forms->text(what, stdout);
		err = output_flush(stdout);
		if (err)
			fprintf(stderr, "standard output: %s\n", strerror(-err));
	}
	if (err == 0 && json)
		err = write_json_output(forms, what, json);
	return err;
}

void output_number(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

void output_count(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

void output_text(json_t *object, const char *key, const char *value)
{
	json_object_set_new(object, key, json_string(value));
}
