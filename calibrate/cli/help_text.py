"""Help texts as written in the source, made ready for a terminal of any width."""

from __future__ import annotations


def folded(text: str) -> str:
    """Join the lines of each paragraph, so that the terminal wraps them; paragraphs after ``\\b`` stay as they are.

    Square brackets are escaped where they would be read as markup.
    """
    paragraphs = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph.startswith("\b"):
            paragraphs.append(paragraph)
        else:
            paragraphs.append(" ".join(paragraph.split()))
    return "\n\n".join(paragraphs)
