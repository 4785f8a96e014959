-- Which rows of a list come first, where it is not the order of discovery: their numbers alone, so that
-- only those that are shown are read whole. `place` is what is sorted by, what has none comes last;
-- `up` and `down` are the address, where that is what is sorted by, one way or the other, in the order
-- of its bytes: a server sorts by the words of its country else.

-- name: pages
SELECT id, place FROM (
    SELECT page.url AS id,
        coalesce(CASE :sort WHEN 'status' THEN page.status WHEN 'size' THEN page.bytes
            WHEN 'time' THEN json_extract(page.timings, '$[4]')
            WHEN 'depth' THEN url.depth ELSE 0 END * :sign, 1e300) AS place,
        CASE WHEN :sort = 'url' AND :sign > 0 THEN host.origin || url.path ELSE '' END COLLATE BINARY AS up,
        CASE WHEN :sort = 'url' AND :sign < 0 THEN host.origin || url.path ELSE '' END COLLATE BINARY AS down
    FROM page CROSS JOIN url ON url.id = page.url CROSS JOIN host ON host.id = url.host
    WHERE host.crawl = :crawl
      AND (url.reason IN (1, 3) OR url.reason = 2 AND :redirects)
      AND (:status IS NULL OR page.status BETWEEN :status AND :status_to)
      AND (:origin IS NULL OR host.origin = :origin)
      AND (:content_type IS NULL OR page.content_type LIKE :content_type || '%')
      AND (:url IS NULL OR host.origin || url.path = :url)
      AND (:text IS NULL OR instr(lower(host.origin || url.path), lower(:text)) > 0
        OR instr(lower(page.title), lower(:text)) > 0
        OR page.id IN (SELECT value FROM json_each(:among)))) AS found
WHERE :from_place IS NULL OR place > :from_place OR place = :from_place AND (
    up > :from_up OR up = :from_up AND (
        down < :from_down OR down = :from_down AND id > :after))
ORDER BY place, up, down DESC, id LIMIT :limit;

-- What is done has an answer, and nothing else has: read beside each other, not one by one.
-- name: urls
SELECT id, place FROM (
    SELECT url.id AS id,
        coalesce(CASE :sort WHEN 'status' THEN page.status WHEN 'depth' THEN url.depth ELSE 0 END
            * :sign, 1e300) AS place,
        CASE WHEN :sort = 'url' AND :sign > 0 THEN host.origin || url.path ELSE '' END COLLATE BINARY AS up,
        CASE WHEN :sort = 'url' AND :sign < 0 THEN host.origin || url.path ELSE '' END COLLATE BINARY AS down
    FROM page CROSS JOIN url ON url.id = page.url CROSS JOIN host ON host.id = url.host
    WHERE host.crawl = :crawl
      AND (:state IS NULL OR url.state = :state)
      AND (:reason IS NULL OR url.reason = :reason)
      AND (:status IS NULL OR page.status BETWEEN :status AND :status_to)
      AND (:origin IS NULL OR host.origin = :origin)
      AND (:depth IS NULL OR url.depth = :depth)
      AND (:message IS NULL OR coalesce(url.detail, '')
        LIKE CASE WHEN url.state = 2 THEN :message ELSE :alike END ESCAPE '!')
      AND (:text IS NULL OR instr(lower(host.origin || url.path), lower(:text)) > 0
        OR instr(lower(page.title), lower(:text)) > 0
        OR page.id IN (SELECT value FROM json_each(:among)))
    UNION ALL
    SELECT url.id,
        CASE :sort WHEN 'status' THEN 1e300 WHEN 'depth' THEN url.depth * :sign ELSE 0 END,
        CASE WHEN :sort = 'url' AND :sign > 0 THEN host.origin || url.path ELSE '' END COLLATE BINARY,
        CASE WHEN :sort = 'url' AND :sign < 0 THEN host.origin || url.path ELSE '' END COLLATE BINARY
    FROM url CROSS JOIN host ON host.id = url.host
    WHERE host.crawl = :crawl AND url.state <> 2 AND :status IS NULL
      AND (:state IS NULL OR url.state = :state)
      AND (:reason IS NULL OR url.reason = :reason)
      AND (:origin IS NULL OR host.origin = :origin)
      AND (:depth IS NULL OR url.depth = :depth)
      AND (:message IS NULL OR coalesce(url.detail, '')
        LIKE CASE WHEN url.state = 2 THEN :message ELSE :alike END ESCAPE '!')
      AND (:text IS NULL OR instr(lower(host.origin || url.path), lower(:text)) > 0)) AS found
WHERE :from_place IS NULL OR place > :from_place OR place = :from_place AND (
    up > :from_up OR up = :from_up AND (
        down < :from_down OR down = :from_down AND id > :after))
ORDER BY place, up, down DESC, id LIMIT :limit;
