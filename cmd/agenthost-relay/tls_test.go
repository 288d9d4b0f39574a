package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json/v2"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/client"
)

// certificate writes a certificate for loopback and its key.
func certificate(t *testing.T, certFile, keyFile string, serial int64) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "relay"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, data := range map[string][]byte{certFile: cert, keyFile: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return pool
}

// The relay over TLS: tokens by HTTPS, a viewer by wss, and nothing without TLS.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	f := &flags{
		listen: "127.0.0.1:0", data: filepath.Join(dir, "data"), cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"),
		replicas: 1, bytes: 1 << 30, logLevel: "error",
	}
	pool := certificate(t, f.cert, f.key, 1)
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- serve(ctx, f, w, io.Discard); w.Close() }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve = %v", err)
		}
	}()
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	url := strings.TrimSpace(strings.TrimPrefix(line, "relay at "))
	secret, err := os.ReadFile(filepath.Join(f.data, "operator.token"))
	if err != nil {
		t.Fatal(err)
	}
	conf := &tls.Config{RootCAs: pool}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: conf}}
	defer web.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/tokens", bytes.NewReader([]byte(`{"tenant":"me","scope":"view"}`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
	req.Header.Set("Content-Type", "application/json")
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var made struct {
		Secret string `json:"secret"`
	}
	if err := json.UnmarshalRead(resp.Body, &made); err != nil || made.Secret == "" {
		t.Fatalf("making a token: %s, %v", resp.Status, err)
	}
	c, err := client.Dial(t.Context(), strings.Replace(url, "https", "wss", 1), client.Options{Token: made.Secret, TLS: conf})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if hosts, err := c.Hosts(t.Context()); err != nil || len(hosts) != 0 {
		t.Errorf("Hosts = %v, %v", hosts, err)
	}
	if _, err := client.Dial(t.Context(), strings.Replace(url, "https", "wss", 1), client.Options{Token: made.Secret}); err == nil {
		t.Error("a certificate that nobody vouches for is taken")
	}
	if resp, err := http.Get(strings.Replace(url, "https", "http", 1) + "/healthz"); err == nil {
		resp.Body.Close()
		if resp.StatusCode/100 == 2 {
			t.Error("it answers without TLS")
		}
	}
}

// A certificate that is renewed is taken up; half-written files leave the old one.
func TestCertificateRenewed(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificate(t, certFile, keyFile, 1)
	c, err := newCertificates(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		c.looked = time.Time{} // as if the interval had passed
		cert, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.SerialNumber.Int64()
	}
	touch := func(d time.Duration) {
		when := time.Now().Add(d)
		if err := os.Chtimes(certFile, when, when); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(certFile, []byte("-----BEGIN CERT"), 0o600); err != nil {
		t.Fatal(err)
	}
	touch(time.Minute)
	if got := serial(); got != 1 {
		t.Errorf("with a half-written file the serial is %d, want 1", got)
	}
	certificate(t, certFile, keyFile, 2)
	touch(2 * time.Minute)
	if got := serial(); got != 2 {
		t.Errorf("after the renewal the serial is %d, want 2", got)
	}
}
