"""The agent that writes and follows up the shop's invoices."""

from __future__ import annotations

from approvals.demo.story import Story

# The keys that a cloud provider prints in its own manual; they open nothing.
EXAMPLE_KEY = "AKIAIOSFODNN7EXAMPLE"

CLOSING = (
    "Close a month on its second working day:\n"
    "1. Check that every order of the month has an invoice.\n"
    "2. Book the payment provider's fees.\n"
    "3. Lock the month and send the report to accounting."
)
CLOSING_WITH_CREDITS = (
    "Close a month on its second working day:\n"
    "1. Check that every order of the month has an invoice.\n"
    "2. Check that every return of the month has a credit note.\n"
    "3. Book the payment provider's fees.\n"
    "4. Lock the month and send the report to accounting."
)


def tell(story: Story) -> None:
    _facts(story)
    _days_work(story)
    _changes(story)
    _new_facts(story)
    _decided(story)


def _facts(story: Story) -> None:
    story.knows("Invoices are due 14 days after their date.", tags=["invoices"])
    story.knows(
        "Invoice numbers have the form 2026-000123 and never leave a gap.",
        tags=["invoices", "numbers"],
    )
    story.knows(
        "An invoice to a company in another EU country carries no VAT when its VAT number "
        "was checked on the day of the order.",
        tags=["vat", "eu"],
    )
    story.knows(
        "The bank books transfers at 8:00 and at 14:00 on working days.", tags=["bank"]
    )
    story.knows(
        "Customer 30417 pays by the quarter; a copy of each invoice goes to the branch in "
        "Ghent.",
        tags=["customer:30417"],
        source="user",
    )
    story.knows(
        "Never change an invoice that was sent. Cancel it with a credit note and write a "
        "new one.",
        memory_type="procedural",
        tags=["invoices", "corrections"],
    )


def _days_work(story: Story) -> None:
    story.notes(
        "The payment provider's nightly file came at 03:40 instead of 02:00; it was "
        "complete.",
        tags=["payments"],
    )
    story.notes(
        "Customer 30417 asked why invoice 2026-004418 shows two addresses; explained.",
        tags=["customer:30417"],
        source="user",
    )
    story.notes(
        "Month end: three orders still lack an invoice (77120, 77124, 77131).",
        memory_type="working",
        tags=["month-end"],
        hours=48,
    )


def _changes(story: Story) -> None:
    """Proposals about what is known already."""
    reminders = [
        story.knows(
            "A reminder is sent seven days after the due date.", tags=["reminders"]
        ),
        story.knows("First reminder: one week after an invoice was due."),
        story.knows("Reminders never go out on a weekend.", tags=["reminders", "weekend"]),
    ]
    story.asks_to_merge(
        *reminders,
        content="The first reminder goes out seven days after the due date, or on the next "
        "working day.",
    )
    closing = story.knows(CLOSING, memory_type="procedural", tags=["month-end"])
    story.asks_to_revise(closing, CLOSING_WITH_CREDITS, tags=["month-end", "credit-notes"])
    old_rates = [
        story.knows("Express delivery costs 9.90 euros until the end of 2024."),
        story.knows("Gift wrapping costs 2 euros in December 2024."),
    ]
    story.asks_to_forget(*old_rates)


def _new_facts(story: Story) -> None:
    story.asks(
        "Les factures adressées aux administrations françaises passent par le portail "
        "public, jamais par courriel.",
        tags=["invoices", "france"],
    )
    story.asks(
        "The rate of the payment provider is 1.4 percent plus 25 cents until its new price "
        "list comes out.",
        tags=["payments", "fees"],
        days=60,
    )
    story.asks(
        "To read the nightly payment file, sign in with the access key "
        f"{EXAMPLE_KEY} and take the newest file from the folder settled/.",
        memory_type="procedural",
        tags=["payments"],
        source="tool",
    )
    story.asks(
        "Customer 30417 wants the order number in the subject of each e-mail.",
        tags=["customer:30417", "e-mail"],
        source="user",
    )


def _decided(story: Story) -> None:
    story.turns_down(
        story.asks("Customer 30417 is going to be insolvent.", source="web"),
        reason="untrue",
        comment="A rumour from a forum. Only what the customer or the court says.",
    )
    story.turns_down(
        story.asks("Invoices have to be paid within two weeks.", source="model"),
        reason="duplicate",
        comment="",
    )
    story.lets_in(
        story.asks("Credit notes below 5 euros are not paid out.", tags=["credit-notes"]),
        content="Credit notes below 5 euros are set off against the next invoice.",
    )
