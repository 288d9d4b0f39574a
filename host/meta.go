package host

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/sessionref"
	"github.com/nrednav/cuid2"
)

// Meta is what is known about a session beside its stream. It is kept in
// session.json, so that a session can be found and gone on with.
type Meta struct {
	ID      string `json:"id"`
	Agent   string `json:"agent"`
	Dir     string `json:"dir"`
	Title   string `json:"title,omitzero"`
	Created int64  `json:"created"` // Unix ms
	Updated int64  `json:"updated"` // Unix ms
	// NativeOpened is when the agent last made or opened its own session, Unix ms.
	NativeOpened int64 `json:"nativeOpened,omitzero"`
	// Face is how the agent shows itself, or will when it is started again.
	Face adapters.Face `json:"face,omitzero"`
	// Parent is the session that this one was branched off, and Origin that of the
	// last answer that both have; empty when it was not, or it is not known.
	Parent string `json:"parent,omitzero"`
	Origin string `json:"origin,omitzero"`
	// Rewinds of the conversation, the oldest first.
	Rewinds []Rewind `json:"rewinds,omitempty"`
	// Facts are what the agent told.
	Facts adapters.Facts `json:"facts"`
	// OpenError is why the agent's session could not be opened.
	OpenError *contract.Error `json:"openError,omitzero"`
	// BadFrames counts frames that could not be understood.
	BadFrames int `json:"badFrames,omitzero"`
}

func (m Meta) clone() Meta {
	f := &m.Facts
	f.Models, f.Modes, f.Thinkings = slices.Clone(f.Models), slices.Clone(f.Modes), slices.Clone(f.Thinkings)
	f.Commands, f.Agents = slices.Clone(f.Commands), slices.Clone(f.Agents)
	f.Plan, f.AuthMethods = slices.Clone(f.Plan), slices.Clone(f.AuthMethods)
	m.Rewinds = slices.Clone(m.Rewinds)
	return m
}

// learn merges new facts: what is empty is unchanged.
func (s *Session) learn(f adapters.Facts) {
	s.facts++
	old := &s.meta.Facts
	set := func(to *string, v string) {
		if v != "" {
			*to = v
		}
	}
	native := old.NativeSession
	set(&old.NativeSession, f.NativeSession)
	set(&old.AgentName, f.AgentName)
	set(&old.AgentVersion, f.AgentVersion)
	set(&old.Title, f.Title)
	set(&old.Model, f.Model)
	set(&old.Mode, f.Mode)
	set(&old.Thinking, f.Thinking)
	setList(&old.Models, f.Models)
	setList(&old.Modes, f.Modes)
	setList(&old.Thinkings, f.Thinkings)
	setList(&old.Commands, f.Commands)
	setList(&old.Agents, f.Agents)
	setList(&old.Plan, f.Plan)
	setList(&old.AuthMethods, f.AuthMethods)
	if f.ContextUsed != 0 {
		old.ContextUsed = f.ContextUsed
	}
	if f.ContextSize != 0 {
		old.ContextSize = f.ContextSize
	}
	if f.NativeSession != "" && f.NativeSession != native {
		// A crash must not lose what a resume needs. At the end of the Step: what
		// tells it often opens the session, which is saved too.
		s.followUp = append(s.followUp, func() {
			s.saveChanged()
			s.wentTo(s.meta.Facts.NativeSession)
		})
	}
}

func setList[T any](to *[]T, v []T) {
	if v != nil {
		*to = v
	}
}

// SessionDir is where the session id keeps its files below stateDir.
func SessionDir(stateDir, id string) string { return filepath.Join(stateDir, "sessions", id) }

// saveMeta saves the metadata. A host that is killed has not lost them then; for the
// disk nobody waits (see metaWriter).
func (s *Session) saveMeta() {
	s.meta.Updated = now().UnixMilli()
	data, err := json.Marshal(s.lasting())
	if err == nil {
		s.saved = data
		err = s.metaFile.put(append(data, '\n'))
	}
	if err != nil {
		s.log.Warn("saving session metadata", "err", err)
	}
}

// lasting are the metadata as they are to outlive this run, whenever that ends. They have
// the face of the run before until the agent has opened its session in the present one.
func (s *Session) lasting() Meta {
	m := s.meta
	if s.former != nil {
		m.Face = *s.former
	}
	return m
}

// saveChanged saves metadata that are not what was saved last.
func (s *Session) saveChanged() {
	if data, err := json.Marshal(s.lasting()); err == nil && bytes.Equal(data, s.saved) {
		return
	}
	s.saveMeta()
}

// settleMeta waits until what was saved is on the disk.
func (s *Session) settleMeta() {
	if err := s.metaFile.wait(); err != nil {
		s.log.Warn("saving session metadata", "err", err)
	}
}

// Find returns the metadata of the session in stateDir that ref names (package
// sessionref). "last" is the newest that an agent opened: what failed to start cannot be
// gone on with. dir, when not empty, restricts "last" to that working directory. A
// session that is not there is fs.ErrNotExist.
func Find(stateDir, ref, dir string) (Meta, error) {
	// A whole id needs no look at the others, of which there may be thousands.
	if cuid2.IsCuid(ref) {
		if m, err := readMeta(stateDir, ref); err == nil {
			return m, nil
		}
	}
	all, err := List(stateDir)
	if err != nil {
		return Meta{}, err
	}
	m, err := sessionref.Find(ref, slices.Values(all), func(m Meta) (id, native string) { return m.ID, m.Facts.NativeSession },
		func(m Meta) bool { return m.Facts.NativeSession != "" && (dir == "" || m.Dir == dir) })
	if errors.Is(err, sessionref.ErrNone) {
		return Meta{}, notFound(stateDir, ref)
	}
	return m, err
}

// notFound tells a session that is not there, which matches fs.ErrNotExist, from
// one that is and whose metadata cannot be read.
func notFound(stateDir, ref string) error {
	if cuid2.IsCuid(ref) {
		if _, err := readMeta(stateDir, ref); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("session %q: %w", ref, fs.ErrNotExist)
}

// readMeta reads the metadata of the session whose directory is called id.
func readMeta(stateDir, id string) (Meta, error) {
	path := filepath.Join(SessionDir(stateDir, id), metaFile)
	if m, err := readMetaFile(path+newSuffix, id); err == nil {
		return m, nil // on its way to the disk, or its host was killed meanwhile
	}
	return readMetaFile(path, id)
}

func readMetaFile(path, id string) (Meta, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Meta{}, err
	}
	var m Meta
	if err := json.Unmarshal(data, &m); err != nil {
		return Meta{}, &metaError{path, err}
	}
	if m.ID != id {
		return Meta{}, &metaError{path, fmt.Errorf("id: want %q, got %q", id, m.ID)}
	}
	return m, nil
}

// metaError says that a file was read and is no metadata of its session.
type metaError struct {
	path string
	err  error
}

func (e *metaError) Error() string { return fmt.Sprintf("reading %s: %v", e.path, e.err) }

// List returns the metadata of all sessions in stateDir, the newest first.
// A session whose file cannot be read is left out.
func List(stateDir string) ([]Meta, error) {
	entries, err := os.ReadDir(filepath.Join(stateDir, "sessions"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Meta
	for _, e := range entries {
		if m, err := readMeta(stateDir, e.Name()); err == nil {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Meta) int { return int(b.Updated - a.Updated) })
	return all, nil
}

func newMeta(cfg Config, at time.Time) Meta {
	return Meta{
		ID: cfg.ID, Agent: cfg.Adapter.Name(), Dir: cfg.Dir, Title: cfg.Title,
		Face: cfg.Face, Parent: cfg.Parent, Origin: cfg.Origin, Created: at.UnixMilli(), Updated: at.UnixMilli(),
	}
}
