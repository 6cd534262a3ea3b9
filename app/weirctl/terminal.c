/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "terminal.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <sys/ioctl.h>

/* Size of a terminal that does not report it. */
#define COLUMNS 80
#define ROWS    24

#define ALTERNATE "\033[?1049h\033[?25l"
#define ORIGINAL  "\033[?25h\033[?1049l"

static struct {
	struct termios before;
	bool entered;
} saved;

bool terminal_size(unsigned *columns, unsigned *rows)
{
	struct winsize size = {0};

	if (!isatty(STDOUT_FILENO))
		return false;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*columns = size.ws_col ? size.ws_col : COLUMNS;
	*rows = size.ws_row ? size.ws_row : ROWS;
	return true;
}

/* Writes to the terminal, which takes the whole text. Errors of a closed terminal do not matter. */
static void write_terminal(const char *text)
{
	ssize_t n;

	do
		n = write(STDOUT_FILENO, text, strlen(text));
	while (n < 0 && errno == EINTR);
}

int terminal_enter(void)
{
	struct termios raw;

	if (saved.entered)
		return 0;
	if (tcgetattr(STDIN_FILENO, &saved.before))
		return -errno;
	raw = saved.before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* Ctrl-C and Ctrl-Z remain signals */
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw))
		return -errno;
	saved.entered = true;
	write_terminal(ALTERNATE);
	return 0;
}

void terminal_leave(void)
{
	if (!saved.entered)
		return;
	saved.entered = false;
	write_terminal(ORIGINAL);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &saved.before);
}

int terminal_key(const char *text, unsigned n, unsigned *used)
{
	static const struct {
		const char *text;
		int key;
	} keys[] = {
		{"\033[A", KEY_UP},
		{"\033OA", KEY_UP},
		{"\033[B", KEY_DOWN},
		{"\033OB", KEY_DOWN},
		{"\033[5~", KEY_PAGE_UP},
		{"\033[6~", KEY_PAGE_DOWN},
		{"\033[H", KEY_HOME},
		{"\033OH", KEY_HOME},
		{"\033[1~", KEY_HOME},
		{"\033[F", KEY_END},
		{"\033OF", KEY_END},
		{"\033[4~", KEY_END},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		*used = (unsigned)strlen(keys[i].text);
		if (n >= *used && strncmp(text, keys[i].text, *used) == 0)
			return keys[i].key;
	}
	*used = 1;
	if (text[0] != '\033')
		return (unsigned char)text[0];
	/* Skip the rest of an unsupported sequence. */
	while (*used < n && *used < 8 && text[*used] != '\033') {
		char c = text[(*used)++];

		if ((c >= 'A' && c <= 'Z' && c != 'O') || (c >= 'a' && c <= 'z') || c == '~')
			break;
	}
	return KEY_NONE;
}
