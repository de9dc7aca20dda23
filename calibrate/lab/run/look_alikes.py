"""Names that a reader cannot tell apart: the same letters of other alphabets, capitals, accents or blanks."""

from __future__ import annotations

import unicodedata

_ALPHABETS = (
    "aɑαаᎪᗅꓮ bƅβвьᏏᏴᑲᖯᗷꓐꞵ cсᏟᴄⲥꓚ dԁᎠᏧᑯᗞᗪꓒꓓ eεеҽᎬⴹꓰꬲ fϝքᖴẝꓝꞙꬵ gƍɡԍցᏀᏳᶃꓖ hηнһհᎻᏂᕼⲏꓧ iıɪᎥꙇ jʝϳјᎫᒍꓙ kκкᏦᛕⲕꓗ "
    "lǀɩιіӏ۱Ꮮᒪᛁⲓⳑⵏꓡꓲ mμϻмᎷᗰᛖⲙꓟ nոռⲛꓠ oοσоօ۵०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿዐᴏᴑⲟⵔ〇ꓳꬽ pρрᏢᑭⲣꓑ qԛգզⵕ rʀгᎡᎱᏒᖇᴦⲅꓣꭇꭈ sƽѕտᏕᏚꓢꜱ "
    "tτтᎢⲧꓔ uʋυսሀᑌᴜꓴꞟꭎꭒ vνѵ۷Ꮩᐯᴠⴸꓦꛟ wɯѡԝաᎳᏔᴡꓪ xχхᕁᕽᚷⲭⵝꓫꭓ yɣʏγуүყᎩᎽᶌỿⲩꓬꭚ zζᏃᴢꓜ"
)
"""Each Latin letter with those that look like it (Unicode Technical Standard 39, confusables; one of each letter)."""
_LATIN = {ord(other): letters[0] for letters in _ALPHABETS.split() for other in letters[1:]}
_SHAPES = str.maketrans({"I": "l", "1": "l", "|": "l", "0": "o"})
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters that show nothing."""


def looks(name: str) -> str:
    """What a reader sees of a name: two names with the same looks are easily taken for each other.

    >>> looks("Ann") == looks("\\u0410nn") == looks("A n n") == looks("ÀNN"), looks("Ann") == looks("Anna")
    (True, False)
    """
    parts = unicodedata.normalize("NFKD", name)
    letters = "".join(c for c in parts if not unicodedata.combining(c) and not c.isspace() and c not in _BLANK)
    latin = letters.translate(_SHAPES).casefold().translate(_LATIN)
    return latin.replace("rn", "m").replace("vv", "w")
