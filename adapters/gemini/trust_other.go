//go:build !unix

package gemini

// insecure: what Gemini CLI demands of the access lists there is not checked here.
func insecure(dir string) string { return "the owner of " + dir + " cannot be checked on this system" }
