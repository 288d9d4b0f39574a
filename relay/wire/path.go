package wire

// Paths of a relay for hosts.
const (
	// HostPath takes the WebSocket of a host.
	HostPath = "/v1/host"
	// HostFilesPath takes and gives files of a host: POST makes an upload, under a
	// Ref of the host's choice; HEAD, PATCH and GET on HostFilesPath/REF are those
	// of /v1/files.
	HostFilesPath = "/v1/host/files"
)
