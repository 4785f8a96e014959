/* Text as the tree holds it: references resolved, ends of lines all alike; and on one line, cut. */
#ifndef FREKI_TEXT_H
#define FREKI_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "references.h" /* made when this is compiled: the table of named ones */

/* Text is read until it is this many times as long as what is kept of it, for markup is indented. */
#define INDENTED 8
#define MAX_TITLE 1000
#define ROOM (INDENTED * MAX_TITLE * 4 + 16)

/* The beginning of a text, as it is written. */
struct text {
  size_t length, characters, limit; /* bytes held, characters there are, characters that are held */
  int was_return, is_broken;        /* the last was a carriage return; this is not UTF-8 */
  char bytes[ROOM];
};

/* What ends a name or a value in a tag; what is white space; what text is not simply copied. */
enum { BLANK = 1, SLASH = 2, CLOSE = 4, EQUALS = 8, UNEVEN = 16 };

static const uint8_t classes[256] = {
  ['\t'] = BLANK, ['\n'] = BLANK | UNEVEN, ['\f'] = BLANK, ['\r'] = BLANK | UNEVEN, [' '] = BLANK,
  ['/'] = SLASH, ['>'] = CLOSE, ['='] = EQUALS, ['&'] = UNEVEN, [0x80 ... 0xFF] = UNEVEN,
};

static inline int is_blank(unsigned char byte) {
  return classes[byte] & BLANK;
}

static inline int is_letter(unsigned char byte) {
  return (unsigned char)((byte | 32) - 'a') < 26;
}

static inline int is_digit(unsigned char byte) {
  return (unsigned char)(byte - '0') < 10;
}

/* How many bytes the character at `at` takes; 0 where there is none by the rules of UTF-8. */
static size_t character_at(const char *at, const char *end) {
  const unsigned char *byte = (const unsigned char *)at;
  size_t left = (size_t)(end - at);
  if (byte[0] < 0x80) return 1;
  if (byte[0] < 0xC2 || byte[0] > 0xF4) return 0;
  size_t length = byte[0] < 0xE0 ? 2 : byte[0] < 0xF0 ? 3 : 4;
  if (left < length) return 0;
  unsigned char least = byte[0] == 0xE0 ? 0xA0 : byte[0] == 0xF0 ? 0x90 : 0x80;
  unsigned char most = byte[0] == 0xED ? 0x9F : byte[0] == 0xF4 ? 0x8F : 0xBF;
  if (byte[1] < least || byte[1] > most) return 0;
  for (size_t k = 2; k < length; k++)
    if ((byte[k] & 0xC0) != 0x80) return 0;
  return length;
}

static size_t put_utf8(uint32_t character, char *to) {
  unsigned char *byte = (unsigned char *)to;
  if (character < 0x80) return byte[0] = (unsigned char)character, 1;
  if (character < 0x800) {
    byte[0] = (unsigned char)(0xC0 | character >> 6);
    byte[1] = (unsigned char)(0x80 | (character & 63));
    return 2;
  }
  if (character < 0x10000) {
    byte[0] = (unsigned char)(0xE0 | character >> 12);
    byte[1] = (unsigned char)(0x80 | (character >> 6 & 63));
    byte[2] = (unsigned char)(0x80 | (character & 63));
    return 3;
  }
  byte[0] = (unsigned char)(0xF0 | character >> 18);
  byte[1] = (unsigned char)(0x80 | (character >> 12 & 63));
  byte[2] = (unsigned char)(0x80 | (character >> 6 & 63));
  byte[3] = (unsigned char)(0x80 | (character & 63));
  return 4;
}

/* WHATWG HTML 13.2.5.80, "numeric character reference end state": what 0x80 to 0x9F mean. */
static const uint16_t windows_1252[32] = {
  0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
  0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
  0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178,
};

static size_t numeric_reference(const char *at, const char *end, char *to, size_t *made) {
  const char *digit = at + 2;
  uint32_t base = 10, number = 0;
  if (digit < end && (*digit | 32) == 'x') base = 16, digit++;
  const char *first = digit;
  for (; digit < end; digit++) {
    unsigned char byte = (unsigned char)*digit, lower = byte | 32;
    uint32_t value;
    if (is_digit(byte)) value = byte - '0';
    else if (base == 16 && lower >= 'a' && lower <= 'f') value = lower - 'a' + 10u;
    else break;
    if (number <= 0x10FFFF) number = number * base + value;
  }
  if (digit == first) return 0;
  if (number == 0 || number > 0x10FFFF || (number >= 0xD800 && number <= 0xDFFF)) number = 0xFFFD;
  if (number >= 0x80 && number <= 0x9F) number = windows_1252[number - 0x80];
  *made = put_utf8(number, to);
  return (size_t)(digit - at) + (digit < end && *digit == ';');
}

static const struct reference *named(const char *name, size_t length) {
  size_t low = 0, high = sizeof references / sizeof *references;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const struct reference *entry = &references[middle];
    size_t common = entry->length < length ? entry->length : length;
    int order = memcmp(entry->name, name, common);
    if (order == 0 && entry->length == length) return entry;
    if (order < 0 || (order == 0 && entry->length < length)) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

/* The character that `&...` at `at` stands for, and how many bytes it takes; 0 where it is none. */
static size_t reference_at(const char *at, const char *end, int in_attribute, char *to,
                           size_t *made) {
  const char *name = at + 1;
  if (name < end && *name == '#') return numeric_reference(at, end, to, made);
  size_t length = 0;
  while (name + length < end && length < LONGEST_REFERENCE &&
         (is_letter((unsigned char)name[length]) || is_digit((unsigned char)name[length])))
    length++;
  if (name + length < end && name[length] == ';') length++;
  for (; length >= 2; length--) {
    const struct reference *found = named(name, length);
    if (!found) continue;
    if (in_attribute && name[length - 1] != ';' && name + length < end) {
      unsigned char next = (unsigned char)name[length];
      if (next == '=' || is_letter(next) || is_digit(next)) return 0;
    }
    *made = strlen(found->value);
    memcpy(to, found->value, *made);
    return length + 1;
  }
  return 0;
}

static void text_start(struct text *text, size_t kept) {
  text->length = text->characters = 0;
  text->limit = kept * INDENTED;
  text->was_return = text->is_broken = 0;
}

static inline void text_put(struct text *text, const char *bytes, size_t length) {
  if (text->characters++ >= text->limit) return;
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
}

/* Adds text as it stands in the page. */
static void text_add(struct text *text, const char *at, const char *end, int in_attribute,
                     int has_references) {
  while (at < end) {
    unsigned char byte = (unsigned char)*at;
    if (!(classes[byte] & UNEVEN) && !text->was_return) {
      if (text->characters++ < text->limit) text->bytes[text->length++] = *at;
      at++;
      continue;
    }
    if (byte == '\n' && text->was_return) {
      text->was_return = 0, at++;
      continue;
    }
    text->was_return = 0;
    if (byte == '&' && has_references) {
      char made[8];
      size_t length = 0, read = reference_at(at, end, in_attribute, made, &length);
      for (size_t k = 0; k < length && read;) {
        size_t one = character_at(made + k, made + length);
        text_put(text, made + k, one);
        k += one;
      }
      if (read) {
        at += read;
        continue;
      }
    }
    if (byte == '\r') {
      text->was_return = 1;
      text_put(text, "\n", 1), at++;
      continue;
    }
    size_t length = character_at(at, end);
    if (length == 0) text->is_broken = 1, length = 1;
    text_put(text, at, length);
    at += length;
  }
}

/* How many bytes of white space are at `at`, by the rules of Python's `str.split`. */
static size_t white_at(const char *at, const char *end) {
  unsigned char byte = (unsigned char)*at;
  if (byte <= ' ') return byte == ' ' || (byte >= 9 && byte <= 13) || (byte >= 28 && byte <= 31);
  if (byte < 0xC2) return 0;
  size_t left = (size_t)(end - at);
  unsigned char second = left > 1 ? (unsigned char)at[1] : 0;
  unsigned char third = left > 2 ? (unsigned char)at[2] : 0;
  if (byte == 0xC2) return second == 0x85 || second == 0xA0 ? 2 : 0;
  if (byte == 0xE1) return second == 0x9A && third == 0x80 ? 3 : 0;
  if (byte == 0xE3) return second == 0x80 && third == 0x80 ? 3 : 0;
  if (byte != 0xE2) return 0;
  if (second == 0x80) return (third >= 0x80 && third <= 0x8A) || third == 0xA8 || third == 0xA9 ||
                             third == 0xAF ? 3 : 0;
  return second == 0x81 && third == 0x9F ? 3 : 0;
}

/* `links.collapsed`: words on one line, cut at `kept` characters. Gives the bytes it wrote. */
static size_t text_collapse(struct text *text, size_t kept, char *to) {
  const char *at = text->bytes, *end = at + text->length;
  char *start = to;
  size_t characters = 0;
  int is_apart = 0;
  while (at < end && characters < kept) {
    size_t white = white_at(at, end);
    if (white) {
      is_apart = to > start;
      at += white;
      continue;
    }
    if (is_apart) {
      *to++ = ' ', is_apart = 0;
      if (++characters == kept) break;
    }
    size_t length = character_at(at, end);
    memcpy(to, at, length);
    to += length, at += length, characters++;
  }
  while (to > start && to[-1] == ' ') to--;
  return (size_t)(to - start);
}

#endif
