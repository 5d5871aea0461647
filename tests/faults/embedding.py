"""An embedder behind HTTP that answers as often as it is let: what is built stands still
for as long as a test wants to look at it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from memories.embedding.hashed import HashEmbedder

MORE = [0.0] * 128  # so that its vectors fit into no collection of another embedder


@dataclass
class Embedding:
    """``settings`` let a server use it. After ``left`` more batches it is busy, until that
    is raised; a single text, such as a query or a look whether it is there, is answered."""

    settings: dict[str, str]
    left: float = math.inf


@contextmanager
def embedding() -> Iterator[Embedding]:
    hashed, lock = HashEmbedder(), Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))[
                "input"
            ]
            with lock:
                is_busy = made.left <= 0 and len(texts) > 1
                made.left -= len(texts) > 1
            vectors = [] if is_busy else hashed.embed_passages(texts)
            data = [
                {"index": number, "embedding": [*vector.tolist(), *MORE]}
                for number, vector in enumerate(vectors)
            ]
            content = json.dumps({"data": data}).encode()
            self.send_response(503 if is_busy else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing: the tests look at the server's log, not at this."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    made = Embedding(
        {
            "AMPSITE_EMBEDDER": "openai",
            "EMBEDDER_MODEL": "m",
            "EMBEDDER_DIMENSION": str(hashed.dimension + len(MORE)),
            "EMBEDDER_URL": f"http://127.0.0.1:{http.server_port}/v1",
            "NO_PROXY": "127.0.0.1",
        }
    )
    Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        http.shutdown()
        http.server_close()
