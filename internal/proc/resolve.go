package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// ErrNotFound is wrapped by Resolve's error when no executable has the name.
var ErrNotFound = errors.New("command not found")

// Resolve finds the executable for a command as a shell would in a process whose
// PATH is path: a command with a separator is a path, anything else is looked up.
// Symbolic links are not followed, since the directory of the link is where a
// version manager keeps the interpreter too. A script whose interpreter can't be
// found from PathWith(executable, path) is refused. The error names what was
// searched. It wraps ErrNotFound or the system's error.
//
// The current directory is never searched, not even when PATH names it with an
// empty or relative entry: a session's directory belongs to whoever wrote it.
func Resolve(command, path string) (string, error) {
	executable, err := find(command, path)
	if err != nil {
		return "", err
	}
	if err := checkInterpreter(executable, PathWith(executable, path)); err != nil {
		return "", err
	}
	return executable, nil
}

// PathWith returns the value of PATH for a child that runs executable: path, with
// the executable's own directory before it unless it is in there. An npm wrapper
// is a script that starts with "#!/usr/bin/env node", and node lies beside it when
// it comes from a version manager; a service's PATH doesn't have that directory.
func PathWith(executable, path string) string {
	dir := filepath.Dir(executable)
	entries := filepath.SplitList(path)
	if !filepath.IsAbs(dir) || slices.Contains(entries, dir) {
		return path
	}
	return strings.Join(append([]string{dir}, entries...), string(os.PathListSeparator))
}

func find(command, path string) (string, error) {
	if command == "" {
		return "", fmt.Errorf("%w: want a name or a path, got none", ErrNotFound)
	}
	if strings.ContainsRune(command, filepath.Separator) || strings.ContainsRune(command, '/') {
		absolute, err := filepath.Abs(command)
		if err != nil {
			return "", err
		}
		if err := executable(absolute); err != nil {
			return "", fmt.Errorf("command %q: %w", command, err)
		}
		return absolute, nil
	}
	var denied error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, name := range candidates(command) {
			file := filepath.Join(dir, name)
			err := executable(file)
			if err == nil {
				return file, nil
			}
			if !errors.Is(err, fs.ErrNotExist) && denied == nil {
				denied = fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	if denied != nil {
		return "", fmt.Errorf("%w: %q in PATH=%s (%v)", ErrNotFound, command, path, denied)
	}
	return "", fmt.Errorf("%w: %q in PATH=%s", ErrNotFound, command, path)
}

// candidates are the file names a command may have.
func candidates(command string) []string {
	if runtime.GOOS != "windows" || filepath.Ext(command) != "" {
		return []string{command}
	}
	return []string{command + ".exe", command + ".cmd", command + ".bat", command + ".com"}
}

// executable tells why a file isn't one.
func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a directory")
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return fmt.Errorf("it is not executable: %w", fs.ErrPermission)
	}
	return nil
}

// checkInterpreter refuses a script whose interpreter isn't there, since the
// system's own message would be that the script isn't.
func checkInterpreter(file, path string) error {
	interpreter, name := shebang(file)
	switch {
	case interpreter == "":
		return nil
	case name != "":
		if _, err := find(name, path); err != nil {
			return fmt.Errorf("command %q is a script for %q: %w", file, name, err)
		}
		return nil
	}
	if err := executable(interpreter); err != nil {
		return fmt.Errorf("command %q is a script for %q: %w", file, interpreter, err)
	}
	return nil
}

// shebang returns the interpreter that a script's first line names, and, when
// that is env, the name that env looks up. Both are empty for anything else.
func shebang(file string) (interpreter, name string) {
	f, err := os.Open(file)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", ""
	}
	// 256 bytes is the most that Linux looks at (BINPRM_BUF_SIZE).
	start, _ := bufio.NewReaderSize(f, 256).Peek(256)
	line, found := strings.CutPrefix(string(start), "#!")
	if !found {
		return "", ""
	}
	line, _, _ = strings.Cut(line, "\n")
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return "", ""
	}
	interpreter = fields[0]
	if filepath.Base(interpreter) != "env" {
		return interpreter, ""
	}
	for _, field := range fields[1:] {
		// Options of env (-S, -i) and assignments come before the command.
		if !strings.HasPrefix(field, "-") && !strings.Contains(field, "=") {
			return interpreter, field
		}
	}
	return interpreter, ""
}
