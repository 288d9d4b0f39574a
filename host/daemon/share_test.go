package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/relay/wire"
)

// Sessions that offer the same commands hold them once, and each tells its own.
func TestOffersAreShared(t *testing.T) {
	w := newWorld(t, nil)
	w.close()
	for i, commands := range []string{"fix,test", "fix,test", "plan", "fix,test", ""} {
		id := fmt.Sprintf("t%023d", i)
		var list []string
		for _, name := range strings.FieldsFunc(commands, func(r rune) bool { return r == ',' }) {
			list = append(list, fmt.Sprintf(`{"name":%q}`, name))
		}
		dir := host.SessionDir(w.state, id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		meta := fmt.Sprintf(`{"id":%q,"agent":"fake","dir":"/w","updated":%d,"facts":{"commands":[%s]}}`, id, 1000-i, strings.Join(list, ","))
		if err := os.WriteFile(filepath.Join(dir, "session.json"), []byte(meta), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.open(nil)
	entry := func(i int) *entry { return w.Daemon.entry(fmt.Sprintf("t%023d", i)) }
	if &entry(0).meta.Facts.Commands[0] != &entry(1).meta.Facts.Commands[0] {
		t.Error("two sessions that offer the same hold it twice")
	}
	for i, want := range []string{"fix,test", "fix,test", "plan", "fix,test", ""} {
		s := entry(i).session()
		var names []string
		for _, c := range s.Commands {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("session %d offers %q, want %q", i, got, want)
		}
	}
	list, err := w.Sessions(t.Context(), wire.SessionsParams{})
	if err != nil || len(list) != 5 {
		t.Errorf("%d sessions, %v", len(list), err)
	}
}
