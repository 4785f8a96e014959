/* Tags, comments and raw text: the tokenizer of WHATWG HTML 13.2.5, as far as a reader needs it. */
#ifndef FREKI_TOKENS_H
#define FREKI_TOKENS_H

#include "names.h"
#include "text.h"

enum attribute {
  HREF, REL, TITLE, ALT, SRC, CONTENT, NAME, HTTP_EQUIV, LANG, XML_LANG, TYPE,
  XLINK_HREF, ATTRIBUTES
};

/* The value of an attribute as it stands in the page; `at` is NULL where there is none. */
struct value {
  const char *at, *end;
};

struct token {
  enum tag tag;
  const char *name;
  size_t length;
  int is_end, closes_itself;
  struct value values[ATTRIBUTES];
};

static int attribute_of(const char *name, size_t length) {
  static const char known[ATTRIBUTES][12] = {
    "href", "rel", "title", "alt", "src", "content", "name", "http-equiv", "lang", "xml:lang",
    "type", "xlink:href",
  };
  static const uint8_t lengths[ATTRIBUTES] = {4, 3, 5, 3, 3, 7, 4, 10, 4, 8, 4, 10};
  for (int k = 0; k < ATTRIBUTES; k++)
    if (lengths[k] == length && known[k][0] == (*name | 32) && is_same_name(known[k], name, length))
      return k;
  return -1;
}

static const char *after_blanks(const char *at, const char *end) {
  while (at < end && is_blank((unsigned char)*at)) at++;
  return at;
}

static inline const char *up_to(const char *at, const char *end, int stops) {
  while (at < end && !(classes[(unsigned char)*at] & stops)) at++;
  return at;
}

/* The value behind "=", and where it ends. */
static inline const char *read_value(const char *at, const char *end, struct value *value) {
  at = after_blanks(at, end);
  if (at == end) return end;
  if (*at == '"' || *at == '\'') {
    const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));
    value->at = at + 1;
    value->end = close ? close : end;
    return close ? close + 1 : end;
  }
  value->at = at;
  return value->end = up_to(at, end, BLANK | CLOSE);
}

/* Reads attributes up to and with ">"; NULL where the page ends before. */
static const char *read_attributes(const char *at, const char *end, struct token *token) {
  int is_wanted = tags[token->tag].flags & READ;
  int is_slash = 0; /* right before ">", and no part of a value */
  for (;; is_slash = 0) {
    for (; at < end && (classes[(unsigned char)*at] & (BLANK | SLASH)); at++) is_slash = *at == '/';
    if (at == end) return NULL;
    if (*at == '>') break;
    const char *name = at++; /* which may begin with "=" */
    at = up_to(at, end, BLANK | SLASH | CLOSE | EQUALS);
    size_t length = (size_t)(at - name);
    struct value value = {at, at};
    at = after_blanks(at, end);
    if (at < end && *at == '=') at = read_value(at + 1, end, &value);
    if (!is_wanted) continue;
    int which = attribute_of(name, length);
    if (which >= 0 && !token->values[which].at) token->values[which] = value;
  }
  token->closes_itself = is_slash;
  return at + 1;
}

/* Reads the tag whose name is at `at`; NULL where the page ends before it does. */
static const char *read_tag(const char *at, const char *end, struct token *token) {
  const char *name = at;
  at = up_to(at, end, BLANK | SLASH | CLOSE);
  size_t length = (size_t)(at - name);
  token->tag = tag_of(name, length);
  token->name = name;
  token->length = length;
  token->closes_itself = 0;
  if (tags[token->tag].flags & READ) memset(token->values, 0, sizeof token->values);
  if (at < end && *at == '>') return at + 1;
  return at == end ? NULL : read_attributes(at, end, token);
}

/* Behind the comment whose "<!--" ends at `at`. */
static const char *after_comment(const char *at, const char *end) {
  if (at < end && *at == '>') return at + 1;
  if (end - at >= 2 && at[0] == '-' && at[1] == '>') return at + 2;
  while ((at = memchr(at, '-', (size_t)(end - at)))) {
    if (end - at >= 3 && at[1] == '-') {
      if (at[2] == '>') return at + 3;
      if (end - at >= 4 && at[2] == '!' && at[3] == '>') return at + 4;
    }
    at++;
  }
  return end;
}

static const char *after_mark(const char *at, const char *end) {
  const char *mark = memchr(at, '>', (size_t)(end - at));
  return mark ? mark + 1 : end;
}

static int is_end_of(const char *name, size_t length, const char *at, const char *end) {
  if ((size_t)(end - at) <= length || !is_same_name(name, at, length)) return 0;
  return at[length] == '>' || at[length] == '/' || is_blank((unsigned char)at[length]);
}

/* Where the raw text of an element ends: at the "<" of its end tag, or with the page. */
static const char *raw_end(const struct token *token, const char *at, const char *end) {
  for (const char *mark; (mark = memchr(at, '<', (size_t)(end - at))); at = mark + 1)
    if (mark + 2 < end && mark[1] == '/' && is_end_of(token->name, token->length, mark + 2, end))
      return mark;
  return end;
}

/* The same for a script, where a comment may hold a script of its own (13.2.5.17 to .31). */
static const char *script_end(const char *at, const char *end) {
  enum { PLAIN, ESCAPED, DOUBLE } state = PLAIN;
  while (at < end) {
    unsigned char byte = (unsigned char)*at;
    if (byte == '-' && state != PLAIN) {
      if (end - at >= 3 && at[1] == '-' && at[2] == '>') state = PLAIN, at += 3;
      else at++;
      continue;
    }
    if (byte != '<') {
      const char *mark = state == PLAIN ? memchr(at, '<', (size_t)(end - at)) : at + 1;
      at = mark ? mark : end;
      continue;
    }
    if (state == PLAIN && end - at >= 4 && memcmp(at, "<!--", 4) == 0) {
      state = ESCAPED, at += 2; /* its dashes may be those of "-->" */
      continue;
    }
    int is_closing = at + 1 < end && at[1] == '/';
    if (is_end_of("script", 6, at + 1 + is_closing, end)) {
      if (is_closing && state != DOUBLE) return at;
      if (is_closing) state = ESCAPED;
      else if (state == ESCAPED) state = DOUBLE;
    }
    at++;
  }
  return end;
}

#endif
