package gateway

import "net/http"

// Guarded serves h with the checks of Origin and Host that the Gateway makes, for
// what else the same server offers. Requests of other origins are refused there too;
// h has no cross-origin answers of its own.
func (g *Gateway) Guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := g.guard(w, r); err != nil {
			g.refuse(w, r, err)
			return
		}
		if r.Method == http.MethodOptions {
			preflight(w)
			return
		}
		h.ServeHTTP(w, r)
	})
}
