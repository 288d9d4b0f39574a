package daemon

import "sync"

// hub tells watchers which sessions changed. What changed is looked up when the
// watcher gets to it, so that changes merge and a slow watcher costs nothing.
type hub struct {
	mu   sync.Mutex
	subs map[*watcher]struct{} // guarded by mu
}

// watcher hears of the sessions that changed, of one or of all.
type watcher struct {
	hub *hub
	// id is the session, empty for all.
	id string
	// wake holds a token while dirty is not empty.
	wake chan struct{}

	dirty map[string]struct{} // guarded by hub.mu
	order []string            // guarded by hub.mu; of dirty
}

func newHub() *hub { return &hub{subs: map[*watcher]struct{}{}} }

func (h *hub) watch(id string) *watcher {
	w := &watcher{hub: h, id: id, wake: make(chan struct{}, 1), dirty: map[string]struct{}{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[w] = struct{}{}
	return w
}

// tell says that a session came, changed or went.
func (h *hub) tell(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.subs {
		if w.id != "" && w.id != id {
			continue
		}
		if _, has := w.dirty[id]; has {
			continue
		}
		w.dirty[id] = struct{}{}
		w.order = append(w.order, id)
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// take gives the sessions that changed since the last call, the first one first.
func (w *watcher) take() []string {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	ids := w.order
	w.order = nil
	clear(w.dirty)
	return ids
}

func (w *watcher) close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.subs, w)
}
