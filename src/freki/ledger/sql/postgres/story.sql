-- Twins for the story of one URL.

-- name: links_of_pages
SELECT page.url, page.links FROM host JOIN url ON url.host = host.id JOIN page ON page.url = url.id
WHERE page.links IS NOT NULL
  AND host.crawl IN (SELECT value::bigint FROM json_array_elements_text(?::json));
