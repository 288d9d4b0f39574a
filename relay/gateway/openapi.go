package gateway

import (
	_ "embed" // for the document
	"net/http"
)

//go:generate go run ./gen

// openAPI is made of Routes and the types of package wire by ./gen.
//
//go:embed openapi.json
var openAPI []byte

func (g *Gateway) serveOpenAPI(w http.ResponseWriter, _ *http.Request, _ Principal) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(openAPI)
	return err
}
