"""Which words find a memory, on both adapters."""

from __future__ import annotations

import pytest

from memories.index.base import MemoryIndex
from tests.memories.adapters import numbers, point, query, words_only

IDENTIFIERS = {
    "RULE-A002 forbids deploys on Fridays": ["RULE-A002", "A002", "rule-a002"],
    "patch CVE-2024-1234 before the audit": ["CVE-2024-1234", "2024-1234", "cve-2024-1234"],
    "E_CONN_42 means the proxy dropped it": ["E_CONN_42", "CONN_42", "e_conn_42"],
    "v1.2.3 broke the importer": ["v1.2.3", "1.2.3"],
    "the worker lives in src/jobs/drainQueue.py": [
        "src/jobs/drainQueue.py",
        "drainQueue.py",
        "drainQueue",
    ],
    "run 6f1c1d7e-9a53-4a52-8a3e-0c6f5e0d9b11 was the slow one": [
        "6f1c1d7e-9a53-4a52-8a3e-0c6f5e0d9b11",
        "6f1c1d7e",
    ],
    "write to ops@example.org about outages": ["ops@example.org", "example.org"],
}
LOOK_ALIKES = [
    *(f"RULE-A{n:03} forbids deploys on day {n}" for n in range(10, 20)),
    *(f"patch CVE-2023-{n} before the audit" for n in range(5001, 5011)),
    *(f"E_DISK_{n} means the disk dropped it" for n in range(50, 60)),
    *(f"v3.{n}.0 broke the importer" for n in range(10, 20)),
    *(f"the worker lives in lib/tasks/fill_{n}.py" for n in range(10)),
]


@pytest.mark.case("W9")
def test_an_identifier_is_found_by_the_whole_and_by_its_telling_part(
    index: MemoryIndex,
) -> None:
    texts = [*LOOK_ALIKES, *IDENTIFIERS]
    index.put([point(number, text) for number, text in enumerate(texts)])

    for text, asked in IDENTIFIERS.items():
        for part in asked:
            (leg,) = index.search(words_only(part))
            assert text in [texts[n] for n in numbers(leg)], part


@pytest.mark.case("W9")
def test_an_identifier_comes_before_its_scattered_pieces(index: MemoryIndex) -> None:
    pieces = [f"{n} of 2024: 1234 CVE, 1234 CVE, 2024" for n in range(10)]
    texts = [*pieces, "patch CVE-2024-1234 before the audit"]
    index.put([point(number, text) for number, text in enumerate(texts)])

    (leg,) = index.search(words_only("CVE-2024-1234"))

    assert numbers(leg)[0] == 10


LANGUAGES = {
    "認証システムはJWTを使う": ["認証", "認証システム", "JWT"],
    "東京都の天気は晴れです": ["東京", "天気"],
    "이메일을 매주 보낸다": ["이메일"],
    "项目的截止日期是六月三十日": ["截止日期", "项目"],
    "Клиенты из Казани платят в рублях": ["Казани", "рублях"],
    "Ο διακομιστής επανεκκινείται την Κυριακή": ["διακομιστής", "Κυριακή"],
    "المدير يفضل التقارير القصيرة": ["التقارير", "المدير"],
    "การประชุมเริ่มเก้าโมง": ["ประชุม"],
    "Das Lager in Köln ist geschlossen": ["Köln", "KÖLN", "koln"],
    "ｆｕｌｌｗｉｄｔｈ ｃｏｄｅ": ["fullwidth"],
}


@pytest.mark.case("W10")
def test_a_word_is_found_in_every_script(index: MemoryIndex) -> None:
    texts = list(LANGUAGES)
    index.put([point(number, text) for number, text in enumerate(texts)])

    for text, asked in LANGUAGES.items():
        for word in asked:
            (leg,) = index.search(words_only(word))
            assert [texts[n] for n in numbers(leg)][:1] == [text], word


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Lena went to the dentist", "where does Lena go"),
        ("where does Lena go", "Lena went to the dentist"),
        ("The children bought skis", "buying for a child"),
        ("He has written two letters", "what did he write"),
    ],
)
def test_an_irregular_form_and_its_base_find_each_other(
    index: MemoryIndex, text: str, asked: str
) -> None:
    index.put([point(1, "something else entirely"), point(2, text)])

    (leg,) = index.search(words_only(asked))

    assert numbers(leg) == [2]


WEIRD = [
    "what's up?",
    "time: 5pm",
    "https://x.y/?a=b",
    "(paren",
    "-word",
    "AND",
    "a AND",
    "foo:bar",
    '"',
    "*",
    "C++",
    "🍵",
    "the and of",
    "\u202e\u200b",
    "\ufdfa" * 500,
    "why does the deploy fail " * 400,
]


@pytest.mark.case("W7")
@pytest.mark.parametrize("text", WEIRD, ids=range(len(WEIRD)))
def test_query_text_is_text(index: MemoryIndex, text: str) -> None:
    index.put([point(1, "tea"), point(2, text)])

    dense, _ = index.search(query(text))

    assert numbers(dense)[0] == 2
