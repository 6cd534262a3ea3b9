/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Results in files and on standard output, and the message and return value if they cannot be
 * written.
 */
#include "check.h"

#include "command/output.h"

#define FULL "/dev/full"

static char directory[] = "/tmp/weir-output-XXXXXX";
static char path[64];

/* Captures the output of a stream. */
struct kept {
	FILE *stream, *into;
	int previous;
};

static struct kept keep_stream(FILE *stream)
{
	struct kept kept = {stream, tmpfile(), dup(fileno(stream))};

	assert_non_null(kept.into);
	fflush(stream);
	assert_true(dup2(fileno(kept.into), fileno(stream)) >= 0);
	return kept;
}

static void give_back(struct kept *kept, char text[512])
{
	fflush(kept->stream);
	assert_true(dup2(kept->previous, fileno(kept->stream)) >= 0);
	close(kept->previous);
	rewind(kept->into);
	text[fread(text, 1, 511, kept->into)] = '\0';
	fclose(kept->into);
}

static void check_file(const char *expected)
{
	char text[512];
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, expected);
}

static int write_word(const void *what, FILE *out)
{
	fputs(what, out);
	return 0;
}

static int write_badly(const void *what, FILE *out)
{
	(void)what, (void)out;
	return -EDOM;
}

TEST(test_standard)
{
	assert_true(output_is_standard("-"));
	assert_false(output_is_standard(NULL));
	assert_false(output_is_standard(""));
	assert_false(output_is_standard("--"));
}

TEST(test_flush)
{
	FILE *full = fopen(FULL, "w"), *reader = fopen("/dev/null", "r"), *fine = tmpfile();

	assert_non_null(full);
	fputs("x", full);
	assert_int_equal(output_flush(full), -ENOSPC);
	fclose(full);
	/* An earlier error is still reported, although its cause is lost. */
	assert_int_equal(fputc('x', reader), EOF);
	assert_int_equal(output_flush(reader), -EIO);
	fclose(reader);
	errno = EDOM;
	assert_int_equal(output_flush(fine), 0);
	fclose(fine);
}

TEST(test_write)
{
	char text[512], missing[80];
	struct kept out, err;

	assert_int_equal(output_write(path, write_word, "first"), 0);
	check_file("first");
	assert_int_equal(output_write(path, write_word, "2nd"), 0);
	check_file("2nd");
	out = keep_stream(stdout);
	assert_int_equal(output_write("-", write_word, "shown"), 0);
	assert_int_equal(output_write("-", write_word, " twice"), 0); /* stdout stays open */
	give_back(&out, text);
	assert_string_equal(text, "shown twice");
	err = keep_stream(stderr);
	assert_int_equal(output_write(FULL, write_word, "x"), -ENOSPC);
	assert_int_equal(output_write(FULL, write_badly, "x"), -EDOM);
	snprintf(missing, sizeof(missing), "%s/none/x", directory);
	assert_int_equal(output_write(missing, write_word, "x"), -ENOENT);
	give_back(&err, text);
	assert_non_null(strstr(text, FULL ": No space left on device\n" FULL
					  ": Numerical argument out of domain\n/tmp/"));
	assert_non_null(strstr(text, "/none/x: No such file or directory\n"));
}

TEST(test_members)
{
	json_t *json = json_object();
	char *text;

	output_number(json, "a", 1.5);
	output_number(json, "b", INFINITY);
	output_number(json, "c", NAN);
	output_count(json, "d", INT64_MAX);
	output_text(json, "e", "word");
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(
		text, "{\"a\":1.5,\"b\":null,\"c\":null,\"d\":9223372036854775807,\"e\":\"word\"}");
	free(text);
	json_decref(json);
}

/* Indented by two blanks a level, with twelve digits. */
TEST(test_json)
{
	json_t *json = json_object();

	output_number(json, "a", 1.0 / 3.0);
	assert_int_equal(output_write(path, output_json, json), 0);
	check_file("{\n  \"a\": 0.333333333333\n}\n");
	json_decref(json);
}

static void say_result(const void *what, FILE *out)
{
	fprintf(out, "text of %s\n", (const char *)what);
}

static json_t *json_of_result(const void *what)
{
	json_t *json;

	if (!*(const char *)what)
		return NULL;
	json = json_object();
	output_number(json, what, 2.0 / 3.0);
	return json;
}

static int shown_result(
	const struct output_forms *forms, const char *what, const char *json, char text[512])
{
	struct kept out = keep_stream(stdout);
	int ret = output_result(forms, what, json);

	give_back(&out, text);
	return ret;
}

TEST(test_result)
{
	struct output_forms forms = {.text = say_result, .json = json_of_result};
	char text[512];

	unlink(path);
	assert_int_equal(shown_result(&forms, "x", NULL, text), 0);
	assert_string_equal(text, "text of x\n");
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(shown_result(&forms, "x", path, text), 0);
	assert_string_equal(text, "text of x\n");
	check_file("{\n  \"x\": 0.666666666667\n}\n");
	forms.digits = 3;
	assert_int_equal(shown_result(&forms, "x", path, text), 0);
	check_file("{\n  \"x\": 0.667\n}\n");
	assert_int_equal(shown_result(&forms, "y", "-", text), 0);
	assert_string_equal(text, "{\n  \"y\": 0.667\n}\n");
}

TEST(test_result_fails)
{
	const struct output_forms forms = {.text = say_result, .json = json_of_result};
	char text[512], said[512];
	struct kept err = keep_stream(stderr);
	int no_memory = shown_result(&forms, "", path, text);
	int full = shown_result(&forms, "x", FULL, text), standard;
	int previous = dup(STDOUT_FILENO);
	FILE *nowhere = fopen(FULL, "w");

	unlink(path);
	assert_non_null(nowhere);
	fflush(stdout);
	dup2(fileno(nowhere), STDOUT_FILENO);
	standard = output_result(&forms, "x", path);
	dup2(previous, STDOUT_FILENO);
	close(previous);
	fclose(nowhere);
	clearerr(stdout);
	fflush(stdout);
	give_back(&err, said);
	assert_int_equal(no_memory, -ENOMEM);
	assert_int_equal(full, -ENOSPC);
	assert_int_equal(standard, -ENOSPC);
	assert_int_equal(access(path, F_OK), -1); /* not tried after that */
	snprintf(text, sizeof(text),
		"%s: Cannot allocate memory\n" FULL ": No space left on device\n"
		"standard output: No space left on device\n",
		path);
	assert_string_equal(said, text);
}

static int make_directory(void **state)
{
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/file", directory);
	return 0;
}

static int remove_directory(void **state)
{
	unlink(path);
	return rmdir(directory);
}

TEST_GROUP(make_directory, remove_directory)
