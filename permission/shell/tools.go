package shell

import "sync"

// The tools with long tables, made once and never changed.
var (
	git  = sync.OnceValue(gitTool)
	gogo = sync.OnceValue(goTool)
	curl = sync.OnceValue(curlTool)
	tar  = sync.OnceValue(tarTool)
)

// lookupTool gives what is known about a program. A program that is not listed
// has no options that are known to be dangerous, and is not plain.
//
// Sources are the manuals of GNU coreutils, findutils, grep, sed, tar and awk,
// git, go, curl, wget, ripgrep, fd, less, man and the interpreters.
func lookupTool(name string) (tool, bool) {
	switch name {
	case "basename", "cal", "cat", "chgrp", "chmod", "chown", "cksum", "cmp", "column", "comm", "cp", "cut", "df",
		"diff", "dirname", "du", "echo", "egrep", "expand", "expr", "false", "fgrep", "fmt", "fold", "free", "grep",
		"head", "hexdump", "id", "jq", "join", "kill", "ln", "ls", "md5sum", "mkdir", "mv", "nl", "nproc", "od",
		"paste", "pgrep", "printenv", "ps", "pwd", "readlink", "realpath", "rev", "rm", "rmdir", "seq",
		"sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "sleep", "stat", "strings", "tac", "tail",
		"tee", "touch", "tr", "true", "tty", "type", "uname", "unexpand", "unlink", "uptime", "wc", "which",
		"whoami", "zcat", ":", "numfmt", "base64", "base32", "b2sum", "tsort", "factor", "look", "cd":
		return tool{plain: true}, true
	case "sort":
		return tool{short: "oT", long: []string{"output", "compress-program", "temporary-directory"}}, true
	case "shuf":
		return tool{short: "o", long: []string{"output"}}, true
	case "uniq", "xxd":
		return tool{output: 2}, true
	case "tree":
		return tool{short: "o", single: []string{"output"}}, true
	case "file":
		return tool{short: "Cm", long: []string{"compile", "magic-file"}}, true
	case "date":
		return tool{short: "s", long: []string{"set"}, check: markDate}, true
	case "split", "csplit":
		return tool{long: []string{"filter"}}, true
	case "dd":
		return tool{prefixes: []string{"of="}}, true
	case "install":
		return tool{short: "s", long: []string{"strip-program"}}, true
	case "patch":
		return tool{short: "oridDBVz", long: []string{"output", "reject-file", "input", "directory", "prefix"}}, true
	case "git":
		return git(), true
	case "go":
		return gogo(), true
	case "gofmt", "goimports", "gofumpt":
		return tool{single: []string{"w", "cpuprofile", "memprofile", "trace"}}, true
	case "find", "gfind":
		return tool{single: []string{"exec", "execdir", "ok", "okdir", "delete", "fprint", "fprint0", "fprintf", "fls", "files0-from"}}, true
	case "fd", "fdfind":
		return tool{short: "xX", long: []string{"exec", "exec-batch", "base-directory"}}, true
	case "rg":
		return tool{short: "z", long: []string{"pre", "hostname-bin", "search-zip"}}, true
	case "ag", "ack":
		return tool{long: []string{"pager", "output", "ackrc"}}, true
	case "sed", "gsed":
		// -l takes a word, which must not be taken for the script.
		return tool{short: "iIfl", long: []string{"in-place", "file", "line-length"}, check: markSed}, true
	case "awk", "gawk", "mawk", "nawk":
		return tool{
			short: "fEilopdDW", long: []string{"file", "exec", "include", "load", "pretty-print", "profile", "dump-variables", "debug"},
			check: markAwk,
		}, true
	case "perl":
		return tool{short: "eEiImMCdxs"}, true
	case "python", "python2", "python3", "pypy", "pypy3":
		return tool{short: "cmiWX", long: []string{"check-hash-based-pycs"}}, true
	case "ruby":
		return tool{short: "eirIC", long: []string{"encoding"}}, true
	case "php":
		return tool{short: "rBREdcz", long: []string{"run", "process-begin", "process-code", "process-end", "define"}}, true
	case "lua", "luajit":
		return tool{short: "elij"}, true
	case "R", "Rscript", "julia", "tclsh", "wish", "guile", "racket", "ghci", "scala", "groovy", "irb":
		return tool{short: "eEcfLp", long: []string{"eval", "execute", "expr", "file", "print", "command", "load"}}, true
	case "node", "nodejs", "bun", "tsx", "ts-node", "deno":
		return tool{
			short: "eprcCi",
			long: []string{
				"eval", "print", "require", "import", "loader", "experimental-loader", "inspect-brk", "env-file",
				"openssl-config", "diagnostic-dir", "cpu-prof", "heap-prof", "report-directory", "redirect-warnings", "preload", "config", "cwd",
				"test-reporter", "test-reporter-destination", "test-global-setup", "trace-event-categories", "trace-event-file-pattern", "tls-keylog",
				"snapshot-blob", "build-snapshot", "experimental-sea-config", "localstorage-file", "experimental-config-file", "run", "inspect", "prof", "icu-data-dir",
				"env-file-if-exists", "conditions", "title", "input-type",
			},
		}, true
	case "tar", "gtar", "bsdtar":
		return tar(), true
	case "zip":
		return tool{single: []string{"TT", "T", "O", "m", "b"}, long: []string{"unzip-command", "output-file", "out", "move", "test"}}, true
	case "rsync":
		return tool{short: "eMT", long: []string{
			"rsh", "rsync-path", "log-file", "write-batch", "only-write-batch", "daemon",
			"config", "temp-dir", "remote-option", "partial-dir", "backup-dir", "remove-source-files", "delete", "del",
		}}, true
	case "ssh", "scp", "sftp":
		return tool{short: "oSFJDELRwBP"}, true
	case "curl":
		return curl(), true
	case "wget", "wget2":
		return tool{
			short: "OoaPieBrmp",
			long: []string{
				"output-document", "output-file", "append-output", "directory-prefix", "input-file", "execute", "config",
				"use-askpass", "post-file", "post-data", "body-file", "body-data", "save-cookies", "rejected-log", "hsts-file", "recursive", "mirror",
				"content-disposition", "trust-server-names", "input-metalink", "warc-file", "warc-tempdir", "warc-dedup", "ca-directory", "delete-after",
			},
		}, true
	case "less", "more", "most":
		return tool{short: "oOkP", long: []string{"log-file", "LOG-FILE", "cmd", "lesskey-file", "lesskey-src", "lesskey-content"}, prefixes: []string{"+"}}, true
	case "man", "apropos", "whatis":
		return tool{short: "PHCTXMlp", long: []string{"pager", "html", "config-file", "troff", "troff-device", "gxditview", "preprocessor", "manpath", "local-file"}}, true
	case "info":
		return tool{short: "of", long: []string{"output", "file", "init-file"}}, true
	case "bat", "batcat", "delta":
		return tool{long: []string{"pager", "config-file", "diff-so-fancy"}, words: []string{"cache"}}, true
	case "make", "gmake", "bmake":
		return tool{short: "fCIEW", long: []string{"file", "makefile", "directory", "include-dir", "eval", "what-if", "new-file"}, settings: true}, true
	case "ninja", "just":
		return tool{short: "fCdt", long: []string{"justfile", "working-directory", "shell", "shell-arg", "set", "chooser", "command", "edit"}, settings: true}, true
	case "cmake":
		return tool{short: "PECS", long: []string{"build", "install", "open", "trace-redirect", "debugger-dap-log"}}, true
	case "cargo":
		return tool{short: "ZC", long: []string{"config", "manifest-path", "target-dir", "out-dir", "artifact-dir", "root"}, prefixes: []string{"+"}}, true
	case "npm", "pnpm", "yarn", "npx", "bunx":
		return tool{
			short: "Cc", long: []string{
				"prefix", "dir", "cwd", "script-shell", "globalconfig", "userconfig", "node-options", "call",
				"modules-folder", "use-yarnrc", "registry", "git", "editor", "viewer", "shell", "init-module", "onload-script",
			},
			words: []string{"exec", "x", "dlx", "explore", "config", "set"},
		}, true
	case "pytest", "py.test":
		return tool{short: "pco", long: []string{
			"config-file", "override-ini", "basetemp", "rootdir", "confcutdir", "junit-xml", "junitxml",
			"log-file", "pastebin", "debug", "cov-report", "resultlog", "result-log", "import-mode", "pdbcls",
		}}, true
	case "eslint", "prettier", "stylelint", "biome", "tsc", "jest", "mocha", "vitest":
		return tool{
			short: "ocrfwp",
			long: []string{
				"fix", "output-file", "config", "rulesdir", "resolve-plugins-relative-to", "plugin", "parser", "format", "write",
				"formatter", "custom-formatter", "custom-syntax", "require", "project", "outDir", "outFile", "globalSetup", "globalTeardown", "setupFiles", "testRunner",
				"runner", "transform", "reporters", "reporter", "coverageDirectory", "import", "loader", "cache-location", "update", "outputFile",
			},
		}, true
	case "ruff", "black", "isort", "mypy", "flake8", "pylint":
		return tool{short: "oc", long: []string{
			"fix", "unsafe-fixes", "output-file", "config", "config-file", "junit-xml", "load-plugins",
			"init-hook", "rcfile", "plugins", "any-exe", "python-executable", "cache-dir", "html-report", "txt-report", "xml-report", "install-types",
		}}, true
	case "docker", "podman", "nerdctl":
		return tool{short: "vHc", long: []string{
			"volume", "mount", "volumes-from", "privileged", "host", "context", "config", "pid", "cap-add",
			"device", "security-opt", "userns", "ipc", "network", "net", "env-file", "runtime", "hooks-dir", "conmon", "module",
		}}, true
	case "kubectl", "helm":
		return tool{long: []string{"kubeconfig", "post-renderer", "profile-output", "cache-dir", "raw", "edit"}, words: []string{"exec", "cp", "plugin", "config"}}, true
	case "openssl":
		return tool{single: []string{"out", "engine", "provider", "provider-path", "config", "writerand", "keyout", "CAserial"}}, true
	case "gpg", "gpg2":
		return tool{short: "o", long: []string{"output", "exec-path", "photo-viewer", "load-extension", "options", "homedir", "keyserver-options", "agent-program", "dirmngr-program", "pinentry-mode", "logger-file"}}, true
	case "gcc", "g++", "cc", "c++", "clang", "clang++":
		return tool{short: "oBM", single: []string{"wrapper", "fplugin", "specs", "dumpdir", "load"}, prefixes: []string{"@", "-fplugin", "-specs", "--specs", "-Wl,", "-Xlinker"}}, true
	case "yq":
		return tool{short: "is", long: []string{"inplace", "in-place", "split-exp", "split-exp-file"}}, true
	case "ip":
		return tool{short: "b", single: []string{"batch", "force"}, words: []string{"netns", "vrf", "exec"}}, true
	case "tcpdump", "tshark":
		return tool{short: "wzr"}, true
	case "nmap":
		return tool{single: []string{"oN", "oX", "oG", "oA", "oS", "script", "datadir", "servicedb"}}, true
	case "journalctl", "systemctl":
		return tool{long: []string{"rotate", "vacuum-size", "vacuum-time", "vacuum-files", "flush", "root", "image", "setup-keys", "cursor-file"}, words: []string{"edit"}}, true
	case "alias", "bind", "complete", "compgen", "enable", "hash", "fc", "mapfile", "readarray", "printf", "print", "wait",
		"read", "unset", "getopts", "vared", "integer", "float":
		return builtinTool(name), true
	}
	return tool{}, false
}

// builtinTool are builtins of bash that take code or change what words mean.
func builtinTool(name string) tool {
	switch name {
	case "alias":
		return tool{settings: true}
	case "bind":
		return tool{short: "xf", check: markContaining(":")}
	case "complete", "compgen":
		return tool{short: "CFW"}
	case "enable":
		return tool{short: "fnd"}
	case "hash":
		return tool{short: "p"}
	case "fc":
		return tool{short: "es"}
	case "mapfile", "readarray":
		return tool{short: "C", names: true}
	case "printf", "print":
		return tool{short: "vPz"}
	case "wait":
		return tool{short: "p"}
	case "read", "unset", "getopts", "vared", "integer", "float":
		// PATH is a name, too.
		return tool{names: true, short: "apA"}
	}
	return tool{}
}

// gitValued are git's options before the command that take the next word.
func gitValued() []string {
	return []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path", "--super-prefix"}
}

func gitTool() tool {
	use := tool{words: []string{anyUse}}
	clone := tool{short: "uco", long: []string{"upload-pack", "config", "template", "separate-git-dir"}}
	return tool{
		long: []string{
			"output", "ext-diff", "textconv", "open-files-in-pager", "upload-pack", "receive-pack", "exec", "exec-path",
			"config-env", "git-dir", "work-tree", "output-directory", "extcmd", "export-marks", "filters", "template",
		},
		// A transport helper runs what the address says.
		prefixes: []string{"ext::", "fd::"},
		valued:   gitValued(),
		check:    markGitGlobal,
		subs: map[string]tool{
			"grep":          {short: "O"},
			"archive":       {short: "o", long: []string{"remote"}},
			"format-patch":  {short: "o"},
			"add":           {short: "eip", long: []string{"edit", "interactive", "patch"}},
			"commit":        {words: []string{"-e", "-c", "-p", "-t"}, long: []string{"edit", "interactive", "patch", "template", "reedit-message"}},
			"clone":         clone,
			"ls-remote":     clone,
			"fetch":         clone,
			"pull":          {short: "xs"},
			"rebase":        {short: "xis", long: []string{"exec", "interactive", "edit-todo", "strategy"}},
			"merge":         {short: "s", long: []string{"strategy"}},
			"cherry-pick":   {long: []string{"strategy"}},
			"bisect":        {words: []string{"run"}},
			"submodule":     {words: []string{"foreach"}},
			"bundle":        {words: []string{"create"}},
			"cat-file":      {long: []string{"textconv", "filters"}},
			"init":          {long: []string{"template", "separate-git-dir"}},
			"filter-branch": use, "difftool": use, "mergetool": use, "instaweb": use, "daemon": use, "send-email": use,
			"hook": use, "fast-import": use, "upload-pack": use, "receive-pack": use, "shell": use, "remote-ext": use,
			"credential": use, "credential-store": use, "maintenance": use, "gui": use, "citool": use, "svn": use, "p4": use,
			"cvsserver": use, "http-backend": use, "web--browse": use, "imap-send": use, "diagnose": use, "bugreport": use,
		},
	}
}

func goTool() tool {
	return tool{
		single: []string{
			"exec", "toolexec", "o", "vettool", "overlay", "modfile", "C", "pkgdir", "ldflags", "gcflags", "asmflags",
			"gccgoflags", "compiler", "coverprofile", "cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace", "outputdir",
			"c", "test.testlogfile", "test.fuzzcachedir", "w", "u", "fixtool",
		},
		// go test -test.cpuprofile is -cpuprofile.
		prefixes: []string{"-test.", "--test."},
		valued:   []string{"-C"},
		subs: map[string]tool{
			// -u means unset there and update elsewhere; both change what runs.
			"tool": {words: []string{anyUse}}, "generate": {words: []string{anyUse}},
		},
	}
}

func tarTool() tool {
	return tool{
		short: "IFxcruATgW",
		long: []string{
			"to-command", "use-compress-program", "checkpoint-action", "rsh-command", "rmt-command", "info-script", "new-volume-script",
			"extract", "get", "create", "append", "update", "catenate", "concatenate", "delete", "index-file", "volno-file", "files-from", "listed-incremental",
		},
		check: markTar,
	}
}

func curlTool() tool {
	return tool{
		short: "oOJKcDTFdEQxw",
		long: []string{
			"output", "output-dir", "remote-name", "remote-name-all", "remote-header-name", "create-dirs", "config", "cookie-jar",
			"dump-header", "trace", "trace-ascii", "stderr", "libcurl", "hsts", "alt-svc", "etag-save", "upload-file", "form", "form-string",
			"data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "json", "engine", "quote", "write-out", "unix-socket",
			"variable", "expand-", "abstract-unix-socket", "proxy", "preproxy", "key", "cert", "netrc-file", "url-query", "next", "url", "resolve", "connect-to",
		},
		prefixes: []string{"file:", "scp:", "sftp:", "smb:", "gopher:", "dict:", "telnet:", "@", "-H@", "--expand-"},
		check:    markCurl,
	}
}
