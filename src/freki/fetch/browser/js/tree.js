// The tree as it stands, as HTML, with its doctype.
(most) => {
  const kind = document.doctype;
  const head = kind ? `<!doctype ${kind.name}>` : "";
  return head + (document.documentElement ? document.documentElement.outerHTML.slice(0, most) : "");
}
