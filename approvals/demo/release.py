"""A procedure as long as real ones are, with the one line that a proposal changes."""

from __future__ import annotations

WAIT = "Wait until the error rate has been below 0.5 percent for five minutes."
WAIT_LONGER = (
    "Wait until the error rate has been below 0.2 percent for fifteen minutes, and look at "
    "the slowest ten requests as well."
)

RELEASE = f"""\
How to release the storefront

Before you begin
1. Release on Monday to Thursday, between 9:00 and 15:00, never on the day before a holiday.
2. Ask in the channel #release whether anything speaks against it, and wait ten minutes.
3. Look at the board: no open ticket may carry the label "blocks release".
4. Check that the last nightly test run of main is green. A red run is not started again
   until somebody has read why it failed.

Prepare
5. Make the branch release/YYYY-MM-DD from main.
6. Run `make changelog` and read what it wrote. Each line says what changed for a customer;
   rewrite those that say what changed in the code.
7. Raise the version in `version.txt`: the last number for fixes, the middle one for
   anything a customer can see.
8. List the migrations with `make migrations-since LAST=<last version>`. If one of them
   rewrites a table of more than a million rows, stop here and plan it with the database
   team.
9. Push the branch and let the full test run finish. It takes about 25 minutes.

Staging
10. Deploy to staging with `make deploy ENV=staging`.
11. Buy something: one guest order by card, one with an account and a gift card, one that is
    cancelled again.
12. Look at the log of the last ten minutes. New warnings are named in the release ticket.

Production
13. Tell support in #support which customers will notice something, and what.
14. Deploy to the first two machines with `make deploy ENV=production ONLY=canary`.
15. {WAIT}
16. Deploy to the other machines with `make deploy ENV=production`.
17. Buy something with the test card, and cancel that order.

If something goes wrong
18. Before step 16: `make rollback ONLY=canary`, then tell #release.
19. After step 16: `make rollback`. It takes four minutes, and runs no migration backwards.
20. Never repair production by hand while two people are at it. One types, one watches.

Afterwards
21. Merge the release branch into main, and tag it.
22. Close the release ticket with the numbers of step 15 and the log lines of step 12.
23. Write down what surprised you, even if it went well.
"""

RELEASE_WAITING_LONGER = RELEASE.replace(WAIT, WAIT_LONGER)
