package nativelog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const extension = ".ndjson"

// entry is a file of a log.
type entry struct {
	name        string
	run, number int
}

// list lists the files of a log, the oldest first.
func list(dir string) ([]entry, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []entry
	for _, n := range names {
		run, number, ok := strings.Cut(strings.TrimSuffix(n.Name(), extension), "-")
		if !ok || !strings.HasSuffix(n.Name(), extension) {
			continue
		}
		e := entry{name: n.Name()}
		var errs [2]error
		e.run, errs[0] = strconv.Atoi(run)
		e.number, errs[1] = strconv.Atoi(number)
		if errors.Join(errs[:]...) == nil {
			files = append(files, e)
		}
	}
	slices.SortFunc(files, func(a, b entry) int {
		if a.run != b.run {
			return a.run - b.run
		}
		return a.number - b.number
	})
	return files, nil
}

// Runs lists the runs that the log in dir has anything of, the oldest first.
func Runs(dir string) ([]int, error) {
	files, err := list(dir)
	if err != nil {
		return nil, err
	}
	var runs []int
	for _, f := range files {
		if len(runs) == 0 || runs[len(runs)-1] != f.run {
			runs = append(runs, f.run)
		}
	}
	return runs, nil
}

// ErrNoRun says that the log has nothing of a run.
var ErrNoRun = errors.New("no such run in the native log")

// Export writes a run as one transcript; a note says where files are missing. A
// half line at the end of a file, which a killed host leaves, is left out.
func Export(w io.Writer, dir string, run int) error {
	files, err := list(dir)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	last, found := 0, false
	for _, f := range files {
		if f.run != run {
			continue
		}
		missing := f.number - last - 1
		if err := exportFile(out, filepath.Join(dir, f.name), found, missing); err != nil {
			return err
		}
		last, found = f.number, true
	}
	if !found {
		return fmt.Errorf("run %d: %w", run, ErrNoRun)
	}
	return out.Flush()
}

// exportFile copies a file's whole lines, without the header when another file
// came before.
func exportFile(out *bufio.Writer, path string, headless bool, missing int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for n := 0; ; n++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 1 && missing > 0 {
			fmt.Fprintf(out, `{"t":%d,"d":"note","raw":"%d files are missing here: the log was rotated"}`+"\n", timeOf(line), missing)
		}
		if n == 0 && headless {
			continue
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
}

// timeOf reads a record's "t", which a transcript.Writer puts first, so that the
// note before it keeps the times in order; 0 when it is not there.
func timeOf(line []byte) int64 {
	m := regexp.MustCompile(`^\{"t":(\d{1,15}),`).FindSubmatch(bytes.TrimSpace(line))
	if m == nil {
		return 0
	}
	t, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		return 0
	}
	return t
}
