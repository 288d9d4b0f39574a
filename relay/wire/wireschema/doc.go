// Package wireschema describes the protocol for other languages: the types of package
// wire as JSON Schemas, made of the Go types and their comments, with those of the
// contract (contract/schema) that they refer to. It is for generators and runs on the
// source; nothing of it is in the product.
//
// Names are wire.X, contract.X and session.X. References are relative to a prefix that
// the caller chooses, as OpenAPI and JSON Schema keep definitions in other places.
//
// # Testing
//
// go test ./relay/gateway/... ./client/ts/... checks what is made of it: that the
// committed files are current, and that real answers satisfy the schemas.
package wireschema
