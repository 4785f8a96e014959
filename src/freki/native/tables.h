/* The rules of tables: WHATWG HTML 13.2.6.4.9 to 15. What a table cannot hold would be moved before
 * it, and the page is given up. */
#ifndef FREKI_TABLES_H
#define FREKI_TABLES_H

#include "told.h"

static void start_tag(struct page *page, struct token *token);
static void end_tag(struct page *page, struct token *token);

static void clear_to(struct page *page, enum tag one, enum tag two, enum tag three) {
  for (enum tag tag; (tag = top(page)->tag) != one && tag != two && tag != three;) pop(page);
}

static void clear_to_table(struct page *page) {
  clear_to(page, tag_table, tag_table, tag_table);
}

static void close_cell(struct page *page) {
  close_implied(page, tag_unknown);
  clear_to(page, tag_td, tag_th, tag_th);
  pop(page);
  clear_to_mark(page);
  page->mode = IN_ROW;
}

static void close_caption(struct page *page) {
  close_implied(page, tag_unknown);
  pop_until(page, tag_caption);
  clear_to_mark(page);
  page->mode = IN_TABLE;
}

static void close_section(struct page *page) {
  clear_to(page, tag_tbody, tag_thead, tag_tfoot);
  pop(page);
  page->mode = IN_TABLE;
}

static void close_row(struct page *page) {
  clear_to(page, tag_tr, tag_tr, tag_tr);
  pop(page);
  page->mode = IN_TABLE_BODY;
}

/* Opens what a cell or row needs around it, and the cell, row or section itself. */
static void table_part(struct page *page, enum tag tag) {
  if (tag == tag_caption || tag == tag_colgroup || tag == tag_col) {
    clear_to_table(page);
    if (tag == tag_caption) mark(page);
    push(page, tag == tag_caption ? tag_caption : tag_colgroup);
    page->mode = tag == tag_caption ? IN_CAPTION : IN_COLUMNS;
    return;
  }
  int is_section = tag == tag_tbody || tag == tag_thead || tag == tag_tfoot;
  int is_cell = tag == tag_td || tag == tag_th;
  if (page->mode == IN_TABLE) {
    clear_to_table(page);
    push(page, is_section ? tag : tag_tbody);
    page->mode = IN_TABLE_BODY;
    if (is_section) return;
  }
  if (page->mode == IN_TABLE_BODY) {
    clear_to(page, tag_tbody, tag_thead, tag_tfoot);
    push(page, tag_tr);
    page->mode = IN_ROW;
    if (!is_cell) return;
  }
  clear_to(page, tag_tr, tag_tr, tag_tr);
  push(page, tag);
  mark(page);
  page->mode = IN_CELL;
}

static void table_start(struct page *page, struct token *token) {
  enum tag tag = token->tag;
  int is_section = tag == tag_tbody || tag == tag_thead || tag == tag_tfoot;
  int is_cell = tag == tag_td || tag == tag_th;
  int is_frame = tag == tag_caption || tag == tag_col || tag == tag_colgroup || is_section;
  if (page->mode == IN_ROW && (is_frame || tag == tag_tr)) close_row(page);
  if (page->mode == IN_TABLE_BODY && is_frame) close_section(page);
  if (is_frame || is_cell || tag == tag_tr) {
    table_part(page, tag);
    return;
  }
  switch (tag) {
    case tag_style: case tag_script: raw_element(page, token); return;
    case tag_input:
      if (!is_word(token->values[TYPE], "hidden")) give_up(page);
      text_ended(page);
      return;
    case tag_form:
      if (!page->form) page->form = ++page->numbered, text_ended(page);
      return;
    case tag_table:
      pop_until(page, tag_table);
      reset_mode(page);
      start_tag(page, token);
      return;
    default: give_up(page); /* it would stand before the table */
  }
}

static void table_end(struct page *page, struct token *token) {
  enum tag tag = token->tag;
  int is_section = tag == tag_tbody || tag == tag_thead || tag == tag_tfoot;
  if (tag == tag_tr && page->mode == IN_ROW) {
    close_row(page);
  } else if (is_section && page->mode != IN_TABLE) {
    if (!in_table_scope(page, tag)) return;
    if (page->mode == IN_ROW) close_row(page);
    close_section(page);
  } else if (tag == tag_table) {
    if (page->mode == IN_ROW) close_row(page);
    if (page->mode == IN_TABLE_BODY) close_section(page);
    pop_until(page, tag_table);
    reset_mode(page);
  } else if (tags[tag].kind != PART && tag != tag_body && tag != tag_html) {
    give_up(page); /* it would work before the table */
  }
}

static int is_inside_table(const struct token *token) {
  return tags[token->tag].kind == PART;
}

/* 1 where a start tag ends a cell, a caption or a group of columns, and is not taken in yet. */
static int cell_ends(struct page *page, const struct token *token) {
  if (page->mode == IN_CELL && is_inside_table(token)) close_cell(page);
  else if (page->mode == IN_CAPTION && is_inside_table(token)) close_caption(page);
  else if (page->mode == IN_COLUMNS && token->tag != tag_col) pop(page), page->mode = IN_TABLE;
  else return 0;
  return 1;
}

static void cell_end_tag(struct page *page, struct token *token, void (*in_body)(struct page *, const struct token *)) {
  enum tag tag = token->tag;
  switch (tag) {
    case tag_td: case tag_th:
      if (!in_table_scope(page, tag)) return;
      close_implied(page, tag_unknown);
      pop_until(page, tag);
      clear_to_mark(page);
      page->mode = IN_ROW;
      return;
    case tag_body: case tag_caption: case tag_col: case tag_colgroup: case tag_html: return;
    case tag_table: case tag_tbody: case tag_tfoot: case tag_thead: case tag_tr:
      if (!in_table_scope(page, tag)) return;
      close_cell(page);
      end_tag(page, token);
      return;
    default: in_body(page, token);
  }
}

static void caption_end_tag(struct page *page, struct token *token, void (*in_body)(struct page *, const struct token *)) {
  enum tag tag = token->tag;
  if (tag == tag_caption) {
    close_caption(page);
  } else if (tag == tag_table) {
    close_caption(page);
    end_tag(page, token);
  } else if (tags[tag].kind != PART && tag != tag_body && tag != tag_html) {
    in_body(page, token);
  }
}

static void columns_end_tag(struct page *page, struct token *token) {
  if (token->tag == tag_col) return;
  pop(page);
  page->mode = IN_TABLE;
  if (token->tag != tag_colgroup) end_tag(page, token);
}

#endif
