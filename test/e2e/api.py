"""A client of the API server: JSON over one connection, which it reopens after the server has closed it."""

import http.client
import json
import select
import ssl
from urllib.parse import urlencode

TIMEOUT = 60
PATCH_TYPE = "application/strategic-merge-patch+json"


class ApiError(Exception):
    """An error reply of the API server."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


def make_context(authority, pair):
    context = ssl.create_default_context(cafile=authority.certificate)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


class Api:
    """A client for one thread."""

    def __init__(self, port, context):
        self.port, self.context = port, context
        self.connection = self._connect()

    def get(self, path, **query):
        return self._ask("GET", with_query(path, query))

    def create(self, path, obj):
        return self._ask("POST", path, obj)

    def create_once(self, path, obj):
        try:
            self.create(path, obj)
        except ApiError as error:
            if error.status != 409:  # it exists
                raise

    def patch(self, path, change, content_type=PATCH_TYPE):
        return self._ask("PATCH", path, change, content_type)

    def delete(self, path, **query):
        """Deletes an object or a whole collection. Not found is no error."""
        try:
            return self._ask("DELETE", with_query(path, query))
        except ApiError as error:
            if error.status != 404:
                raise

    def watch(self, path, **query):
        """Yields (type, object) from a separate connection, until the API server ends the watch."""
        connection = self._connect()
        try:
            connection.request("GET", with_query(path, {"watch": "true", **query}))
            response = connection.getresponse()
            if response.status != 200:
                raise_error(response.status, response.read())
            for line in response:
                event = json.loads(line)
                yield event["type"], event["object"]
        finally:
            connection.close()

    def close(self):
        self.connection.close()

    def _connect(self):
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=TIMEOUT, context=self.context
        )

    def _ask(self, method, path, obj=None, content_type="application/json"):
        body = None if obj is None else json.dumps(obj)
        if is_closed_by_server(self.connection.sock):
            self.connection.close()  # request() reconnects
        try:
            self.connection.request(method, path, body, {"Content-Type": content_type})
            response = self.connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise
        if response.status >= 300:
            raise_error(response.status, text)
        is_json = response.headers.get_content_type() == "application/json"
        return json.loads(text) if is_json else text.decode()


def is_closed_by_server(sock):
    """An API server closes connections after 90 s without a request, and all when it ends. Between two requests
    only the end of the connection makes the socket readable."""
    return sock is not None and bool(select.select([sock], [], [], 0)[0])


def with_query(path, query):
    return f"{path}?{urlencode(query)}" if query else path


def raise_error(status, text):
    try:
        message = json.loads(text)["message"]
    except (ValueError, KeyError):
        message = text.decode(errors="replace")
    raise ApiError(status, message)
