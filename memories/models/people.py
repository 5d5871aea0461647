"""People, their roles, and the agents they are limited to."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q


class User(AbstractUser):
    """A person. Viewers read, reviewers decide, admins also manage agents, keys and users."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        REVIEWER = "reviewer"
        ADMIN = "admin"

    role = models.CharField(max_length=16, choices=Role.choices, default=Role.VIEWER)
    all_agents = models.BooleanField(
        default=False, help_text="May see every agent; otherwise only those listed."
    )
    agents = models.ManyToManyField(
        "memories.Agent",
        blank=True,
        related_name="people",
        help_text="None listed is none.",
    )
    has_first_password = models.BooleanField(
        default=False,
        editable=False,
        help_text="The password was made by the first run and not changed since.",
    )

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(
                name="user_is_staff_iff_admin",
                condition=Q(role="admin", is_staff=True)
                | (~Q(role="admin") & Q(is_staff=False)),
            ),
            models.CheckConstraint(
                name="user_role_known",
                condition=Q(role__in=["viewer", "reviewer", "admin"]),
            ),
        ]

    def set_password(self, raw_password: str | None) -> None:
        """Whoever sets one, the first run's is gone with the row's next full save. A login
        that only hashes the same one anew saves nothing but the hash."""
        super().set_password(raw_password)
        self.has_first_password = False

    @property
    def decides(self) -> bool:
        """Whether the role may decide at all; limits to agents come on top."""
        return self.is_active and self.role in {self.Role.REVIEWER, self.Role.ADMIN}

    @property
    def manages(self) -> bool:
        """Whether the role may change agents and keys; limits to agents come on top."""
        return self.is_active and self.role == self.Role.ADMIN

    @property
    def manages_all(self) -> bool:
        """Whether the role may change every agent there is, and people."""
        return self.manages and self.all_agents


class LoginFailure(models.Model):
    """One failed sign-in, kept for as long as it counts towards the limits."""

    username = models.CharField(max_length=150)
    address = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["username", "at"]),
            models.Index(fields=["address", "at"]),
        ]

    def __str__(self) -> str:
        return f"{self.username} from {self.address} at {self.at}"
