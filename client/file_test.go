package client_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/relay/wire"
)

// A file arrives whole, over connections that break too; one of another sum does not.
func TestUpload(t *testing.T) {
	text := make([]byte, 700_000)
	for i := range text {
		text[i] = byte(rand.IntN(256))
	}
	sum := sha256.Sum256(text)
	params := wire.UploadParams{Name: "a.png", Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
	check := func(t *testing.T, c *client.Client) {
		t.Helper()
		u, err := c.Upload(t.Context(), params, bytes.NewReader(text))
		if err != nil || u.Offset != params.Size {
			t.Fatalf("%+v, %v", u, err)
		}
		var back bytes.Buffer
		if err := c.Download(t.Context(), u.Ref, &back); err != nil || !bytes.Equal(back.Bytes(), text) {
			t.Errorf("%d bytes back, %v", back.Len(), err)
		}
	}
	t.Run("unix", func(t *testing.T) {
		l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		server(t, l)
		c := dial(t, "unix://"+l.Addr().String())
		check(t, c)
		bad := params
		bad.SHA256 = strings.Repeat("0", 64)
		if _, err := c.Upload(t.Context(), bad, bytes.NewReader(text)); client.Code(err) != wire.CodeInvalid {
			t.Errorf("another sum = %v", err)
		}
		if _, err := c.Upload(t.Context(), params, bytes.NewReader(text[:10])); err == nil {
			t.Error("a shorter file is taken")
		}
		if err := c.Download(t.Context(), "none", &bytes.Buffer{}); client.Code(err) != wire.CodeNotFound {
			t.Errorf("no such file = %v", err)
		}
	})
	t.Run("lost", func(t *testing.T) {
		_, _, addr := server(t, nil)
		proxy := newCutter(t, addr)
		proxy.up.Store(400_000)
		proxy.stop.Store(true)
		check(t, dial(t, "ws://"+proxy.l.Addr().String()))
		if proxy.cuts.Load() == 0 {
			t.Error("no connection was cut")
		}
	})
}
