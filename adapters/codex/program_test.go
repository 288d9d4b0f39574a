package codex_test

import (
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/agenthost/agenthost/adapters/codex"
)

// The program behind the script is looked for where npm puts it, and only when the
// command is that script.
func TestUnwrap(t *testing.T) {
	for _, c := range []struct {
		command, platform, arch string
		want                    []string
	}{
		{"/usr/lib/node_modules/@openai/codex/bin/codex.js", "linux", "amd64", []string{
			"/usr/lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
			"/usr/lib/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
		}},
		{"/h/node_modules/.pnpm/@openai+codex@1/node_modules/@openai/codex/bin/codex.js", "darwin", "arm64", []string{
			"/h/node_modules/.pnpm/@openai+codex@1/node_modules/@openai/codex/node_modules/@openai/codex-darwin-arm64/vendor/aarch64-apple-darwin/bin/codex",
			"/h/node_modules/.pnpm/@openai+codex@1/node_modules/@openai/codex-darwin-arm64/vendor/aarch64-apple-darwin/bin/codex",
		}},
		{"/c/npm/Codex.cmd", "windows", "amd64", []string{
			"/c/npm/node_modules/@openai/codex/node_modules/@openai/codex-win32-x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe",
			"/c/npm/node_modules/@openai/codex-win32-x64/vendor/x86_64-pc-windows-msvc/bin/codex.exe",
		}},
		{"/usr/local/bin/codex", "linux", "amd64", nil},
		{"/tmp/x/codex.cmd", "linux", "amd64", nil},
		{"/tmp/codex/bin/codex.js", "linux", "amd64", nil},
		{"/tmp/@openai/codex/bin/codex.js", "linux", "amd64", nil},
		{"/usr/lib/node_modules/@openai/codex/bin/codex.js", "plan9", "amd64", nil},
		{"/usr/lib/node_modules/@openai/codex/bin/codex.js", "linux", "mips", nil},
	} {
		var want []string
		for _, w := range c.want {
			want = append(want, filepath.FromSlash(w))
		}
		if got := codex.New().Unwrap(filepath.FromSlash(c.command), c.platform, c.arch); !slices.Equal(got, want) {
			t.Errorf("Unwrap(%s, %s, %s) = %q, want %q", c.command, c.platform, c.arch, got, want)
		}
	}
	if got := codex.New().Unwrap("", runtime.GOOS, runtime.GOARCH); got != nil {
		t.Errorf("Unwrap of nothing = %q", got)
	}
}
