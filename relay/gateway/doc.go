// Package gateway serves viewers: WebSocket JSON-RPC, HTTP and server-sent events
// over one Backend. A daemon serves its socket with it, a relay its tenants.
package gateway
