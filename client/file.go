package client

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// pieceBytes is how much of a file is sent at once: what a lost connection costs.
const pieceBytes = 1 << 20

// Upload sends a file of p.Size bytes from r, in pieces: after a lost connection it
// goes on where the server stands. The Upload's Ref is for SendParams.Files. Its error
// is that of the server, or what was wrong for Options.Patience.
func (c *Client) Upload(ctx context.Context, p wire.UploadParams, r io.ReaderAt) (wire.Upload, error) {
	files, err := c.files()
	if err != nil {
		return wire.Upload{}, err
	}
	defer files.http.CloseIdleConnections()
	var u wire.Upload
	body, err := wire.Marshal(p)
	if err != nil {
		return u, err
	}
	if err := files.do(ctx, http.MethodPost, "/v1/files", body, &u, "Content-Type", "application/json"); err != nil {
		return u, err
	}
	again, since := pause{}, time.Now()
	for u.Offset < u.Size {
		before := u.Offset
		piece := make([]byte, min(pieceBytes, u.Size-u.Offset))
		if n, err := r.ReadAt(piece, u.Offset); n < len(piece) {
			return u, fmt.Errorf("reading %s: %w", p.Name, err)
		}
		err := files.do(ctx, http.MethodPatch, "/v1/files/"+u.Ref, piece, &u, "Content-Type", "application/octet-stream", "Upload-Offset", strconv.FormatInt(before, 10))
		if err == nil {
			since = time.Now()
			again.reset()
			continue
		}
		if final(err) && Code(err) != wire.CodeConflict || ctx.Err() != nil || time.Since(since) > c.opts.Patience {
			return u, err
		}
		if err := again.wait(ctx, c.life); err != nil {
			return u, err
		}
		// How far it came is the server's to say.
		if offset, err := files.offset(ctx, u.Ref); err == nil {
			u.Offset = offset
		}
	}
	return u, nil
}

// Download writes a file to w.
func (c *Client) Download(ctx context.Context, ref string, w io.Writer) error {
	files, err := c.files()
	if err != nil {
		return err
	}
	defer files.http.CloseIdleConnections()
	resp, err := files.send(ctx, http.MethodGet, "/v1/files/"+ref, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	n, err := io.Copy(w, resp.Body)
	if err == nil && resp.ContentLength >= 0 && n != resp.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// fileFace is the HTTP face, for files.
type fileFace struct {
	http *http.Client
	base string
}

func (c *Client) files() (*fileFace, error) {
	h, base, err := peer.HTTP(c.url, peer.Options{Token: c.opts.Token, TLS: c.opts.TLS})
	if err != nil {
		return nil, err
	}
	return &fileFace{h, base}, nil
}

// send makes a request; header is pairs. An answer that is no success is an error.
func (f *fileFace) send(ctx context.Context, method, path string, body []byte, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, f.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, errors.Unwrap(err)) // without the URL
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	if e := peer.Refusal(resp); e != nil {
		return nil, e
	}
	return nil, fmt.Errorf("%s %s: the server answered %s", method, path, resp.Status)
}

// do makes a request and reads the answer into v.
func (f *fileFace) do(ctx context.Context, method, path string, body []byte, v any, header ...string) error {
	resp, err := f.send(ctx, method, path, body, header...)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	return json.UnmarshalRead(resp.Body, v)
}

func (f *fileFace) offset(ctx context.Context, ref string) (int64, error) {
	resp, err := f.send(ctx, http.MethodHead, "/v1/files/"+ref, nil)
	if err != nil {
		return 0, err
	}
	_ = resp.Body.Close() // it has none
	return strconv.ParseInt(resp.Header.Get("Upload-Offset"), 10, 64)
}
