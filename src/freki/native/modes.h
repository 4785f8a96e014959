/* From the first byte to the last: which rules are for what, 13.2.6, and the head, 13.2.6.4.1 to 6. */
#ifndef FREKI_MODES_H
#define FREKI_MODES_H

#include "body.h"

static void page_start(struct page *page, const char *bytes, size_t length, struct found *found,
                       struct words words) {
  page->at = bytes;
  page->end = bytes + length;
  page->mode = INITIAL;
  page->quirks = QUIRKS;
  page->depth = page->listed = 0;
  page->numbered = page->form = 0;
  page->anchor.is_open = 0;
  memset(page->count, 0, sizeof page->count);
  page->words = words;
  page->is_behind_body = page->has_late_comment = 0;
  page->found = found;
}

static void open_html(struct page *page, const struct token *token) {
  push(page, tag_html);
  page->mode = BEFORE_HEAD;
  if (!token) return;
  page->found->lang = token->values[LANG];
  page->found->xml_lang = token->values[XML_LANG];
}

static void open_body(struct page *page) {
  if (page->mode < BEFORE_HEAD) open_html(page, NULL);
  push(page, tag_body);
  page->mode = IN_BODY;
}

/* --- doctype --- */

/* Which pages are in quirks mode is a list of sixty; these are the common ones that are not. */
static enum quirks quirks_of(const char *at, const char *end) {
  static const char xhtml[] = "-//W3C//DTD XHTML 1.", strict[] = "-//W3C//DTD HTML 4.01//EN";
  at = after_blanks(at, end);
  if (end - at < 4 || !is_same_name("html", at, 4)) return UNKNOWN_QUIRKS;
  at = after_blanks(at + 4, end);
  if (at == end) return NO_QUIRKS;
  if (end - at < 8 || !is_same_name("public", at, 6)) return UNKNOWN_QUIRKS;
  at = after_blanks(at + 6, end);
  if (at == end || (*at != '"' && *at != '\'')) return UNKNOWN_QUIRKS;
  const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));
  if (!close) return UNKNOWN_QUIRKS;
  size_t length = (size_t)(close - at - 1);
  int is_known = (length >= sizeof xhtml - 1 && is_same_name(xhtml, at + 1, sizeof xhtml - 1)) ||
                 (length == sizeof strict - 1 && is_same_name(strict, at + 1, length));
  if (!is_known) return UNKNOWN_QUIRKS;
  at = after_blanks(close + 1, end);
  if (at == end) return NO_QUIRKS;
  if (*at != '"' && *at != '\'') return UNKNOWN_QUIRKS;
  close = memchr(at + 1, *at, (size_t)(end - at - 1));
  return close && after_blanks(close + 1, end) == end ? NO_QUIRKS : UNKNOWN_QUIRKS;
}

static void doctype(struct page *page, const char *at, const char *behind) {
  if (page->mode != INITIAL) return;
  int is_whole = behind > at && behind[-1] == '>';
  page->quirks = is_whole ? quirks_of(at, behind - 1) : UNKNOWN_QUIRKS;
  page->mode = BEFORE_HTML;
}

/* --- the head --- */

/* 1 where a start tag is of the head, or before it. */
static int head_start(struct page *page, struct token *token) {
  enum tag tag = token->tag;
  if (page->mode <= BEFORE_HTML) {
    open_html(page, tag == tag_html ? token : NULL);
    if (tag == tag_html) return 1;
  }
  if (tag == tag_html || tag == tag_template || tag == tag_frameset) give_up(page);
  if (page->mode == BEFORE_HEAD) {
    page->mode = IN_HEAD;
    if (tag == tag_head) return 1;
  }
  if (page->mode == IN_HEAD_NOSCRIPT) {
    if (tag == tag_head || tag == tag_noscript) return 1;
    if (tag != tag_style && tag != tag_noframes &&
        (tags[tag].kind != HEAD_EMPTY || tag == tag_base))
      page->mode = IN_HEAD;
  }
  if (tags[tag].kind == HEAD_EMPTY) {
    found_telling(page, token);
    return 1;
  }
  if (tag == tag_title || tag == tag_style || tag == tag_script || tag == tag_noframes) {
    raw_element(page, token);
    return 1;
  }
  if (page->mode == IN_HEAD && tag == tag_head) return 1;
  if (page->mode == IN_HEAD && tag == tag_noscript) {
    page->mode = IN_HEAD_NOSCRIPT;
    return 1;
  }
  open_body(page);
  return tag == tag_body;
}

/* 1 where an end tag is of the head, or ignored there. */
static int head_end(struct page *page, const struct token *token) {
  enum tag tag = token->tag;
  if (page->mode == IN_HEAD_NOSCRIPT) {
    if (tag == tag_br) page->mode = IN_HEAD;
    else {
      if (tag == tag_noscript) page->mode = IN_HEAD;
      return 1;
    }
  }
  if (tag != tag_head && tag != tag_body && tag != tag_html && tag != tag_br) {
    if (page->mode == INITIAL) page->mode = BEFORE_HTML;
    return 1;
  }
  if (tag == tag_head && page->mode != AFTER_HEAD) {
    if (page->mode <= BEFORE_HTML) open_html(page, NULL);
    page->mode = AFTER_HEAD;
    return 1;
  }
  if (tag == tag_head) return 1;
  open_body(page);
  return 0;
}

/* --- which rules are for what --- */

static void start_tag(struct page *page, struct token *token) {
  if (token->tag == tag_noscript) page->found->has_noscript = 1;
  if (is_in_svg(page)) {
    svg_start(page, token);
    return;
  }
  if (page->mode < IN_BODY && head_start(page, token)) return;
  if (cell_ends(page, token)) {
    start_tag(page, token);
    return;
  }
  switch (page->mode) {
    case IN_TABLE: case IN_TABLE_BODY: case IN_ROW: table_start(page, token); return;
    case IN_COLUMNS: return;
    default: body_start(page, token);
  }
}

static void end_tag(struct page *page, struct token *token) {
  if (is_in_svg(page)) {
    svg_end(page, token);
    return;
  }
  if (page->mode < IN_BODY && head_end(page, token)) return;
  switch (page->mode) {
    case IN_TABLE: case IN_TABLE_BODY: case IN_ROW: table_end(page, token); return;
    case IN_COLUMNS: columns_end_tag(page, token); return;
    case IN_CAPTION: caption_end_tag(page, token, body_end); return;
    case IN_CELL: cell_end_tag(page, token, body_end); return;
    default: body_end(page, token);
  }
}

static int is_all_blank(const char *at, const char *end) {
  return after_blanks(at, end) == end;
}

static void characters(struct page *page, const char *at, const char *end, int has_references) {
  if (page->mode < IN_BODY) {
    if (is_all_blank(at, end)) return;
    if (*after_blanks(at, end) == '&') give_up(page); /* it may be a blank */
    open_body(page);
  }
  if (page->mode == IN_TABLE || page->mode == IN_TABLE_BODY || page->mode == IN_ROW ||
      page->mode == IN_COLUMNS) {
    if (!is_in_svg(page) && !is_all_blank(at, end)) give_up(page);
  } else if (!is_in_svg(page)) {
    reconstruct(page);
  }
  if (page->anchor.is_open && page->anchor.is_kept)
    text_add(&page->text, at, end, 0, has_references);
  if (!page->words.is_wanted || (is_in_svg(page) && top(page)->tag == tag_title)) return;
  if (page->has_late_comment && !is_all_blank(at, end)) give_up(page);
  add_words(page, at, end, has_references);
}

/* One that comes behind the body stands behind it, and text that follows is in the body. */
static void comment(struct page *page, const char *behind) {
  page->at = behind;
  if (page->is_behind_body) page->has_late_comment = 1;
  else text_ended(page);
}

static void declaration(struct page *page) {
  const char *at = page->at, *end = page->end;
  size_t left = (size_t)(end - at);
  if (left >= 4 && memcmp(at, "<!--", 4) == 0) {
    comment(page, after_comment(at + 4, end));
  } else if (left >= 9 && is_same_name("doctype", at + 2, 7)) {
    page->at = after_mark(at + 9, end);
    doctype(page, at + 9, page->at);
  } else if (left >= 9 && is_in_svg(page) && memcmp(at, "<![CDATA[", 9) == 0) {
    const char *close = at + 9;
    while (close < end && !(end - close >= 3 && memcmp(close, "]]>", 3) == 0)) close++;
    characters(page, at + 9, close, 0);
    page->at = close == end ? end : close + 3;
  } else {
    comment(page, after_mark(at + 2, end));
  }
}

/* Takes in the markup at `page->at`, a "<"; 0 where it is one that is text. */
static int markup(struct page *page) {
  const char *at = page->at, *end = page->end;
  unsigned char next = at + 1 < end ? (unsigned char)at[1] : 0;
  struct token token;
  if (is_letter(next)) {
    const char *behind = read_tag(at + 1, end, &token);
    page->at = behind ? behind : end;
    if (behind) start_tag(page, &token);
  } else if (next == '/') {
    unsigned char first = at + 2 < end ? (unsigned char)at[2] : 0;
    if (at + 2 == end) return 0;
    if (!is_letter(first)) {
      if (first == '>') page->at += 3;
      else comment(page, after_mark(at + 2, end));
      return 1;
    }
    const char *behind = read_tag(at + 2, end, &token);
    page->at = behind ? behind : end;
    if (behind) end_tag(page, &token);
  } else if (next == '!') {
    declaration(page);
  } else if (next == '?') {
    comment(page, after_mark(at + 2, end));
  } else {
    return 0;
  }
  return 1;
}

static void read_page(struct page *page) {
  if (page->end - page->at >= 3 && memcmp(page->at, "\xEF\xBB\xBF", 3) == 0) page->at += 3;
  while (page->at < page->end) {
    if (*page->at == '<' && markup(page)) continue;
    const char *start = page->at;
    const char *mark = memchr(start + 1, '<', (size_t)(page->end - start - 1));
    page->at = mark ? mark : page->end;
    characters(page, start, page->at, 1);
  }
  if (page->anchor.is_open) anchor_closed(page);
  if (!page->words.is_wanted) put_rest(page, &page->found->names);
}

#endif
