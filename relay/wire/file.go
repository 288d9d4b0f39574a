package wire

// UploadParams begin an upload. Bytes follow in pieces, each at the offset where the
// last one ended, so that a lost connection costs one piece.
type UploadParams struct {
	Name     string `json:"name"`
	MimeType string `json:"mimeType,omitzero"`
	Size     int64  `json:"size"`
	// SHA256 is lower-case hex; when given, a file of another sum is refused at its
	// end.
	SHA256 string `json:"sha256,omitzero"`
	// Ref is the name of the file in a host's stream. Only hosts give one.
	Ref string `json:"ref,omitzero"`
}

// Upload is an upload as it stands. It is whole when Offset equals Size, and only
// then can it be read or sent.
type Upload struct {
	// Ref names the file from now on. It is made by the server, of letters and
	// digits only.
	Ref      string `json:"ref"`
	Name     string `json:"name"`
	MimeType string `json:"mimeType,omitzero"`
	Size     int64  `json:"size"`
	Offset   int64  `json:"offset"`
	SHA256   string `json:"sha256,omitzero"`
}
