"""Text as it is kept: on one line."""


def collapsed(text: str, limit: int) -> str:
    """Text on one line, cut at `limit` characters."""
    if len(text) > limit:
        text = text[: 8 * limit]  # markup is indented; who pads more than that is hostile
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit].rstrip()
