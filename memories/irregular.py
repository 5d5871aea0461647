"""English words whose base form no stemmer can compute. No Django in here."""

from __future__ import annotations

import re

# Left out are forms that mean something else at least as often: bit, bound, leaves, led,
# lent, lit, lives, rose; and the forms of be, do and have, which are stop words.
_FORMS = """
arise arose arisen; beat beaten; become became; begin began begun; bend bent; bite bitten;
bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built;
burn burnt; buy bought; catch caught; child children; choose chose chosen; cling clung;
come came; creep crept; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk;
drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought;
find found; flee fled; fly flew flown; foot feet; forbid forbade forbidden;
forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten;
give gave given; go went gone; goose geese; grow grew grown; half halves; hang hung;
hear heard; hide hid hidden; hold held; keep kept; kneel knelt; knife knives; know knew known;
lay laid; leap leapt; learn learnt; leave left; loaf loaves; lose lost; make made; man men;
mean meant; meet met; mistake mistook mistaken; mouse mice; overcome overcame; pay paid;
person people; ride rode ridden; ring rang rung; rise risen; run ran; say said; see saw seen;
seek sought; sell sold; send sent; shake shook shaken; shelf shelves; shine shone; shoot shot;
show shown; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid;
speak spoke spoken; spend spent; spin spun; stand stood; steal stole stolen; stick stuck;
sting stung; strike struck stricken; swear swore sworn; sweep swept; swim swam swum;
swing swung; take took taken; teach taught; tear tore torn; tell told; think thought;
throw threw thrown; tooth teeth; undergo underwent undergone; understand understood;
undertake undertook undertaken; uphold upheld; wake woke woken; wear wore worn;
weave wove woven; weep wept; wife wives; win won; withdraw withdrew withdrawn;
wolf wolves; woman women; write wrote written
"""
BASES = {form: base for base, *forms in map(str.split, _FORMS.split(";")) for form in forms}
_WORD = re.compile(r"(?<!\w)[A-Za-z]{3,}+(?!\w)")


def regular(text: str) -> str:
    """The text with irregular forms replaced by their base (``went`` by ``go``), so that
    question and memory meet whatever tense they are in."""
    return _WORD.sub(lambda found: BASES.get(found[0].lower(), found[0]), text)
