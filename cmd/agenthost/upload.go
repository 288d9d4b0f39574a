package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/relay/wire"
)

// uploader gives files to a daemon or relay over its HTTP face.
type uploader struct {
	base, token string
	http        *http.Client
}

// newUploader talks to where a client is connected to: unix:///path, or ws:// and
// wss:// URLs.
func newUploader(address, token string) (*uploader, error) {
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}
		return &uploader{base: "http://localhost", http: &http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	base := url.URL{Scheme: strings.Replace(u.Scheme, "ws", "http", 1), Host: u.Host}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token is for this server
	return &uploader{base: base.String(), token: token, http: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}, CheckRedirect: stay,
	}}, nil
}

func (u *uploader) close() { u.http.CloseIdleConnections() }

// tries is how often a file goes on where it was cut off.
const tries = 5

// file uploads a file. A piece that was cut off goes on where it ended.
func (u *uploader) file(ctx context.Context, path string) (wire.FileRef, error) {
	f, err := os.Open(path)
	if err != nil {
		return wire.FileRef{}, usage("name a readable file", "%v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return wire.FileRef{}, usage("name a regular file", "%s: want a file", path)
	}
	body, err := wire.Marshal(wire.UploadParams{Name: filepath.Base(path), Size: info.Size()})
	if err != nil {
		return wire.FileRef{}, err
	}
	var up wire.Upload
	if err := u.do(ctx, http.MethodPost, "/v1/files", "application/json", -1, bytes.NewReader(body), &up); err != nil {
		return wire.FileRef{}, err
	}
	for n := 1; up.Offset < up.Size; n++ {
		if _, err := f.Seek(up.Offset, io.SeekStart); err != nil {
			return wire.FileRef{}, err
		}
		err := u.do(ctx, http.MethodPatch, "/v1/files/"+up.Ref, "application/octet-stream", up.Offset, f, &up)
		if err == nil {
			continue
		}
		at, lost := u.offset(ctx, up.Ref)
		if n >= tries || lost != nil {
			return wire.FileRef{}, err
		}
		up.Offset = at
	}
	return wire.FileRef{Ref: up.Ref, Name: up.Name}, nil
}

// offset asks how much of a file is there.
func (u *uploader) offset(ctx context.Context, ref string) (int64, error) {
	req, err := u.request(ctx, http.MethodHead, "/v1/files/"+ref, nil)
	if err != nil {
		return 0, err
	}
	res, err := u.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return strconv.ParseInt(res.Header.Get("Upload-Offset"), 10, 64)
}

func (u *uploader) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.base+path, body)
	if err == nil && u.token != "" {
		req.Header.Set("Authorization", "Bearer "+u.token)
	}
	return req, err
}

// do makes a request and decodes its answer.
func (u *uploader) do(ctx context.Context, method, path, kind string, offset int64, body io.Reader, result any) error {
	// The file stays open: it may be read again from another place.
	req, err := u.request(ctx, method, path, io.NopCloser(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	if offset >= 0 {
		req.Header.Set("Upload-Offset", strconv.FormatInt(offset, 10))
	}
	res, err := u.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		var fault wire.Error
		if wire.UnmarshalStream(data, &fault) != nil || fault.Code == "" {
			return fmt.Errorf("uploading: the other side answered %s", res.Status)
		}
		return &fault
	}
	return wire.UnmarshalStream(data, result)
}
