"""A model server that plays a script, on the loopback interface, in the protocols of the four agent CLIs."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from model_dialects import Anthropic, Chat, Responses
from model_script import Json, Script, answer

MAX_REQUESTS = 80
"""A CLI that loops is refused, and ends."""


class ModelServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Script, model: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.model = model
        self.requests: list[tuple[str, Json]] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(script: Script, model: str = "scripted-model") -> Iterator[ModelServer]:
    server = ModelServer(script, model)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        model = {"id": self.server.model, "object": "model", "type": "model", "context_length": 200_000, "created": 0}
        self._json({"object": "list", "data": [model], "models": [], "has_more": False})

    def do_POST(self) -> None:
        body, path = self._body(), self.path.partition("?")[0]
        self.server.requests.append((path, body))
        if len(self.server.requests) > MAX_REQUESTS:
            error = {"type": "invalid_request_error", "message": "the script is over"}
            self._json({"type": "error", "error": error}, 400)
            return
        if path.endswith("/count_tokens"):
            self._json({"input_tokens": 100})
            return
        for dialect in (Anthropic, Responses, Chat):
            if path.endswith(dialect.path):
                self._reply(dialect, body)
                return
        self._json({"error": {"type": "not_found", "message": path}}, 404)

    def _reply(self, dialect: type[Anthropic] | type[Responses] | type[Chat], body: Json) -> None:
        reply = answer(self.server.script, dialect.read(body))
        if dialect is Chat and not body.get("stream"):
            self._json(Chat.whole(body, reply))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, data in dialect.events(body, reply):
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(f"{f'event: {name}' if name else ':'}\ndata: {text}\n\n".encode())
            self.wfile.flush()

    def _body(self) -> Json:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            raw = b"".join(self._chunks())
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            raw = gzip.decompress(raw)
        body = json.loads(raw or b"{}")
        return body if isinstance(body, dict) else {}

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _json(self, document: Json, status: int = 200) -> None:
        raw = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)
