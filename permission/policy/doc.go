// Package policy holds the rules by which asks are judged.
//
// A rule allows, asks or denies uses of a tool:
//
//	deny:  bash(rm -rf /**)
//	allow: bash(git status *, git diff *, go test ./...)
//	allow: read(${cwd}/**)
//	allow: mcp(github/get_*)
//	ask:   web-fetch(*)
//
// The strictest kind that matches wins: deny, then ask, then allow; among rules
// of one kind the first. What no rule matches is asked.
//
// # Commands
//
// A command is parsed (permission/shell), and each simple command in it is a part
// of its own that needs a rule. Patterns are matched word by word:
//
//   - A * that stands alone at the end is any further words, anywhere else it is
//     one word. It never covers an option that writes a file or runs a program:
//     such an option has to stand in the pattern.
//   - A * inside a word is any text without "/", ** is any text; neither covers a
//     ".." between slashes.
//   - Quotes in a pattern make * literal.
//   - NAME=value before a command has to stand in the pattern.
//   - A wrapper (sudo, find -exec) needs a rule for itself, and one for what it
//     runs, unless the pattern spells that. env, xargs, timeout, bash -c and their
//     kin are what they run.
//   - Redirections are uses of the tools write and read.
//   - Programs that ask a repository (git, gh, hg …) are allowed in the session's
//     directory only: even git status runs what the settings of the repository around
//     it say. Another directory has to stand in the pattern: git -C vendor/x status *.
//   - No pattern with a wildcard covers a well-known program that changes a file which
//     makes others run something (below).
//
// # Kinds read differently
//
// An allow rule is read narrowly: exactly what it says. Ask and deny rules are read
// widely: the program under any path and case, in any wrapper, the pattern's
// options in any order and spelling, its operands among others. What may match
// a deny or ask rule, and cannot be told, is asked.
//
// # Paths
//
// A pattern is absolute, below ~ or ${cwd}, anywhere (**/x), or relative to the
// session's directory; * and ** are those of doublestar. Paths are compared after
// symlinks are resolved, in every reading of "..". Allow rules compare case, deny
// and ask rules do not. A deny or ask rule for edit covers every tool that changes
// files and redirections; one for read covers every tool that shows contents. They
// also cover the files that well-known programs name in a command (cat, rm, cp …),
// and those for web-fetch the addresses (curl, wget …). What may be such a file, and
// cannot be told, is asked: a glob that meets the pattern, words that are filled in
// when it runs, an argument of a program that nobody knows, a directory above a
// pattern that has a place (not **/x), when all in it is worked on.
//
// No wildcard of an allow rule covers an element of a path that makes programs run
// something, when the file is changed: .git, .gitattributes, .vscode, .npmrc, .envrc, an
// agent's own settings and their like have to stand in the pattern, as in
// edit(.git/hooks/**).
//
// # Guarantees
//
// A Policy is immutable and safe for concurrent use. Judging reads symlinks and
// nothing else; it panics on no input.
//
// # Testing
//
// go test ./permission/policy runs testdata/commands.txt and paths.txt, a policy
// table each, and FuzzVerdict.
package policy
