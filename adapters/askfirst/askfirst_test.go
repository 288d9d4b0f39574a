package askfirst

import "testing"

func TestProgram(t *testing.T) {
	for pattern, want := range map[string][2]string{
		"rm -rf /**": {"rm", ""}, "  ls": {"ls", ""}, "/bin/ls -l": {"ls", ""}, "LD_PRELOAD=* x": {"", "LD_PRELOAD"},
		"": {}, "*": {}, "* --force": {}, "'rm' x": {}, "git*": {}, "A*=x rm": {},
	} {
		if name, variable := Program(pattern); name != want[0] || variable != want[1] {
			t.Errorf("Program(%q) = %q, %q, want %q", pattern, name, variable, want)
		}
	}
}

func TestText(t *testing.T) {
	for pattern, want := range map[string]string{
		"**/.env*": ".env", "~/.ssh/**": ".ssh", "/etc/shadow": "shadow", "${cwd}/secrets/**": "secrets", "secrets/{a,b}": "secrets",
		"x{a,b}/long": "", "**": "", "": "", "a(b)": "", `a\*b`: "", "a b/cc": "cc", "é/x": "x", "[ab]cd": "",
	} {
		if got := Text(pattern); got != want {
			t.Errorf("Text(%q) = %q, want %q", pattern, got, want)
		}
	}
}

func TestHostAndServer(t *testing.T) {
	for pattern, want := range map[string]string{
		"https://example.com/x/**": "example.com", "example.com": "example.com", "*.example.com": "", "": "", "domain:a.b": "a.b", "a.b:8080": "",
	} {
		if got := Host(pattern); got != want {
			t.Errorf("Host(%q) = %q, want %q", pattern, got, want)
		}
	}
	for pattern, want := range map[string]string{"github/get_*": "github", "*/x": "", "github": "", "": "", "g?/x": ""} {
		if got := Server(pattern); got != want {
			t.Errorf("Server(%q) = %q, want %q", pattern, got, want)
		}
	}
}
