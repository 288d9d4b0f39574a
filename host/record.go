package host

import (
	"sync"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
)

// Recorder keeps what passes between host and agent, in order.
type Recorder interface {
	// Run is called for each child, before its Protocol gets anything.
	Run(at time.Time, info adapters.SessionInfo)
	Frame(at time.Time, f adapters.Frame)
	Write(at time.Time, data []byte)
	Command(at time.Time, c adapters.Command)
	Effect(at time.Time, e adapters.Effect)
	Tick(at time.Time)
	Exit(at time.Time, s adapters.ExitStatus)
}

// noRecord is the Recorder of those who keep nothing.
type noRecord struct{}

func (noRecord) Run(time.Time, adapters.SessionInfo) {}
func (noRecord) Frame(time.Time, adapters.Frame)     {}
func (noRecord) Write(time.Time, []byte)             {}
func (noRecord) Command(time.Time, adapters.Command) {}
func (noRecord) Effect(time.Time, adapters.Effect)   {}
func (noRecord) Tick(time.Time)                      {}
func (noRecord) Exit(time.Time, adapters.ExitStatus) {}

// TranscriptRecorder records a session as a transcript, which adaptertest and
// `agenthost replay` read.
type TranscriptRecorder struct {
	w     *transcript.Writer
	start time.Time

	mu   sync.Mutex
	err  error // guarded by mu: the first failure
	runs int   // guarded by mu: children so far
}

var _ Recorder = (*TranscriptRecorder)(nil)

// NewTranscriptRecorder records into w; times count from start.
func NewTranscriptRecorder(w *transcript.Writer, start time.Time) *TranscriptRecorder {
	return &TranscriptRecorder{w: w, start: start}
}

// Err is why a part of the recording is missing, nil when none is.
func (r *TranscriptRecorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *TranscriptRecorder) put(rec transcript.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// A disk that was full may have room again: the next record is tried.
	if err := r.w.Write(rec); err != nil && r.err == nil {
		r.err = err
	}
}

func (r *TranscriptRecorder) ms(at time.Time) int64 { return at.Sub(r.start).Milliseconds() }

// Run implements Recorder. The transcript's header tells of the first child.
func (r *TranscriptRecorder) Run(at time.Time, info adapters.SessionInfo) {
	r.mu.Lock()
	r.runs++
	first := r.runs == 1
	r.mu.Unlock()
	if !first {
		r.put(transcript.RunRecord(r.ms(at), info))
	}
}

// Frame implements Recorder.
func (r *TranscriptRecorder) Frame(at time.Time, f adapters.Frame) {
	// The Writer keeps nothing of it, and a frame can be many MB.
	r.put(transcript.FrameView(r.ms(at), f))
}

// Write implements Recorder.
func (r *TranscriptRecorder) Write(at time.Time, data []byte) {
	r.put(transcript.InRecord(r.ms(at), data))
}

// Command implements Recorder.
func (r *TranscriptRecorder) Command(at time.Time, c adapters.Command) {
	r.put(transcript.CommandRecord(r.ms(at), c))
}

// Effect implements Recorder.
func (r *TranscriptRecorder) Effect(at time.Time, e adapters.Effect) {
	r.put(transcript.EffectRecord(r.ms(at), e))
}

// Tick implements Recorder.
func (r *TranscriptRecorder) Tick(at time.Time) { r.put(transcript.TickRecord(r.ms(at))) }

// Exit implements Recorder.
func (r *TranscriptRecorder) Exit(at time.Time, s adapters.ExitStatus) {
	r.put(transcript.ExitRecord(r.ms(at), s))
}

// Recorders records to each of its members.
type Recorders []Recorder

var _ Recorder = Recorders(nil)

// Run implements Recorder.
func (l Recorders) Run(at time.Time, info adapters.SessionInfo) {
	for _, r := range l {
		r.Run(at, info)
	}
}

// Frame implements Recorder.
func (l Recorders) Frame(at time.Time, f adapters.Frame) {
	for _, r := range l {
		r.Frame(at, f)
	}
}

// Write implements Recorder.
func (l Recorders) Write(at time.Time, data []byte) {
	for _, r := range l {
		r.Write(at, data)
	}
}

// Command implements Recorder.
func (l Recorders) Command(at time.Time, c adapters.Command) {
	for _, r := range l {
		r.Command(at, c)
	}
}

// Effect implements Recorder.
func (l Recorders) Effect(at time.Time, e adapters.Effect) {
	for _, r := range l {
		r.Effect(at, e)
	}
}

// Tick implements Recorder.
func (l Recorders) Tick(at time.Time) {
	for _, r := range l {
		r.Tick(at)
	}
}

// Exit implements Recorder.
func (l Recorders) Exit(at time.Time, s adapters.ExitStatus) {
	for _, r := range l {
		r.Exit(at, s)
	}
}
