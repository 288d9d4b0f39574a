// Package termpage is a page with an agent's own screen: /terminal/SESSION#token=TOKEN. It is
// a viewer like any other: static files, which speak the WebSocket of the gateway with
// the token of the address's fragment, and know nothing more than that token may.
//
// xterm.js (MIT, assets/xterm.LICENSE) draws and types. It is committed as its makers
// publish it; `make page` fetches it again.
//
// # Guarantees
//
//   - Nothing is loaded from elsewhere, and no script stands in the page: see policy.
//   - The page needs no token, since it has nothing to tell; the token is sent to nobody but
//     the WebSocket of the same origin, and is taken out of the address.
//
// # Non-goals
//
// The stream of envelopes, asks, lists of sessions.
package termpage

import (
	"embed"
	"net/http"
	"path"
)

//go:embed assets
var assets embed.FS

// policy is what the page may do. xterm.js makes style sheets as it runs; scripts come
// from files of ours alone.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; font-src 'none'; " +
	"img-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the files that are served, by their Content-Type.
func types() map[string]string {
	return map[string]string{
		"xterm.js": "text/javascript; charset=utf-8", "terminal.js": "text/javascript; charset=utf-8",
		"xterm.css": "text/css; charset=utf-8", "terminal.css": "text/css; charset=utf-8",
		"xterm.LICENSE": "text/plain; charset=utf-8",
	}
}

// Register adds the page to a server's paths: /terminal/{session} and its files below
// /terminal/-/. The caller checks Host and Origin.
func Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /terminal/{session}", func(w http.ResponseWriter, _ *http.Request) {
		serve(w, "terminal.html", "text/html; charset=utf-8")
	})
	for name, kind := range types() {
		mux.HandleFunc("GET /terminal/-/"+name, func(w http.ResponseWriter, _ *http.Request) { serve(w, name, kind) })
	}
}

func serve(w http.ResponseWriter, name, kind string) {
	data, err := assets.ReadFile(path.Join("assets", name))
	if err != nil {
		http.Error(w, "the file is not there", http.StatusInternalServerError) // it is embedded
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_, _ = w.Write(data) // what goes wrong now is the line's
}
