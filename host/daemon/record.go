package daemon

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/relay/wire"
)

// recordFile is what a daemon keeps beside a session's own metadata.
const recordFile = "daemon.json"

// record is what a daemon has to know of a session that it does not run.
type record struct {
	// Reserved: versions of the metadata below it may have been told to somebody.
	Reserved int64 `json:"reserved"`
	// Told is the sum of the metadata that were told as the version just below Reserved,
	// while none was told after them: those need no new version. Else it is empty.
	Told []byte `json:"told,omitempty"`
	// Spawn is what the session was started with, without its prompt and environment.
	Spawn *wire.SpawnParams `json:"spawn,omitempty"`
	// Env are the names of the environment that it was given. The values are in the memory
	// of that daemon alone.
	Env []string `json:"env,omitempty"`
	// Title and Archived are people's.
	Title    string `json:"title,omitzero"`
	Archived bool   `json:"archived,omitzero"`
	// Settled: the stream ends properly at Sum.At.
	Settled bool `json:"settled,omitzero"`
	// Extent is that of a stream which is Settled at Sum.At; nil when that is not known.
	Extent *journal.Extent `json:"extent,omitempty"`
	// Ran: the agent ran when the host ended, and nobody had stopped it.
	Ran bool `json:"ran,omitzero"`
	// Failed is why the last start came to nothing.
	Failed *contract.Error `json:"failed,omitempty"`
	Sum    summary         `json:"sum"`
}

// reserve is how many versions are used up before the disk hears of it again. A
// crash skips at most that many.
const reserve = 64

func recordPath(stateDir, id string) string {
	return filepath.Join(host.SessionDir(stateDir, id), recordFile)
}

// readRecord is the zero record for a session that no daemon had yet. What cannot
// be read makes no sense for us, but the session does not depend on it.
func readRecord(stateDir, id string) (record, error) {
	data, err := os.ReadFile(recordPath(stateDir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(data, &r, jsontext.AllowDuplicateNames(true)); err != nil {
		return record{}, fmt.Errorf("reading %s: %w", recordPath(stateDir, id), err)
	}
	return r, nil
}

// write replaces the record. durable waits for the disk: what people were told
// must outlive the machine, what the stream tells as well need not.
func (r record) write(stateDir, id string, durable bool) error {
	data, err := json.Marshal(r, jsontext.AllowDuplicateNames(true))
	if err != nil {
		return err
	}
	return replace(recordPath(stateDir, id), append(data, '\n'), durable)
}

// replace writes a file so that whoever reads it finds the old one or the new one.
func replace(path string, data []byte, durable bool) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if durable {
		// Without the sync the name can reach the disk before what it names.
		err = errors.Join(err, f.Sync())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
