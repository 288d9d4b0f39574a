package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options bound what is kept. A zero field means its default.
type Options struct {
	// Replicas is on how many nodes of a cluster everything is; default 1.
	Replicas int
	// MaxAge is how long envelopes are kept, 0 for ever. MaxBytes is how much a
	// tenant's envelopes may take, default 8 GiB; the oldest go first.
	MaxAge   time.Duration
	MaxBytes int64
	// FileBytes is how much a tenant's files may take, default 2 GiB. FileAge is how
	// long they are kept, default 30 days.
	FileBytes int64
	FileAge   time.Duration
	// InboxAge is how long messages for an absent host are kept, default 7 days.
	InboxAge time.Duration
	// Now is the clock on the wall, by which tokens and codes end; time.Now when nil.
	Now func() time.Time
	// Logger gets what went wrong. Nil is silent.
	Logger *slog.Logger
}

func (o *Options) defaults() {
	set := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	set(&o.MaxBytes, 8<<30)
	set(&o.FileBytes, 2<<30)
	set((*int64)(&o.FileAge), int64(30*24*time.Hour))
	set((*int64)(&o.InboxAge), int64(7*24*time.Hour))
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Store is a relay's memory. It is safe for concurrent use.
type Store struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	opt  Options
	auth jetstream.KeyValue
	// stop ends the tenants' watchers.
	stop   context.CancelFunc
	ctx    context.Context
	faults faults

	mu      sync.Mutex
	tenants map[string]*Tenant // guarded by mu
}

// Open readies a store on a NATS connection, which stays the caller's.
func Open(ctx context.Context, nc *nats.Conn, opt Options) (*Store, error) {
	opt.defaults()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("opening JetStream: %w", err)
	}
	auth, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: "auth", Description: "tokens and pairing codes, hashed", Replicas: opt.Replicas,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the bucket of tokens: %w", err)
	}
	s := &Store{nc: nc, js: js, opt: opt, auth: auth, tenants: map[string]*Tenant{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Close ends the watchers of all tenants. The NATS connection stays open.
func (s *Store) Close() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tenants {
		t.watching.Wait()
	}
}

// Conn is the NATS connection, for messages that are not stored.
func (s *Store) Conn() *nats.Conn { return s.nc }

// ValidName reports whether name may name a tenant, a session, a host or a file: 1 to
// 64 letters, digits, "-" and "_". Nothing else may become a part of a subject.
func ValidName(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

// openTime bounds opening a tenant, which others wait for.
const openTime = 30 * time.Second

// Tenant is one tenant's part; it is made when it is not there yet.
func (s *Store) Tenant(ctx context.Context, name string) (*Tenant, error) {
	if !ValidName(name) {
		return nil, fmt.Errorf("tenant %q: want 1 to 64 letters, digits, - and _", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tenants[name]; t != nil {
		return t, nil
	}
	// Whoever asks first may leave before it is done; the next is served by it.
	open, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTime)
	defer cancel()
	t, err := s.openTenant(open, name)
	if err != nil {
		return nil, fmt.Errorf("opening tenant %s: %w", name, err)
	}
	s.tenants[name] = t
	return t, nil
}

// Tenant is one tenant's sessions, hosts, messages and files. It is safe for
// concurrent use.
type Tenant struct {
	name  string
	store *Store
	env   jetstream.Stream
	inbox jetstream.Stream
	files jetstream.Stream
	kv    jetstream.KeyValue
	// payload is the size up to which messages are filled.
	payload int

	logs     logs
	dir      directory
	watching sync.WaitGroup
}

// Name is the tenant's name.
func (t *Tenant) Name() string { return t.name }

func (s *Store) openTenant(ctx context.Context, name string) (*Tenant, error) {
	t := &Tenant{name: name, store: s}
	// A quarter is left for headers, of which there are few, and for what a
	// server's limit counts beside the payload.
	t.payload = min(256<<10, int(s.nc.MaxPayload())*3/4)
	streams := []struct {
		to  *jetstream.Stream
		cfg jetstream.StreamConfig
	}{
		{&t.env, jetstream.StreamConfig{
			Name: "env_" + name, Subjects: []string{"env." + name + ".*"},
			MaxAge: s.opt.MaxAge, MaxBytes: s.opt.MaxBytes, Discard: jetstream.DiscardOld,
		}},
		{&t.inbox, jetstream.StreamConfig{
			Name: "in_" + name, Subjects: []string{"in." + name + ".*"},
			MaxAge: s.opt.InboxAge, MaxBytes: 64 << 20, Discard: jetstream.DiscardNew,
		}},
		{&t.files, jetstream.StreamConfig{
			Name: "up_" + name, Subjects: []string{"up." + name + ".*"},
			MaxAge: s.opt.FileAge, MaxBytes: s.opt.FileBytes, Discard: jetstream.DiscardNew,
		}},
	}
	var err error
	for _, st := range streams {
		st.cfg.Storage, st.cfg.Replicas, st.cfg.AllowDirect = jetstream.FileStorage, s.opt.Replicas, true
		if *st.to, err = s.js.CreateOrUpdateStream(ctx, st.cfg); err != nil {
			return nil, fmt.Errorf("stream %s: %w", st.cfg.Name, err)
		}
	}
	t.kv, err = s.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "kv_" + name, Replicas: s.opt.Replicas})
	if err != nil {
		return nil, fmt.Errorf("bucket kv_%s: %w", name, err)
	}
	t.logs.of = map[string]*log{}
	if err := t.watch(ctx); err != nil {
		return nil, err
	}
	return t, nil
}
