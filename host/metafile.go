package host

import (
	"errors"
	"os"
	"path/filepath"
)

const (
	metaFile = "session.json"
	// newSuffix is that of a file that takes another's place when it is on the disk.
	newSuffix = ".new"
)

// metaWriter keeps session.json. It lets nobody wait for the disk: put writes
// session.json.new, which is what readers take first, and the name changes when the
// content is on the disk. So nothing that was put is lost when the host is killed, and
// after a crash of the machine session.json is the new one or an older one, whole; a
// session.json.new that is not whole by then is no JSON, and is passed over.
//
// It belongs to one goroutine.
type metaWriter struct {
	path string
	busy chan error // closed when the file that was put last has its name; nil before the first
}

func newMetaWriter(dir string) *metaWriter {
	return &metaWriter{path: filepath.Join(dir, metaFile)}
}

// put replaces the content. It blocks while the one before is on its way to the disk,
// whose error, if any, it returns.
func (w *metaWriter) put(content []byte) error {
	before := w.wait()
	f, err := os.OpenFile(w.path+newSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Join(before, err)
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(before, err, f.Close())
	}
	busy := make(chan error, 1)
	go func() {
		defer close(busy)
		if err := settle(f, w.path); err != nil {
			busy <- err
		}
	}()
	w.busy = busy
	return before
}

// wait returns when what was put is on the disk under its name.
func (w *metaWriter) wait() error {
	if w.busy == nil {
		return nil
	}
	err := <-w.busy
	w.busy = nil
	return err
}

// settle puts a file on the disk and gives it its name.
func settle(f *os.File, path string) error {
	// Without the sync the name can reach the disk before what it names.
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+newSuffix, path)
}

// replaceFile writes a file so that whoever reads it, also after a crash of the
// machine, finds the old one or the new one, whole. It waits for the disk.
func replaceFile(path string, data []byte) error {
	f, err := os.OpenFile(path+newSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	return settle(f, path)
}
