/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Variables of a test case that are freed when their scope ends, in the reverse of their order.
 * After a failed assertion they are not freed.
 */
#ifndef WEIR_TEST_SCOPE_H
#define WEIR_TEST_SCOPE_H

#include <stdlib.h>

/* Calls a function with the address of the variable. */
#define ENDED_BY(function) __attribute__((cleanup(function)))

/* Defines function_at() for ENDED_BY(), from a function that takes the value of a pointer. */
#define END_POINTER(function, type)                     \
	static inline void function##_at(type *pointer) \
	{                                               \
		function(*pointer);                     \
	}

/* Frees the memory that a pointer variable has; takes the address of the variable. */
static inline void free_at(void *pointer)
{
	free(*(void **)pointer);
}

#endif
