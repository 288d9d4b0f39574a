package codex

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/agenthost/agenthost/adapters"
)

var _ adapters.Unwrapper = Adapter{}

// Unwrap implements adapters.Unwrapper. npm, pnpm and bun put @openai/codex/bin/codex.js
// on the PATH, which starts the program of the package for this machine: one that is
// nested in @openai/codex or lies beside it. Older layouts, in which the script also
// adds directories to the PATH, are left to the script.
func (Adapter) Unwrap(command, platform, architecture string) []string {
	name, target, ok := build(platform, architecture)
	if !ok {
		return nil
	}
	scope, ok := strings.CutSuffix(filepath.ToSlash(command), "/codex/bin/codex.js")
	if platform == "windows" {
		// There the script is started by codex.cmd, beside the modules.
		if dir, cmd := strings.CutSuffix(strings.ToLower(filepath.ToSlash(command)), "/codex.cmd"); cmd {
			scope, ok = filepath.ToSlash(command)[:len(dir)]+"/node_modules/@openai", true
		}
	}
	if !ok || !strings.HasSuffix(scope, "/node_modules/@openai") {
		return nil
	}
	exe := "codex"
	if platform == "windows" {
		exe = "codex.exe"
	}
	vendor := path.Join("vendor", target, "bin", exe)
	return []string{
		filepath.FromSlash(path.Join(scope, "codex", "node_modules", "@openai", name, vendor)),
		filepath.FromSlash(path.Join(scope, name, vendor)),
	}
}

// build names the package and the target that npm has for a machine.
func build(platform, architecture string) (name, target string, ok bool) {
	arch := map[string][2]string{"amd64": {"x64", "x86_64"}, "arm64": {"arm64", "aarch64"}}[architecture]
	system := map[string][2]string{
		"linux": {"linux", "unknown-linux-musl"}, "darwin": {"darwin", "apple-darwin"}, "windows": {"win32", "pc-windows-msvc"},
	}[platform]
	return "codex-" + system[0] + "-" + arch[0], arch[1] + "-" + system[1], arch[0] != "" && system[0] != ""
}
