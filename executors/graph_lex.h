/* The smallest pieces of a graph's text. */
#ifndef DUET_GRAPH_LEX_H
#define DUET_GRAPH_LEX_H

#include "dtype.h"

#include <stddef.h>

/* Reads a number at *at, which it passes, as one that the dtype has; it is told exactly or not at
 * all. NULL, or in words what was expected. */
const char *duet_lex_number(void *to, duet_dtype dtype, const char **at);

/* Reads a text in quotes, as it is printed, behind which *at is then; *text is the caller's to
 * free, and NULL where there was no memory. NULL, or in words what was expected at *at. */
const char *duet_lex_quoted(char **text, const char **at);

/* How many bytes stand before the blank, the , or the } that ends an attribute's value, brackets
 * respected. */
size_t duet_lex_bare(const char *at);

/* What came instead, for messages: in quotes what stands before any of `ends`, at most `room`
 * bytes, or the end of the line or text. Valid until the thread's next call. */
const char *duet_lex_shown(const char *at, const char *ends, size_t room);

#endif
